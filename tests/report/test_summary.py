"""``summary.json`` holds all that a report is made of, and its schema says what it holds."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from msgspec import structs

from suite.analysis.analyse import analyse_folder
from suite.analysis.documents.read import read_summary
from suite.analysis.several.cells import compare_cells
from suite.report.exports.summary import render_json, summary_schema
from suite.report.pages.gallery import depict
from suite.report.produce import build_report
from tests.golden_campaigns import GOLDEN, NAMES, SUMMARISED, analyse_golden

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(path.parent for path in (ROOT / "results" / "samples").glob("*/campaign.json"))


@pytest.mark.parametrize("name", [*NAMES, *(path.name for path in SAMPLES)])
def test_a_report_is_made_of_the_summary_alone(name: str) -> None:
    sample = ROOT / "results" / "samples" / name
    analysis = analyse_golden(name) if name in NAMES else analyse_folder(sample)
    read = read_summary(render_json(analysis))
    assert read == analysis
    of_documents, of_summary = (build_report(source, pictures=False) for source in (analysis, read))
    assert of_summary.files == of_documents.files
    assert of_summary.terminal == of_documents.terminal
    # What is drawn is made of these alone.
    assert depict(read) == depict(analysis)
    assert of_summary.page.blocks == of_documents.page.blocks


@pytest.mark.parametrize(
    "folder", [*(GOLDEN / name for name in SUMMARISED), *SAMPLES], ids=lambda path: path.name
)
def test_the_report_beside_a_summary_is_made_of_it(folder: Path) -> None:
    files = build_report(read_summary((folder / "summary.json").read_text(encoding="utf-8"))).files
    for file in ("report.md", "cells.csv"):
        assert files[file] == (folder / file).read_text(encoding="utf-8"), file


def test_what_is_written_is_what_the_published_schema_says() -> None:
    published = json.loads((ROOT / "docs" / "summary-schema.json").read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(summary_schema()))
    validator = jsonschema.Draft202012Validator(published)
    first = analyse_golden("two-arms")
    second = structs.replace(first, campaign=structs.replace(first.campaign, id="another"))
    for found in (*map(analyse_golden, NAMES), compare_cells([first, second])):
        validator.validate(json.loads(render_json(found)))


def test_every_code_has_its_sentence_beside_it() -> None:
    flags: list[dict[str, str]] = []

    def collect(found: dict[str, str]) -> dict[str, str]:
        flags.extend([found] if "severity" in found else [])
        return found

    json.loads(render_json(analyse_golden("troubled")), object_hook=collect)
    assert len(flags) > 10
    assert all(flag["text"] for flag in flags)
