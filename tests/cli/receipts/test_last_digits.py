"""A summary may differ in its last digits, which another machine computes otherwise, and in nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.read import read_summary
from suite.cli.receipts.differing import Comparison, compare_files
from suite.report.exports.summary import lay_out
from suite.report.produce import build_report, draw
from tests.cli.receipts.test_check import Tamper, all_of, edit, pin_anew, replace
from tests.cli.shell import Heard, fail, well

Check = Callable[..., Heard]


def in_its_last_digits(value: float) -> float:
    """As another SciPy computes it, before anything is rounded."""
    return value * (1 + 3e-10)


def in_the_sixth_digit(value: float) -> float:
    return value * (1 + 2e-6)


VALUE, LOW = "$.cells[0].arms.cpu.value", "$.cells[0].arms.cuda.low"


def lay_summary(*edits: tuple[str, Any]) -> Tamper:
    """An edited summary in the one form that it has."""

    def tamper(folder: Path) -> None:
        all_of(*(edit("summary.json", path, value) for path, value in edits))(folder)
        path = folder / "summary.json"
        path.write_text(lay_out(json.loads(path.read_text("utf-8"))), encoding="utf-8")

    return tamper


def report_anew(folder: Path) -> None:
    """The report of the summary that is there, as a machine writes it that computed that summary."""
    report = build_report(read_summary((folder / "summary.json").read_bytes()), pictures=False)
    files = {**report.files, "report.html": str(draw(report)["report.html"])}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def test_numbers_that_another_machine_computed_differ_in_their_last_digits_alone(
    honest: Path, check: Check
) -> None:
    lay_summary((VALUE, in_its_last_digits), (LOW, in_its_last_digits))(honest)
    report_anew(honest)
    pin_anew(honest)
    lines = well(check(honest)).out.splitlines()
    assert "✓ summary.json  rebuilt: the same but for the last digits of 2 numbers" in lines
    assert "✓ cells.csv     rebuilt: the same bytes" in lines


@pytest.mark.parametrize(
    ("name", "tamper"),
    {
        "the sixth digit": lay_summary((VALUE, in_the_sixth_digit)),
        "a whole number": lay_summary(
            ("$.cells[0].arms.cpu.work.amount", lambda old: old * (1 + 2e-9))
        ),
        "another spelling": replace("summary.json", '"value": 0.', '"value": 00.'),
        "a number and a word": lay_summary(
            (VALUE, in_its_last_digits), ("$.cells[0].verdict", "EQUIVALENT")
        ),
        "other white space": all_of(
            lay_summary((VALUE, in_its_last_digits)), replace("summary.json", "{", "{ ")
        ),
        "another order": lay_summary(
            (VALUE, in_its_last_digits),
            ("$.machine", lambda old: dict(reversed(old.items()))),
        ),
    }.items(),
)
def test_nothing_else_may_differ_in_a_summary(
    name: str, tamper: Tamper, honest: Path, check: Check
) -> None:
    tamper(honest)
    pin_anew(honest)
    assert "✗ summary.json" in fail(check(honest)), name


@pytest.mark.parametrize("file", ["report.md", "report.html", "cells.csv"])
def test_a_page_follows_from_the_summary_that_is_there(
    file: str, honest: Path, check: Check
) -> None:
    lay_summary((VALUE, in_its_last_digits))(honest)
    report_anew(honest)
    replace(file, "2", "3")(honest)
    pin_anew(honest)
    printed = fail(check(honest))
    assert [line for line in printed.splitlines() if line[:1] == "✗"] == [
        f"✗ {file:13} does not follow:"
    ]


@pytest.mark.parametrize(
    ("here", "anew", "near"),
    [
        (0.1234567891, 0.1234567892, True),
        (0.30000000000000004, 0.3, True),
        (0.9999999999999999, 1.0, True),
        # Rates, one in eight of which is whole, and what was rounded to ten digits.
        (612345678901234.0, 612345678900000.0, True),
        (612345678901234.0, 612345678901234.1, True),
        (612345678900000.0, 612345679000000.0, True),
        (612345678900000.0, 612345699900000.0, False),
        (224869515300.0, 224869515277.0575, True),
        (224869515300.0, 224869515400.0, True),
        (224869515300.0, 224869519300.0, False),
        # Counts, to the last one.
        (9999999998.0, 9999999999.0, False),
        (128.0, 128.0000001, False),
        (612345678901234, 612345678901235, False),
        (0.999999999, 1.0, False),
        (1.2345678, 1.2345679, False),
        (0.0, 1e-16, True),
        (0.0, 1e-13, False),
        (2.0, 2, False),
        (1, True, False),
        ("0.1", 0.1, False),
        (None, 0.1, False),
    ],
)
def test_which_numbers_are_near(here: Any, anew: Any, near: bool) -> None:
    old, new = (lay_out({"value": value, "same": [1.5, "a"]}) for value in (here, anew))
    for first, second in ((old, new), (new, old)):
        compared = compare_files("summary.json", first, second)
        assert (compared.trouble is None, compared.near) == (near, int(near))
    assert compare_files("summary.json", old, old) == Comparison(trouble=None)
    # In text nothing is near.
    assert compare_files("report.md", old, new).trouble
