"""The report as a reader, a parser and a spreadsheet see it."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it.token import Token
from msgspec import structs

from suite import __version__, codec
from suite.model import Campaign, Document
from suite.report.exports.cells import render_csv
from suite.report.exports.summary import render_json
from suite.report.pages.campaign import compose
from suite.report.pictures.picture import POSSIBLE_FILES
from suite.report.produce import Report
from suite.report.render.markdown import render_page
from suite.report.sections.opening import account
from suite.report.text.names import list_shared, name_cells, sort_cells
from suite.report.text.wording import tell
from tests import synthetic
from tests.golden_campaigns import NAMES, analyse_golden, read_golden
from tests.rendering import render_markdown, render_whole, report_folder, study
from tests.report.campaigns import HOSTILE, analyse_made, make_hostile
from tests.report.reading import MARKDOWN

CAMPAIGN = synthetic.make_campaign(blocks=3)


@cache
def make_documents() -> tuple[Document, ...]:
    return tuple(synthetic.make_documents(CAMPAIGN, samples=2))


def table_shapes(tokens: list[Token]) -> list[set[int]]:
    """For every table the numbers of cells that its rows have."""
    shapes: list[set[int]] = []
    kinds = iter(token.type for token in tokens)
    for kind in kinds:
        if kind == "table_open":
            shapes.append(set())
        elif kind == "tr_open":
            row = takewhile(lambda inner: inner != "tr_close", kinds)
            shapes[-1].add(sum(inner in {"td_open", "th_open"} for inner in row))
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
    # What this Python's Unicode has no name for yet may be a letter.
    assert all(c.isprintable() or c == "\n" or unicodedata.category(c) == "Cn" for c in text)
    return tokens


@pytest.mark.parametrize("name", NAMES)
def test_golden_reports_are_well_formed(name: str) -> None:
    assert_well_formed(read_golden(name), struck=name == "troubled")


def test_every_mark_is_explained_and_every_dash_marked() -> None:
    text = read_golden("troubled")
    body, _, notes = text.partition("## Footnotes")
    # Under the tables of the brief a sentence says it.
    tables = body.partition("\n## ")[2].partition("## Validity")[0]
    marks = {f"[^{number}]" for number in range(1, 100) if f"[^{number}]" in tables}
    assert marks == {f"[^{number}]" for number in range(1, len(marks) + 1)}
    assert all(f"\n{mark}: " in notes for mark in marks)
    assert notes.count("\n[^") == len(marks)
    rows = [row for row in tables.splitlines() if "| —" in row]
    assert rows
    assert [row for row in rows if "— [^" not in row] == []


def test_a_campaign_without_documents_can_be_reported() -> None:
    summary = study(CAMPAIGN, [])
    text = render_markdown(summary)
    assert_well_formed(text)
    assert "no block has run on this arm" in text
    assert json.loads(render_json(summary))["cells"][0]["arms"]["cpu"]["value"] is None


@pytest.mark.parametrize(("scenario", "said"), [("overhead", True), ("matmul", False)])
def test_where_only_prices_are_lost_no_work_is(scenario: str, said: bool) -> None:
    cells = [cell for cell in synthetic.make_cells() if cell.scenario == scenario]
    campaign = synthetic.make_campaign(blocks=5, cells=cells)
    page = compose(study(campaign, synthetic.make_documents(campaign)))
    text = render_page(page)
    assert ("cuda loses no cell of work that could be judged." in text) == said
    assert ("Table: cells of work in which cuda is slower than cpu" in text) != said
    assert ("In report.html there is more: Why the CPU wins in scripts, and" in text) == said


UNCALIBRATED = replace(CAMPAIGN.prediction, calibrated_s=None, corrected_s=[])


@pytest.mark.parametrize(
    ("plan", "spent", "words"),
    [
        ({"command": ""}, {}, "The plan does not record the command that made it."),
        ({"prediction": UNCALIBRATED}, {}, "predicted 10 min 00 s before anything ran; actual"),
        ({}, {"import": 1e6}, "so at least one of them was counted twice."),
    ],
)
def test_what_a_plan_or_a_document_leaves_open_or_tells_wrong_is_said(
    plan: dict[str, Any], spent: dict[str, float], words: str
) -> None:
    documents = [replace(doc, spent_s={**doc.spent_s, **spent}) for doc in make_documents()]
    assert words in render_whole(study(replace(CAMPAIGN, **plan), documents))


def test_a_footnote_is_about_most_blocks_and_worded_once() -> None:
    campaign = synthetic.make_campaign(arms=["cpu"], blocks=5, cells=synthetic.make_cells()[:2])
    documents = synthetic.make_documents(campaign, samples=2)
    for block in range(1, 5):
        cell = campaign.cells[0 if block < 4 else 1].id
        documents[block] = synthetic.change_cell(documents[block], cell, labels=["power-capped"])
    summary = study(campaign, documents)
    text = render_markdown(summary)
    assert text.count("power-capped (in most blocks)") == 1
    assert "of 5 blocks" not in text.partition("## Footnotes")[2]
    notes = [tell(cell.arms["cpu"].flags) for cell in summary.cells]
    assert "power-capped (in 3 of 5 blocks)" in notes[0]
    assert "power-capped (in 1 of 5 blocks)" in notes[1]


@settings(max_examples=5, deadline=None)
@given(st.text(min_size=1, max_size=20))
@example(HOSTILE)
def test_any_text_never_becomes_markup(text: str) -> None:
    check_text(text)


@pytest.mark.method
@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=20))
def test_nor_does_any_of_many(text: str) -> None:
    check_text(text)


def check_text(text: str) -> None:
    summary = make_hostile(text.encode(errors="replace").decode())
    # The text can happen to be a label that makes a number invalid.
    struck = any(result.invalid for cell in summary.cells for result in cell.arms.values())
    page = render_markdown(summary)
    tokens = assert_well_formed(page, struck=struck)
    assert sum(token.type == "heading_open" and token.tag == "h1" for token in tokens) == 1
    assert "<script>" not in MARKDOWN.render(page)
    json.loads(render_json(summary))
    rows = list(csv.reader(io.StringIO(render_csv(summary))))
    assert len({len(row) for row in rows}) == 1
    assert not any(cell.startswith(("=", "+", "@", "-")) for row in rows for cell in row)


def test_cells_stand_as_a_reader_sorts_them() -> None:
    cells = sort_cells(synthetic.make_cells())
    products = [(cell.params["precision"], cell.params["n"]) for cell in cells[:4]]
    assert products == [("fp32", 10), ("fp32", 100), ("fp32", 1000), ("tf32", 1000)]
    names, shared = name_cells(cells), list_shared(cells)
    assert names[cells[0].id] == "matmul.square/n=10/precision=fp32"
    assert names["overhead.fence"] == "overhead.fence"
    assert next(iter(shared.values())) == "matmul.square: operands=device, xla=off"
    assert len(set(names.values())) == len(cells)


def test_the_json_says_who_measured_and_who_analysed() -> None:
    summary = analyse_made("few", blocks=1)
    suite = replace(synthetic.SUITE, version="0.0.9")
    content = json.loads(render_json(structs.replace(summary, suite=suite)))
    assert content["suite"] == codec.plain(suite)
    assert content["analysed_by"] == __version__


def test_the_json_says_why_a_null_is_null() -> None:
    content = json.loads(render_json(analyse_golden("troubled")))
    nulls = {name for name, value in content.items() if value is None}
    assert set(content["absent"]) == nulls == {"noise_floor", "noise_unexplained"}
    controls = content["controls"]
    assert {name for name, value in controls.items() if not value} == set(controls["absent"])
    for cell in content["cells"]:
        assert (cell["ratio"] is None) == ("ratio" in cell.get("absent", ()))
        assert (cell["verdict"] is None) == ("verdict" in cell.get("absent", ()))
        for result in cell["arms"].values():
            missing = [note for note in result["notes"] if note["severity"] == "missing"]
            assert (result["value"] is None) == bool(missing)
            if result["value"] is not None:
                assert result["low"] is not None or "no interval" in result["notes"][0]["text"]


def report_into(folder: Path, campaign: Campaign, documents: list[Document]) -> Report:
    return report_folder(synthetic.write_campaign(folder, campaign, documents))


def test_collating_writes_nothing_and_repeats_itself(tmp_path: Path) -> None:
    first = report_into(tmp_path / "a", CAMPAIGN, list(make_documents()))
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert files == [
        *("campaign.json", "cpu-00.json", "cpu-01.json", "cpu-02.json", "cpu-03.json"),
        *("cuda-00.json", "cuda-01.json", "cuda-02.json", "cuda-03.json"),
    ]
    assert report_folder(tmp_path / "a") == first
    assert not first.analysis.troubled
    assert all(text.endswith("\n") for text in first.files.values())


def test_a_reason_keeps_its_dots_and_its_sentence_has_one_stop() -> None:
    summary = analyse_made("few", blocks=1)
    for reason in ("see ../logs", "see ../logs."):
        plan = structs.replace(summary.campaign, stopped=reason, not_run={"other": reason})
        sentences = account(structs.replace(summary, campaign=plan))
        assert "The campaign ended early: see ../logs." in sentences
        assert "other was not run: see ../logs." in sentences


def test_the_terminal_gets_the_brief(tmp_path: Path) -> None:
    campaign = replace(synthetic.make_campaign(blocks=1), stopped=HOSTILE)
    reported = report_into(tmp_path, campaign, synthetic.make_documents(campaign))
    assert reported.terminal.startswith("Crossover: cuda against cpu — SIMULATED\n")
    assert reported.terminal.replace("\n", "").isprintable()
    assert "Nothing is decided: 1 block done" in reported.terminal


@pytest.mark.parametrize(
    ("outcome", "places", "troubled"),
    [("skipped", range(8), False), ("failed", (7,), True), ("failed", (0,), False)],
    ids=["skipped", "failed", "failed in the calibration"],
)
def test_trouble_is_told(outcome: str, places: Iterable[int], troubled: bool) -> None:
    documents = list(make_documents())
    for place in places:
        name = CAMPAIGN.cells[0].id
        documents[place] = synthetic.lose_cell(documents[place], name, outcome, "why")
    assert study(CAMPAIGN, documents).troubled == troubled
