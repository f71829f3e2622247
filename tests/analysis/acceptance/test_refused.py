"""What a sheet is refused for, and that the line is that of the mistake."""

from __future__ import annotations

import random
import re

import pytest

from suite.analysis.acceptance.sheet import MOST_LINES, parse_sheet
from suite.errors import UsageError
from suite.fingerprint import SUITE
from suite.report.pages.acceptance import compose_acceptance
from suite.report.render.markdown import render_page
from tests.sheets import PRODUCT, STEP, judge_sheet, make_plain

RATE = f'cell = "{PRODUCT}"\narm = "cuda"\nrate = "at least 1 TFLOP/s"\n'

TEXTS: list[tuple[str, str, int, str]] = [
    # What stands before the mistake, and the line of the mistake within what follows.
    ("empty", "", 1, "requires nothing"),
    ("empty list", "title = 'x'\nrequire = []", 2, "requires nothing"),
    ("no TOML", "title = \n", 1, "not TOML"),
    ("no UTF-8", "title = 'x'\n# \udcff\n", 2, "in UTF-8"),
    ("twice", f"[[require]]\n{RATE}arm = 'cpu'", 5, "each key stands once"),
    ("no quotation marks", "[[require]]\narm = cuda", 2, "in straight quotation marks"),
    ("clause", f"[[require]]\nclause = 3.2\n{RATE}", 2, 'clause = "3.2"'),
    ("two arms", "[[require]]\narm = ['cpu']\ntime = 'at most 1 s'\ncell = 'x'", 2, "one text in"),
    ("unknown at the top", f"[[require]]\n{RATE}[other]\nx = 1", 5, "unknown key 'other'"),
    ("unknown", f"[[require]]\n{RATE}\n# comment\nrates = 'x'", 7, "unknown key 'rates'"),
    ("table", "[require]\nrate = 'x'", 1, "begin each with"),
    ("nothing wanted", "# x\n[[require]]\ncell = 'x'", 2, "what is required"),
    ("two wanted", f"[[require]]\n{RATE}noise_floor = 'at most 3 %'", 5, "two requirements"),
    (
        "both",
        f"[[require]]\ncell = '{STEP}'\nevery = 'x'\ntime = 'at most 1 s'",
        3,
        "both were given",
    ),
    ("no cell", "[[require]]\n\ntime = 'at most 1 s'", 3, "of which cell"),
    ("empty cell", "[[require]]\ncell = ' '\ntime = 'at most 1 s'", 2, "cell is empty"),
    ("cell of a control", "[[require]]\ncell = 'x'\ncontrols = 'held'", 2, "says nothing about"),
    ("number", f"[[require]]\ncell = '{STEP}'\ntime = 5", 3, "the unit inside"),
    ("no way", f"[[require]]\ncell = '{STEP}'\ntime = '1 ms'", 3, "which way"),
    ("exactly", f"[[require]]\ncell = '{STEP}'\ntime = 'exactly 1 ms'", 3, "at least or at most"),
    (
        "unit of another",
        f"[[require]]\ncell = '{STEP}'\ntime = 'at most 1 GB/s'",
        3,
        "does not fit",
    ),
    ("comma", f"[[require]]\ncell = '{STEP}'\ntime = 'at most 1,5 ms'", 3, "comma"),
    ("zero", f"[[require]]\ncell = '{PRODUCT}'\nrate = '≥ 0 FLOP/s'", 3, "can't fail"),
    ("negative", f"[[require]]\ncell = '{PRODUCT}'\nrate = '≥ -1 FLOP/s'", 3, "can't fail"),
    ("no time", f"[[require]]\ncell = '{PRODUCT}'\ntime = 'under 0 s'", 3, "can't hold"),
    ("any time", f"[[require]]\ncell = '{PRODUCT}'\ntime = 'at most 1e9 h'", 3, "can't fail"),
    ("no spread", f"[[require]]\ncell = '{STEP}'\nspread = 'at least 1 %'", 3, "at most"),
    ("any noise", "[[require]]\nnoise_floor = 'at most 100 %'", 2, "can't fail"),
    ("some noise", "[[require]]\nnoise_floor = 'at least 1 %'", 2, "at most"),
    ("200 %", "[[require]]\nexpected = 'at most 200 %'", 2, "can't fail"),
    (
        "of what",
        "[[require]]\nexpected = 'at least 95 %'\nof = 'prod'",
        3,
        "nothing is expected of",
    ),
    ("controls", "[[require]]\ncontrols = 'passed'", 2, 'controls = "held"'),
    ("machine", "[[require]]\nmachine = 'fine'", 2, 'machine = "sound"'),
    ("ratio", f"[[require]]\ncell = '{STEP}'\nas_fast_as = '5 times cpu'", 3, "not a table"),
    (
        "ratio of none",
        f"[[require]]\ncell = '{STEP}'\nas_fast_as = {{ at_least = '5 times' }}",
        3,
        "not complete",
    ),
    (
        "ratio's key",
        f"[[require]]\ncell = '{STEP}'\n[require.as_fast_as]\narm = 'cpu'\nby = '5 %'",
        5,
        "unknown key 'by'",
    ),
    (
        "ratio's unit",
        f"[[require]]\ncell = '{STEP}'\nas_fast_as.arm = 'cpu'\nas_fast_as.at_least = '5 ms'",
        4,
        "does not fit",
    ),
    ("slower than what", "[[require]]\nslower_than = { by = '5 %' }", 2, "not complete"),
    ("much slower", "[[require]]\nslower_than = { base = 'x', by = '2000 %' }", 2, "can't fail"),
    ("fact of what", "[[require]]\nfact = 'driver'", 2, 'add is = "…"'),
    ("empty fact", "[[require]]\nfact = 'driver'\nis = ' '", 2, "is empty"),
    ("many", f"[[require]]\n{RATE}" * (MOST_LINES + 1), 4 * MOST_LINES + 1, "are the most"),
    ("signed", f"signed_by = 'me'\n[[require]]\n{RATE}", 1, "not a list of names"),
    ("long", f"title = '{'x' * 300}'\n[[require]]\n{RATE}", 1, "one line of at most"),
    # What only a campaign knows.
    (
        "no such cell",
        "[[require]]\narm = 'cuda'\ncell = 'matmul.cube'\ntime = 'at most 1 s'",
        3,
        "no campaign has",
    ),
    (
        "none of them",
        "[[require]]\nevery = 'x*'\narm = '*'\ntime = 'at most 1 s'",
        2,
        "no campaign has",
    ),
    (
        "several",
        "[[require]]\ncell = 'matmul.*'\narm = 'cpu'\ntime = 'at most 1 s'",
        2,
        "means 3 cells",
    ),
    ("which arm", f"[[require]]\ncell = '{STEP}'\ntime = 'at most 1 s'", 3, "on which arm"),
    (
        "no such arm",
        f"[[require]]\ncell = '{STEP}'\ntime = 'at most 1 s'\narm = 'gpu'",
        4,
        "no arm 'gpu'",
    ),
    (
        "bytes",
        f"[[require]]\ncell = '{PRODUCT}'\narm = 'cpu'\nrate = '≥ 1 GB/s'",
        4,
        "counted in FLOP",
    ),
    (
        "examples",
        f"[[require]]\ncell = '{STEP}'\narm = 'cpu'\nrate = '≥ 1 TFLOP/s'",
        4,
        "counted in examples",
    ),
    (
        "images",
        f"[[require]]\ncell = '{STEP}'\narm = 'cpu'\nrate = '≥ 1 images/s'",
        4,
        "does not fit",
    ),
    (
        "currency",
        f"[[require]]\ncell = '{STEP}'\narm = 'cpu'\nprice = '≤ 1 EUR'",
        4,
        "PRICE is in USD",
    ),
    (
        "no price of it",
        f"[[require]]\ncell = '{PRODUCT}'\narm = 'cpu'\nprice = '≤ 1 USD'",
        2,
        "has a price",
    ),
    (
        "beside itself",
        f"[[require]]\ncell = '{STEP}'\narm = 'cpu'\nas_fast_as = {{ arm = 'cpu', at_least = '1 times' }}",
        3,
        "can't fail",
    ),
    (
        "base faster",
        "[[require]]\nevery = 'mlp.*'\nfaster_from = 'batch 8'\narm = 'cpu'",
        4,
        "can't fail",
    ),
    (
        "another size",
        "[[require]]\nevery = 'mlp.*'\nfaster_from = 'batch 256'",
        3,
        "sizes that were: 8, 512",
    ),
    ("no axis", "[[require]]\nevery = 'mlp.*'\nfaster_from = 'width 256'", 3, "have no width"),
    ("no such fact", "[[require]]\n\nfact = 'divers'\nis = '1'", 3, "known are: driver"),
    ("on or off", "[[require]]\nfact = 'ECC'\nis = 'at least 1'", 3, "neither on nor off"),
    ("no lane", "[[require]]\nfact = 'PCIe lanes'\nis = '1 or more'", 3, "can't fail"),
    ("no GPUs", "[[require]]\nfact = 'GPUs'\nis = 'at least 0'", 3, "can't fail"),
    ("always slowed", "[[require]]\nfact = 'GPU slowed'\nis = 'at most 100 %'", 3, "can't fail"),
    ("any name", "[[require]]\nfact = 'GPU'\nis = '*'", 3, "could differ"),
    ("not that", "[[require]]\nfact = 'GPU'\nis = 'not A100'", 3, "what it has to be"),
    ("a list", "[[require]]\nfact = 'GPU'\nis = 'H100, H200'", 3, "what it has to be"),
    ("a series", "[[require]]\nfact = 'driver'\nis = '580+'", 3, "at least 555"),
    (
        "abbreviated",
        "[[require]]\narm = 'cpu'\ncell = 'Matmul 1000 fp32'\ntime = 'at most 1 s'",
        3,
        f"it may be {PRODUCT}",
    ),
    ("exact size", "[[require]]\nfact = 'GPU memory'\nis = '141 GB'", 3, 'say "at least 141 GB"'),
    ("no version", "[[require]]\nfact = 'driver'\nis = 'at least new'", 3, "not a version"),
    (
        "memory in bits",
        "[[require]]\nfact = 'GPU memory'\nis = 'at least 80 Gb'",
        3,
        "unit of memory",
    ),
]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("text", "line", "words"), [row[1:] for row in TEXTS], ids=[row[0] for row in TEXTS]
)
def test_a_mistake_is_refused_with_its_line(text: str, line: int, words: str, ends: str) -> None:
    content = text.replace("\n", ends).encode("utf-8", "surrogateescape")
    with pytest.raises(UsageError) as refused:
        judge_sheet(make_plain(), parse_sheet("contract.toml", content), {})
    assert refused.value.what.startswith(f"contract.toml, line {line}: ")
    assert words in f"{refused.value.what} {refused.value.remedy}"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_sheet_without_a_mistake_is_taken(mark: str) -> None:
    sheet = parse_sheet("contract.toml", f"{mark}[[require]]\n{RATE}".encode())
    assert judge_sheet(make_plain(), sheet, {}).answer == "pass"


SHEETS = [path.read_bytes() for path in sorted((SUITE.parent / "docs" / "sheets").glob("*.toml"))]
WORDS = [
    *(
        b"[[require]]",
        b"[require]",
        b"=",
        b'"',
        b"'",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\n",
        b"\r",
        b"#",
        b".",
    ),
    *(
        b"every",
        b"cell",
        b"arm",
        b"rate",
        b"at least",
        b"0",
        b"-1",
        b"nan",
        b"inf",
        b"1e400",
        b"true",
    ),
    *(
        b"%",
        b" times",
        b"cuda",
        b"\xff",
        b"\x00",
        b"\\u0000",
        b"as_fast_as",
        b"base",
        b"of",
        b"is",
        b",",
    ),
]


@pytest.mark.parametrize("seed", range(150))
def test_a_sheet_of_anybodys_is_judged_or_refused(seed: int) -> None:
    draw = random.Random(seed)
    content = SHEETS[seed % len(SHEETS)].replace(b"results/baseline", b"Y")
    for _ in range(draw.randrange(1, 4)):
        at, cut = draw.randrange(len(content)), draw.choice([0, 0, 1, 5, 40])
        content = content[:at] + draw.choice(WORDS) + content[at + cut :]
    analysis = make_plain(noise_floor=0.01)
    refused = ""
    try:
        sheet = parse_sheet("contract.toml", content)
        others = {
            wanted.base: make_plain(name="base") for wanted in sheet.requirements if wanted.base
        }
        answer = judge_sheet(analysis, sheet, others)
    except UsageError as error:
        refused = error.what
    else:
        assert render_page(compose_acceptance(answer)).startswith("# Acceptance: ")
    assert re.match(r"contract.toml, line \d+: |$", refused), refused
