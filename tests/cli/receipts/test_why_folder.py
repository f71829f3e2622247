"""A folder of `make why`: rebuilt, checked, defended and bundled; refused where a campaign is wanted."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.analysis.documents.read import load_campaign, load_plan
from suite.cli.receipts.check import judge_cells
from suite.cli.run_campaign import write_reports
from suite.fingerprint import suite_content
from suite.host.campaign.store import Store
from suite.model import Document, container_seconds
from suite.model.why import Inquiry
from tests import synthetic
from tests.analysis.why.made_up_scripts import make_script, run_course
from tests.cli.shell import Heard, Shell, complaint, fail, well

NAME = "20261121T093000Z-made-up-why"
NOTE = 'data came from /home/mallory/sets/"train".npz on 10.11.12.13'


def spoil(document: Document) -> Document:
    """A document whose first run has said something private."""
    facts = dict(document.facts)
    for name, text in facts.items():
        if name.startswith("notes."):
            facts[name] = json.dumps({**json.loads(str(text)), "output": NOTE})
    return dataclasses.replace(document, facts=facts)


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; who changes it gets a copy.  Three in four of a step are input, which a cache ends."""
    loaded = run_course(make_script(0.04, input=0.12))
    documents = [spoil(document) for document in loaded.documents]
    actual = sum(map(container_seconds, documents))
    prediction = dataclasses.replace(loaded.campaign.prediction, actual_s=actual, corrected_s=[])
    assert isinstance(loaded.campaign, Inquiry)
    script = dataclasses.replace(loaded.campaign.script, arguments=["--data=/home/mallory/sets"])
    plan = dataclasses.replace(loaded.campaign, prediction=prediction, script=script)
    folder = tmp_path_factory.mktemp("asked") / NAME
    synthetic.write_campaign(folder, plan, documents)
    write_reports(Store(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path, asked: Path) -> Path:
    return shutil.copytree(asked, tmp_path / NAME)


def test_it_holds_its_own_files_and_no_others(asked: Path) -> None:
    made = {path.relative_to(asked).as_posix() for path in asked.rglob("*") if path.is_file()}
    assert {name for name in made if not re.match(r"c(pu|ampaign).*\.json", name)} == {
        *("why.json", "why.md", "why.html", "plots/why.svg", "plots/why.png", "manifest.sha256"),
    }
    page = (asked / "why.md").read_text(encoding="utf-8")
    assert "**On the CPU the script loses time: 7" in page
    assert "Line 30: write cache:30 (needs 3 MB of memory)" in page


def test_a_report_is_made_of_the_documents_alone(folder: Path, shell: Shell, drawing: None) -> None:
    before = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("why.*")}
    for path in folder.glob("why.*"):
        path.unlink()
    heard = well(shell.run("report", str(folder)))
    for name, text in before.items():
        assert (folder / name).read_text(encoding="utf-8").splitlines() == text.splitlines()
    *_, files, place = heard.out.strip().splitlines()
    assert files == "why.json, why.md, why.html and the pictures in plots are in"
    assert place.endswith(NAME)
    assert len(heard.out.splitlines()) <= 24


def test_an_honest_folder_passes_and_a_changed_one_does_not(
    folder: Path, shell: Shell, drawing: None
) -> None:
    heard = well(shell.run("check", str(folder)))
    names = [line.split()[1] for line in heard.out.splitlines()]
    assert names == [
        *("hashes", "documents", "plan", "cells", "why.json", "why.md", "why.html", "pictures"),
    ]
    assert "drawn anew: the same bytes" in heard.out
    for file, old, new in (
        ("why.md", "3 MB of memory", "2 MB of memory"),
        ("why.json", '"line": 30', '"line": 31'),
        ("cpu-01.json", '"calls_per_sample"', '"calls_per_sample" '),
    ):
        path = folder / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        assert f"{file}: is not the file that manifest.sha256 names" in fail(
            shell.run("check", str(folder))
        )
        path.write_text(text, encoding="utf-8")


def test_a_run_that_is_changed_changes_the_answer(folder: Path, shell: Shell) -> None:
    path = folder / "cpu-03.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"][-1]["samples_s"] = [1.0]
    path.write_text(json.dumps(content), encoding="utf-8")
    (folder / "manifest.sha256").unlink()
    Store(folder).pin()
    assert "why.json: $." in fail(shell.run("check", str(folder)))


def test_a_round_that_is_missing_is_found(folder: Path, shell: Shell) -> None:
    (folder / "cpu-02.json").unlink()
    out = fail(shell.run("check", str(folder)))
    assert "cpu-02.json: is missing, and block" in out


def test_the_plan_has_the_runs_of_its_rounds_and_no_others(asked: Path) -> None:
    plan = load_plan(asked)
    assert isinstance(plan, Inquiry)
    suite = dataclasses.replace(plan.suite, content=suite_content())
    ours = dataclasses.replace(plan, suite=suite)
    assert judge_cells(ours).troubles == ()
    other = dataclasses.replace(plan.cells[-1], role="price")
    (trouble,) = judge_cells(dataclasses.replace(ours, cells=[*plan.cells[:-1], other])).troubles
    assert trouble.endswith("is declared differently from its suite: role")
    (trouble,) = judge_cells(
        dataclasses.replace(ours, rounds=plan.rounds[:-1], cells=plan.cells[-1:])
    ).troubles
    assert trouble.endswith("is not a cell of the suite that it names")


def test_a_try_is_defended_by_its_runs_and_pairs(
    folder: Path, shell: Shell, tmp_path: Path
) -> None:
    page = well(shell.run("defend", str(folder), "cache:30")).out
    assert page.startswith("# How do you know? cache:30 — SIMULATED\n")
    claim, pairs, runs = page.split("Table: ")[1:]
    assert "| cache:30 | cpu " in claim
    used = re.findall(r"^\| (\d+) +\| base +\| +(\d+) \| cache:30 ", pairs, re.MULTILINE)
    assert len(used) >= 3
    told = dict(re.findall(r"^\| (\d+) \| cpu \| \d+ \| (\S+) ", runs, re.MULTILINE))
    assert {told[before] for before, _ in used} == {"base"}
    assert {told[after] for _, after in used} == {"cache:30"}
    loaded = load_campaign(folder)
    walls = {
        str(cell.params["run"]): cell.samples_s[0]
        for document in loaded.documents
        for cell in document.cells
    }
    for before, after in used:
        assert f"{walls[before] / walls[after]:.3g}× faster" in pairs
    assert re.search(r"cpu-0\d\.json [0-9a-f]{16}", runs)
    well(shell.run("defend", str(folder), "base", "--out", str(tmp_path / "out")))
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".md", ".html"}
    assert "no cell of this campaign" in complaint(shell.run("defend", str(folder), "cach"), 2)


def test_a_bundle_hides_paths_and_names_and_follows_from_its_documents(
    folder: Path, shell: Shell
) -> None:
    assert "mallory" in (folder / "cpu-01.json").read_text(encoding="utf-8")
    path = Path(well(shell.run("bundle", str(folder))).out.split()[1])
    well(shell.run("check", str(path)))
    with zipfile.ZipFile(path) as file:
        texts = {name: file.read(name).decode(errors="replace") for name in file.namelist()}
    assert {name.partition("/")[2] for name in texts} >= {"why.json", "why.md", "campaign.json"}
    assert [name for name, text in texts.items() if re.search("mallory|10.11.12.13", text)] == []


@pytest.mark.parametrize(
    "words",
    [
        lambda folder: ("export", folder),
        lambda folder: ("paper", folder),
        lambda folder: ("compare", folder, folder),
        lambda folder: ("bench", "--recheck", folder),
    ],
)
def test_what_wants_a_campaign_says_so(
    words: Callable[[str], tuple[str, ...]], asked: Path, shell: Shell
) -> None:
    heard: Heard = shell.run(*words(str(asked)))
    assert (
        complaint(heard, 2) == f"{NAME} is of `make why`, and a campaign of `make bench` is wanted"
    )
