"""What the documentation says of the code is made from the code, and was made lately."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from suite import __version__, codec
from suite.analysis.causes.rules import RULES
from suite.cli.commands.generate import generated
from suite.fingerprint import SUITE
from suite.host.campaign.options import Options
from suite.host.campaign.request import plan_campaign
from suite.model import SuiteIdentity
from suite.worker import scenarios
from tests import synthetic
from tests.fakes.engine import Worker
from tests.host.campaign.stage import CPU, Stage

ROOT = SUITE.parent


def test_what_is_made_from_the_code_is_up_to_date() -> None:
    for name, text in generated().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name}: `make generate`"


def test_the_cells_page_has_every_cell_and_its_question() -> None:
    page = (ROOT / "docs" / "cells.md").read_text(encoding="utf-8")
    for cell in scenarios.cells():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{cell.id}` ")]
        assert cell.question in row


def test_the_pages_tell_of_every_cause() -> None:
    method, guide = (
        (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        for name in ("method-in-detail", "guide")
    )
    rows = method.split("| cause | its seconds are |")[1].split("\n\n")[0]
    assert [*re.findall(r"^\| (\w[\w -]*) \|", rows, re.MULTILINE), "unknown"] == list(RULES)
    (listed,) = re.findall(r"most of the loss\s+\((.*?)\), confirmed", guide)
    assert set(re.split(r", (?:or )?", listed)) == set(RULES)


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads((ROOT / "docs" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(
        schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
    )


def test_the_schema_fits_what_a_campaign_writes(
    tmp_path: Path, validator: jsonschema.Draft202012Validator, suite_identity: SuiteIdentity
) -> None:
    stage = Stage(tmp_path, worker=Worker())
    stage.run(campaign=plan_campaign(Options(profile="smoke", seed=1), CPU, scenarios.cells()))
    written = sorted(stage.folder.glob("*.json"))
    assert [path.name for path in written] == ["campaign.json", "cpu-01.json"]
    for path in written:
        validator.validate(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "fields",
    [
        {"schema": 3},
        {"mood": "good"},
        {"cells": {}},
        {"facts": {"a": []}},
        {"invocation": None},
        {"spent_s": {"import": "long"}},
    ],
    ids=str,
)
def test_the_schema_refuses_what_is_no_document(
    fields: dict[str, object], validator: jsonschema.Draft202012Validator
) -> None:
    document = codec.plain(synthetic.make_document(synthetic.make_campaign(), "cpu", 1))
    validator.validate(document)
    assert not validator.is_valid({**document, **fields})


def test_the_committed_samples_fit_the_schema(validator: jsonschema.Draft202012Validator) -> None:
    """Their plans, and a document of each arm; all of an arm were written by the same code."""
    documents = [
        path
        for name in ("campaign", "*-01")
        for path in (ROOT / "results" / "samples").glob(f"*/{name}.json")
    ]
    assert documents
    for path in documents:
        validator.validate(json.loads(path.read_text(encoding="utf-8")))


README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "results/README")]
DOCS += sorted((ROOT / "docs").rglob("*.md"))


@cache
def anchors(page: Path) -> set[str]:
    """The names by which a page's headings are linked to, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).strip().replace(" ", "-") for line in headings}


def test_every_link_leads_somewhere() -> None:
    for page in DOCS:
        text = page.read_text(encoding="utf-8")
        for number, link in re.findall(r"(?:\[(\d{4}))?\]\(([^)\s]+)\)", text):
            if link.startswith("https://"):
                continue
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), f"{page}: {link}"
            assert target.name.startswith(number), f"{page}: {link}"
            assert not anchor or anchor in anchors(target), f"{page}: {link}"


def test_the_readme_shows_the_brief_of_the_sample() -> None:
    excerpt = README.split("<!-- sample:begin")[1].split("<!-- sample:end")[0]
    ((alt, name),) = re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", excerpt)
    assert len(alt) > 50
    # GitHub shows an SVG file that runs nothing and asks nobody for anything.
    drawn = (ROOT / name).read_text(encoding="utf-8")
    assert drawn.startswith("<svg ")
    assert "<script" not in drawn
    assert re.findall(r"(?:href|src)=\"(?!#)[^\"]*\"", drawn) == []
    brief = (ROOT / name).parent.with_name("brief.md").read_text(encoding="utf-8")
    *rest, _ = brief.partition("\n")[2].strip().split("\n\n")
    for block in rest:
        assert block.replace("](plots/", f"]({name.rpartition('/')[0]}/") in excerpt


def test_the_licence_is_whole_and_is_the_one_that_the_project_names() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.split()[:4] == ["Apache", "License", "Version", "2.0,"]
    for part in ("TERMS AND CONDITIONS", "9. Accepting Warranty", "END OF TERMS AND CONDITIONS"):
        assert part in text
    for name, line in (
        ("pyproject.toml", 'license = "Apache-2.0"'),
        ("CITATION.cff", "license: Apache-2.0"),
    ):
        assert line in (ROOT / name).read_text(encoding="utf-8").splitlines()


def test_the_version_is_the_same_wherever_it_stands() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [__version__]
    assert re.findall(r'^version = "(.*)"$', project, re.MULTILINE) == [__version__]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first = changes.split("\n## ")[1]
    assert __version__ in first.split("\n###")[0]
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", changes, re.MULTILINE)) <= kinds


DECISIONS = ROOT / "docs" / "decisions"
PAGES = sorted(path for path in DECISIONS.glob("*.md") if path.name != "README.md")


def test_a_decisions_number_stands_once() -> None:
    numbers = [path.name.partition("-")[0] for path in PAGES]
    assert numbers == [f"{number:04d}" for number in range(1, len(PAGES) + 1)]


def test_a_decision_is_one_page() -> None:
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 40, page
        assert not [line for line in lines if len(line) > 180 and line[:1] != "|"], page


def test_the_index_of_the_decisions_has_a_line_each() -> None:
    titles = [path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in PAGES]
    index = (DECISIONS / "README.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in index if line.startswith("- ")] == [
        f"- [{path.name[:4]}]({path.name}) {title}"
        for path, title in zip(PAGES, titles, strict=True)
    ]


def test_every_decision_that_is_cited_is_there() -> None:
    numbers = {path.name[:4] for path in PAGES}
    code = [path for folder in ("suite", "tests") for path in (ROOT / folder).rglob("*.py")]
    cited = {
        number
        for path in code
        for number in re.findall(r"docs/decisions/(\d{4})", path.read_text(encoding="utf-8"))
    }
    assert cited
    assert cited <= numbers
