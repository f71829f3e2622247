"""The report as a reader, a parser and a spreadsheet see it."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import structs

from suite import __version__, wire
from suite.analysis.analyse import analyse
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Work
from suite.model import Campaign, Document
from suite.report.exports.summary import render_json
from suite.report.exports.table import render_csv
from suite.report.pictures.picture import POSSIBLE_FILES
from suite.report.produce import Report
from suite.report.sections.machine import account
from suite.report.text.names import name_cells, sort_cells
from suite.report.text.wording import tell
from tests import synthetic
from tests.rendering import collate, render_markdown

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
GOLDEN = Path(__file__).parents[1] / "golden"

HOSTILE = "<script>alert(1)</script> | `x` [a](http://b.example) **c**\n\n# d\x1b[31m \u202e"


def summary_of(campaign: Campaign, documents: list[Document]) -> Analysis:
    return analyse(LoadedCampaign(folder="made-up", campaign=campaign, documents=documents))


def make_summary(**fields: Any) -> Analysis:
    campaign = synthetic.make_campaign(**fields)
    return summary_of(campaign, synthetic.make_documents(campaign, samples=2))


def table_shapes(tokens: list[Token]) -> list[set[int]]:
    """For every table the numbers of cells that its rows have."""
    shapes: list[set[int]] = []
    count = 0
    for token in tokens:
        if token.type == "table_open":
            shapes.append(set())
        elif token.type == "tr_open":
            count = 0
        elif token.type in {"td_open", "th_open"}:
            count += 1
        elif token.type == "tr_close":
            shapes[-1].add(count)
    return shapes


def assert_well_formed(text: str, *, struck: bool = False) -> list[Token]:
    """``struck``: the page crosses numbers out, which nothing from a document may do."""
    tokens = MARKDOWN.parse(text)
    shapes = table_shapes(tokens)
    assert shapes
    assert all(len(shape) == 1 for shape in shapes)
    # A line of a table that the parser did not take for one would begin a paragraph.
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = sum(token.type == "tr_open" for token in tokens)
    assert len(lines) == rows + len(shapes)
    kinds = {token.type for token in tokens}
    kinds |= {child.type for token in tokens for child in token.children or []}
    assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "em_open"})
    images = [child for t in tokens for child in t.children or [] if child.type == "image"]
    assert {str(image.attrs["src"]) for image in images} <= set(POSSIBLE_FILES)
    assert all(image.children and image.children[0].content for image in images)
    assert ("s_open" in kinds) == struck
    assert text.replace("\n", "").isprintable()
    return tokens


@pytest.mark.parametrize("name", ["two-arms", "one-arm", "troubled"])
def test_golden_reports_are_well_formed(name: str) -> None:
    text = (GOLDEN / name / "report.md").read_text(encoding="utf-8")
    assert_well_formed(text, struck=name == "troubled")


def test_sections_stand_in_their_order() -> None:
    tokens = assert_well_formed(render_markdown(make_summary(blocks=3)))
    heads = [
        tokens[i + 1].content
        for i, t in enumerate(tokens)
        if t.type == "heading_open" and t.tag != "h3"
    ]
    assert heads == [
        "Crossover: cuda against cpu — SIMULATED",
        "Why the CPU wins where it does",
        "What would help most",
        "Where a step's time goes",
        "Pictures",
        "Tables",
        "How near to the limits",
        "Is it to be trusted?",
        "Environment",
        "How to repeat it",
        "Footnotes",
    ]


def test_every_mark_is_explained_and_every_dash_marked() -> None:
    text = (GOLDEN / "troubled" / "report.md").read_text(encoding="utf-8")
    body, _, notes = text.partition("## Footnotes")
    tables = body.partition("\n")[2].partition("## Is it")[0]
    marks = {f"[{number}]" for number in range(1, 100) if f"[{number}]" in tables}
    assert marks == {f"[{number}]" for number in range(1, len(marks) + 1)}
    assert all(f"- {mark} " in notes for mark in marks)
    assert notes.count("- [") == len(marks)
    assert tables.count("— ") == tables.count("— [")


def test_one_arm_has_nothing_to_compare() -> None:
    text = render_markdown(make_summary(arms=["cpu"], blocks=3))
    assert not re.search(r"cpu [\d.,]+× (faster|slower)|(faster|slower) than", text)
    assert text.startswith("# Crossover: cpu alone")
    assert "Only cpu was measured, so there is no winner to name" in text


def first_screen(name: str) -> str:
    """What stands between the title and the first table or picture."""
    text = (GOLDEN / name / "report.md").read_text(encoding="utf-8")
    return text.partition("Table: ")[0]


def test_the_first_screen_answers_who_wins_from_where_by_how_much_and_how_sure() -> None:
    screen = first_screen("two-arms")
    assert "Of 4 cells cuda is faster than cpu in 2 and slower in 2; 2 more cells without" in screen
    assert "In matmul.square cpu wins at n = 10 to 100; cuda wins at n = 1000." in screen
    assert "Its largest win is at matmul.square/n=1000/precision=fp32: cuda 50× faster" in screen
    assert "its largest loss is at matmul.square/n=10/precision=fp32: cuda 10.1× slower" in screen
    assert "Half of the 14 times are known to ±" in screen


def test_the_first_screen_of_one_arm_says_why_and_how_far_it_comes() -> None:
    screen = first_screen("one-arm")
    assert "Only cpu was measured (cuda: this machine has no NVIDIA GPU), so there is no" in screen
    assert "In matmul.square it reaches 98.8 GFLOP/s at best (n = 1000), under a tenth" in screen
    assert "Under 3 blocks there are values but no intervals." in screen


def test_the_first_screen_of_an_invalid_comparison_says_so_first() -> None:
    assert "cuda against cpu: all 4 comparisons are INVALID; 3 more cells" in first_screen(
        "troubled"
    )


def test_sweeps_are_listed_with_their_crossovers() -> None:
    text = (GOLDEN / "two-arms" / "report.md").read_text(encoding="utf-8")
    (row,) = [line for line in text.splitlines() if line.startswith("| matmul.square ")]
    assert "precision=fp32, operands=device, xla=off" in row
    assert "cpu wins at n = 10 to 100; cuda wins at n = 1000" in row
    assert "### Crossovers" not in render_markdown(make_summary(arms=["cpu"], blocks=3))


def test_a_third_arm_has_columns_of_its_own() -> None:
    text = render_markdown(make_summary(arms=["cpu", "cuda", "cuda-hidden"], blocks=3))
    assert_well_formed(text)
    assert "cuda-hidden against cpu" in text


def test_one_footnote_says_that_there_are_no_intervals() -> None:
    text = render_markdown(make_summary(blocks=2))
    assert text.count("no interval: fewer than 3 invocations") == 1
    (note,) = [line for line in text.splitlines() if "no interval: fewer than" in line]
    mark = note.split()[1]
    heads = [line for line in text.splitlines() if "time per call" in line and line[0] == "|"]
    assert all(line.count(mark) == 3 for line in heads)
    assert all(mark not in line for line in text.splitlines() if line.startswith("| matmul."))


def test_a_campaign_without_documents_can_be_reported() -> None:
    campaign = synthetic.make_campaign()
    summary = summary_of(campaign, [])
    text = render_markdown(summary)
    assert_well_formed(text)
    assert "no block has run on this arm" in text
    assert json.loads(render_json(summary))["cells"][0]["arms"]["cpu"]["value"] is None


def test_a_footnote_is_about_most_blocks_and_worded_once() -> None:
    campaign = synthetic.make_campaign(arms=["cpu"], blocks=5, cells=synthetic.make_cells()[:2])
    documents = synthetic.make_documents(campaign, samples=2)
    for block in range(1, 5):
        cell = campaign.cells[0 if block < 4 else 1].id
        documents[block] = synthetic.change_cell(documents[block], cell, labels=["power-capped"])
    summary = summary_of(campaign, documents)
    text = render_markdown(summary)
    assert text.count("power-capped (in most blocks)") == 1
    assert "of 5 blocks" not in text.partition("## Footnotes")[2]
    notes = [tell(one.arms["cpu"].flags) for one in summary.cells]
    assert "power-capped (in 3 of 5 blocks)" in notes[0]
    assert "power-capped (in 1 of 5 blocks)" in notes[1]


def make_hostile(text: str) -> Analysis:
    """A campaign in which every text that can be chosen freely is this one."""
    case = text.strip() or "x"
    cells = [
        synthetic.make_cell("matmul", case, {"n": 1, text: text}, Work(amount=1, unit=case)),
        synthetic.make_cell(case, "square", {"n": 2}, Work(amount=1, unit=case)),
    ]
    campaign = synthetic.make_campaign(arms=["cpu", case], blocks=1, cells=cells)
    campaign = replace(
        campaign, label=text, command=text, stopped=text, not_run={text: text}, id=case
    )
    documents = []
    for one in synthetic.make_documents(campaign, samples=1):
        document = synthetic.kill_container(one, cells[1].id, case)
        document = synthetic.change_cell(
            document, cells[0].id, labels=[text], placement={text: 1}, elsewhere=[text]
        )
        values = {text: text, f"a{text}": text}
        invocation = replace(document.invocation, engine=values, limits=values)
        image = replace(invocation.image, base=text, origin=text, digests=[text], lock=text)
        documents.append(
            replace(
                document,
                facts={**values, "cpu.model": text, "gpu.0.name": text},
                spent_s={text: 1.0},
                invocation=replace(invocation, image=image),
            )
        )
    return summary_of(campaign, documents)


def test_hostile_text_never_becomes_markup() -> None:
    text = render_markdown(make_hostile(HOSTILE))
    tokens = assert_well_formed(text)
    assert "<script>" not in MARKDOWN.render(text)
    assert sum(token.type == "heading_open" and token.tag == "h1" for token in tokens) == 1


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=20))
def test_any_text_never_becomes_markup(text: str) -> None:
    summary = make_hostile(text.encode(errors="replace").decode())
    # The text can happen to be a label that makes a number invalid.
    struck = any(result.invalid for one in summary.cells for result in one.arms.values())
    assert_well_formed(render_markdown(summary), struck=struck)
    json.loads(render_json(summary))
    rows = list(csv.reader(io.StringIO(render_csv(summary))))
    assert len({len(row) for row in rows}) == 1
    assert not any(cell.startswith(("=", "+", "@", "-")) for row in rows for cell in row)


def test_nobody_is_named() -> None:
    text = (GOLDEN / "troubled" / "report.md").read_text(encoding="utf-8")
    assert "gpu.0.uuid" in text
    assert "GPU-0123" not in text


def test_cells_stand_as_a_reader_sorts_them() -> None:
    cells = sort_cells(synthetic.make_cells())
    products = [(one.params["precision"], one.params["n"]) for one in cells[:4]]
    assert products == [("fp32", 10), ("fp32", 100), ("fp32", 1000), ("tf32", 1000)]
    names, shared = name_cells(cells, str)
    assert names[cells[0].id] == "matmul.square/n=10/precision=fp32"
    assert names["overhead.fence"] == "overhead.fence"
    assert next(iter(shared.values())) == "matmul.square: operands=device, xla=off"
    assert len(set(names.values())) == len(cells)


def test_the_json_says_who_measured_and_who_analysed() -> None:
    summary = make_summary(blocks=1)
    suite = replace(synthetic.SUITE, version="0.0.9")
    content = json.loads(render_json(structs.replace(summary, suite=suite)))
    assert content["suite"] == wire.plain(suite)
    assert content["analysed_by"] == __version__


def test_the_json_says_why_a_null_is_null() -> None:
    content = json.loads((GOLDEN / "troubled" / "summary.json").read_text(encoding="utf-8"))
    nulls = {name for name, value in content.items() if value is None}
    assert set(content["absent"]) == nulls == {"noise_floor", "noise_unexplained"}
    controls = content["controls"]
    assert {name for name, value in controls.items() if not value} == set(controls["absent"])
    for cell in content["cells"]:
        assert (cell["ratio"] is None) == ("ratio" in cell.get("absent", ()))
        assert (cell["verdict"] is None) == ("verdict" in cell.get("absent", ()))
        for result in cell["arms"].values():
            missing = [one["text"] for one in result["notes"] if one["severity"] == "missing"]
            assert (result["value"] is None) == bool(missing)
            if result["value"] is not None:
                assert result["low"] is not None or "no interval" in result["notes"][0]["text"]


def test_the_csv_has_a_row_a_cell_and_arm() -> None:
    summary = make_summary(blocks=3)
    rows = list(csv.DictReader(io.StringIO(render_csv(summary))))
    assert len(rows) == len(summary.cells) * 2
    first = rows[0]
    assert (first["unit"], first["rate_unit"], first["axis_n"]) == ("s", "FLOP/s", "1000")
    estimate = summary.cells[0].arms["cpu"].estimate
    assert estimate
    assert float(first["value"]) == estimate.value
    assert (first["ratio"], bool(rows[1]["ratio"])) == ("", True)


def collate_into(folder: Path, campaign: Campaign, documents: list[Document]) -> Report:
    return collate(synthetic.write_campaign(folder, campaign, documents))


def test_collating_writes_nothing_and_repeats_itself(tmp_path: Path) -> None:
    campaign = synthetic.make_campaign(blocks=3)
    documents = synthetic.make_documents(campaign, samples=2)
    first = collate_into(tmp_path / "a", campaign, documents)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == [
        *("campaign.json", "cpu-00.json", "cpu-01.json", "cpu-02.json", "cpu-03.json"),
        *("cuda-00.json", "cuda-01.json", "cuda-02.json", "cuda-03.json"),
    ]
    assert collate(tmp_path / "a") == first
    assert not first.analysis.troubled
    assert all(text.endswith("\n") for text in first.files.values())


def test_a_reason_keeps_its_dots_and_its_sentence_has_one_stop() -> None:
    summary = make_summary(blocks=1)
    for reason in ("see ../logs", "see ../logs."):
        plan = structs.replace(summary.campaign, stopped=reason, not_run={"other": reason})
        told = account(structs.replace(summary, campaign=plan), str)
        assert "The campaign ended early: see ../logs." in told
        assert "other was not run: see ../logs." in told


def test_the_report_does_not_claim_to_lie_in_results() -> None:
    text = collate(GOLDEN / "one-arm", pictures=False).files["report.md"]
    assert "make report RUN=path/to/one-arm" in text
    assert "results/" not in text


def test_the_terminal_gets_the_summary_and_no_controls(tmp_path: Path) -> None:
    campaign = replace(synthetic.make_campaign(blocks=1), stopped=HOSTILE)
    collated = collate_into(tmp_path, campaign, synthetic.make_documents(campaign))
    assert collated.terminal.startswith("Crossover — SIMULATED\n")
    assert collated.terminal.replace("\n", "").isprintable()
    assert "10 of 10 measured" in collated.terminal


def test_trouble_is_told(tmp_path: Path) -> None:
    campaign = synthetic.make_campaign(blocks=3)
    documents = synthetic.make_documents(campaign, samples=2)
    name = campaign.cells[0].id
    skipped = [synthetic.lose_cell(one, name, "skipped", "why") for one in documents]
    assert not collate_into(tmp_path / "skipped", campaign, skipped).analysis.troubled
    failed = [*documents[:-1], synthetic.lose_cell(documents[-1], name, "failed", "why")]
    assert collate_into(tmp_path / "failed", campaign, failed).analysis.troubled
    calibration = [synthetic.lose_cell(documents[0], name, "failed", "why"), *documents[1:]]
    assert not collate_into(tmp_path / "calibration", campaign, calibration).analysis.troubled
