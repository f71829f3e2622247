"""Whoever tampers with a folder is found, with the file and the field; an honest folder passes anywhere."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.analysis.documents.read import load_plan
from suite.cli.receipts.check import judge_cells, judge_suite
from suite.fingerprint import SUITE, suite_content
from suite.host.campaign import request
from suite.host.campaign.plan import fit_cells
from suite.host.campaign.store import Store
from suite.manifest import MANIFEST
from suite.model import PLAN, SuiteIdentity
from suite.worker import scenarios
from tests.cli.shell import Heard, Shell, complaint, fail, well

Check = Callable[..., Heard]
Tamper = Callable[[Path], None]
ROOT = SUITE.parent
SAMPLES = "$.cells[0].samples_s[1]"


def edit(file: str, path: str, value: Any) -> Tamper:
    """Puts another value at a path such as ``$.cells[0].samples_s``; a callable is given the old one."""

    def tamper(folder: Path) -> None:
        content = json.loads((folder / file).read_text(encoding="utf-8"))
        *way, last = [int(i) if i else n for n, i in re.findall(r"\.([\w-]+)|\[(\d+)\]", path)]
        at = content
        for step in way:
            at = at[step]
        at[last] = value(at[last]) if callable(value) else value
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (folder / file).write_text(text, encoding="utf-8")

    return tamper


def replace(file: str, old: str, new: str) -> Tamper:
    def tamper(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return tamper


def remove(*files: str) -> Tamper:
    def tamper(folder: Path) -> None:
        for file in files:
            (folder / file).unlink()

    return tamper


def add(file: str, copy: str, then: Tamper) -> Tamper:
    def tamper(folder: Path) -> None:
        shutil.copy(folder / copy, folder / file)
        then(folder)

    return tamper


def all_of(*tampers: Tamper) -> Tamper:
    def tamper(folder: Path) -> None:
        for tamper_once in tampers:
            tamper_once(folder)

    return tamper


def less(value: float) -> float:
    return 0.9 * value


MEASURED: dict[str, tuple[Tamper, str]] = {
    "a sample": (edit("cpu-01.json", SAMPLES, less), "cpu-01.json: is not the file"),
    "an outcome": (
        edit("cpu-01.json", "$.cells[0].outcome", "failed"),
        "cpu-01.json: $.cells[0].reason: is missing",
    ),
    "calls in a sample": (
        edit("cpu-01.json", "$.cells[0].calls_per_sample", 11),
        "cpu-01.json: $.cells[0].calls_per_sample: 11, but campaign.json says 10",
    ),
    "a field that nobody knows": (
        edit("cpu-01.json", "$.suite", lambda old: {**old, "mood": "good"}),
        "cpu-01.json: $.suite.mood: is not a field",
    ),
    "half a document": (
        lambda folder: (folder / "cpu-01.json").write_text('{"schema": 2, '),
        "cpu-01.json: not JSON, or cut short",
    ),
    "a block of one arm": (remove("cpu-02.json"), "cpu-02.json: is missing, and block 3 is there"),
    "a block": (remove("cpu-02.json", "cuda-02.json"), "cuda-02.json: is missing, and block 3"),
    "the last block": (
        remove("cpu-03.json", "cuda-03.json"),
        "campaign.json: $.prediction.actual_s: ",
    ),
    "the calibration": (remove("cpu-00.json"), "cpu-00.json: is missing, and manifest.sha256"),
    "one block more": (
        add("cpu-04.json", "cpu-03.json", edit("cpu-04.json", "$.invocation.block", 4)),
        "cpu-04.json: $.invocation.block: 4, but campaign.json has 3 blocks",
    ),
    "a repeat": (
        add("cpu-03-r1.json", "cpu-02.json", edit("cpu-03-r1.json", "$.invocation.repeat", 1)),
        "cpu-03-r1.json: $.invocation: its arm, block and repeat belong into",
    ),
    "another campaign's document": (
        edit("cpu-03.json", "$.campaign.id", "another"),
        "cpu-03.json: $.campaign.id: 'another', but campaign.json says 'made-up'",
    ),
    "another suite's document": (
        edit("cpu-03.json", "$.suite.content", "6" * 64),
        "cpu-03.json: $.suite.content: is not that of campaign.json",
    ),
    "a label": (edit("cpu-03.json", "$.campaign.label", "x"), "cpu-03.json: $.campaign.label"),
    "the plan's blocks": (edit("campaign.json", "$.blocks", 2), "campaign.json: is not the file"),
    "the plan's seed": (edit("campaign.json", "$.seed", 8), "cpu-00.json: $.campaign.seed: 7, but"),
    "the plan's price": (edit("campaign.json", "$.price", 1.0), "campaign.json: is not the file"),
    "the plan's cells": (
        all_of(
            edit("campaign.json", "$.cells", lambda cells: cells[1:]),
            edit("campaign.json", "$.calls", {}),
        ),
        "is not in the plan of campaign.json",
    ),
    "a log": (replace("logs/cpu-01.log", "nothing", "a lot"), "logs/cpu-01.log: is not the file"),
    "a log less": (remove("logs/cpu-01.log"), "logs/cpu-01.log: is missing"),
    "no manifest": (remove(MANIFEST), "manifest.sha256: is missing"),
    "a line of the manifest less": (
        lambda folder: (folder / MANIFEST).write_text(
            "".join((folder / MANIFEST).read_text().splitlines(keepends=True)[1:])
        ),
        "brief.md: was added, since manifest.sha256 does not name it",
    ),
}
"""What was measured, tampered with; and what is said of it."""

DERIVED: dict[str, tuple[Tamper, str]] = {
    "a value": (
        edit("summary.json", "$.cells[0].arms.cpu.value", less),
        "summary.json: $.cells[0].arms.cpu.value: is ",
    ),
    "a flag": (edit("summary.json", "$.flags", []), "summary.json: $.flags: is [], but rebuilds"),
    "a field more": (
        edit("summary.json", "$.machine", lambda old: {**old, "gpu": "H200"}),
        "summary.json: $.machine.gpu: should not be there",
    ),
    "a field less": (
        edit("summary.json", "$.campaign", lambda old: {**old, "seed": None}),
        "summary.json: $.campaign.seed: is null, but rebuilds as 7",
    ),
    "the report": (replace("report.md", "faster", "slower"), "report.md: line "),
    "the page": (replace("report.html", "</table>", "<!-- --></table>"), "report.html: line "),
    "the table": (replace("cells.csv", ",FLOP,", ",B,"), "cells.csv: line 2: is "),
    "no table": (remove("cells.csv"), "cells.csv: is missing"),
    "a picture": (
        lambda folder: (folder / "plots").mkdir() or (folder / "plots" / "matmul.svg").touch(),
        "plots/matmul.svg: is not a picture of this report",
    ),
}
"""And what is made of it."""


def pin_anew(folder: Path) -> None:
    """As somebody who knows that there is a manifest."""
    (folder / MANIFEST).unlink(missing_ok=True)
    Store(folder).pin()


@pytest.mark.parametrize("name", MEASURED)
def test_tampering_is_found_with_its_file_and_field(name: str, honest: Path, check: Check) -> None:
    tamper, trouble = MEASURED[name]
    tamper(honest)
    assert trouble in fail(check(honest))


@pytest.mark.parametrize("name", ["a sample", "a block", "the plan's price", "a log"])
def test_it_is_found_although_the_report_is_made_anew(
    name: str, honest: Path, check: Check, shell: Shell
) -> None:
    MEASURED[name][0](honest)
    shell.run("report", str(honest))
    assert "✗ hashes" in fail(check(honest))


IN_ITSELF = (
    *("calls in a sample", "a block of one arm", "a block", "the last block", "the calibration"),
    *("one block more", "a repeat", "another campaign's document", "another suite's document"),
    *("a label", "the plan's blocks", "the plan's seed", "the plan's cells"),
)


@pytest.mark.parametrize("name", IN_ITSELF)
def test_what_does_not_fit_together_is_found_although_all_else_is_made_anew(
    name: str, honest: Path, check: Check, shell: Shell
) -> None:
    MEASURED[name][0](honest)
    pin_anew(honest)
    shell.run("report", str(honest))
    assert "✓ hashes" in fail(check(honest))


@pytest.mark.parametrize("name", DERIVED)
def test_an_edited_report_is_found_although_the_manifest_is_made_anew(
    name: str, honest: Path, check: Check
) -> None:
    tamper, trouble = DERIVED[name]
    tamper(honest)
    pin_anew(honest)
    assert f"\n    {trouble}" in fail(check(honest))


def test_an_honest_folder_passes_under_another_name_and_in_another_time_zone(
    honest: Path, tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = check(honest).out.splitlines()
    assert len(lines) == 10
    assert all(line.startswith("✓ ") for line in lines)
    shutil.copytree(honest, tmp_path / "a copy")
    monkeypatch.setenv("TZ", "Pacific/Chatham")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    time.tzset()
    try:
        heard = check(tmp_path / "a copy")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (heard.status, heard.out.splitlines()) == (0, lines)


def test_all_that_a_campaign_leaves_is_looked_at(check: Check, shell: Shell) -> None:
    shell.bench_short()
    assert (shell.folder() / "sbom" / "cpu.cdx.json").is_file()
    heard = well(check(shell.folder()))
    assert "others" not in heard.out


def test_cells_are_held_to_the_suite_that_the_plan_names(honest: Path, check: Check) -> None:
    """Where that is another suite than this one, nobody here can tell, which is said."""
    assert "another version of the suite measured them" in check(honest).out
    first, second, third = scenarios.cells()[:3]
    changed = dataclasses.replace(second, role="control", priced=not second.priced)
    made_up = dataclasses.replace(third, id="matmul.square/n=7")
    plan = dataclasses.replace(load_plan(honest), cells=[first, changed, made_up])
    assert judge_cells(plan).troubles == ()
    ours = dataclasses.replace(plan.suite, content=suite_content())
    assert judge_cells(dataclasses.replace(plan, suite=ours)).troubles == (
        f"campaign.json: {second.id} is declared differently from its suite: role, priced",
        "campaign.json: matmul.square/n=7 is not a cell of the suite that it names",
    )
    assert judge_cells(dataclasses.replace(plan, suite=ours, cells=[first])).troubles == ()
    # Of a machine with six CPUs the plan says how many all of them are.
    bound = fit_cells(scenarios.cells(), 6)
    assert any(cell.params.get("cpus") == "all" for cell in bound)
    assert judge_cells(dataclasses.replace(plan, suite=ours, cells=bound)).troubles == ()
    (wrong,) = (cell for cell in bound if cell.id.startswith("tfdata.feed/cpus=2/part=step"))
    wrong = dataclasses.replace(wrong, cpus=3)
    (trouble,) = judge_cells(dataclasses.replace(plan, suite=ours, cells=[wrong])).troubles
    assert trouble.endswith("is declared differently from its suite: cpus")


def test_an_analysis_of_another_suite_is_told_from_one_that_was_changed(
    honest: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both don't follow; of the suite that measured itself nothing but a change explains it."""
    # An earlier suite did not have the field.
    edit("summary.json", "$.controls", lambda old: {n: v for n, v in old.items() if n != "twins"})(
        honest
    )
    pin_anew(honest)
    theirs = load_plan(honest).suite
    said = fail(check(honest))
    assert "summary.json: $.controls.twins: is missing" in said
    assert "? suite " in said
    assert f"{theirs.commit or theirs.version}"[:12] in said
    assert "check it with that one, or make the report anew with `make report`" in said
    monkeypatch.setattr(request, "identify_suite", lambda: theirs)
    said = fail(check(honest))
    assert "summary.json: $.controls.twins: is missing" in said
    assert "? suite " not in said


def test_which_suite_it_is_is_known_of_a_checkout_without_changes() -> None:
    commit, content = 40 * "a", 64 * "b"
    suite = SuiteIdentity(version="0.1.0", commit=commit, content=content)
    assert judge_suite(suite, suite) is None
    changed = dataclasses.replace(suite, commit=f"{commit}+")
    assert "commit aaaaaaaaaaaa with changes" in judge_suite(changed, changed).text
    unpacked = dataclasses.replace(suite, commit=None)
    assert judge_suite(unpacked, unpacked) is None
    assert "version 0.1.0 (bbbbbbbbbbbb) measured" in judge_suite(unpacked, suite).text
    assert "this is version 0.1.0 (bbbb" in judge_suite(suite, unpacked).text


def test_what_is_not_ours_is_left_alone_and_told(honest: Path, check: Check) -> None:
    (honest / "notes.txt").write_text("mine")
    heard = well(check(honest))
    assert "others        not looked at: notes.txt" in heard.out


def test_a_campaign_that_was_cut_off_is_honest(honest: Path, check: Check, shell: Shell) -> None:
    remove("cuda-03.json")(honest)
    edit("cpu-03.json", "$.invocation.status", "running")(honest)
    pin_anew(honest)
    lines = (honest / MANIFEST).read_text().splitlines(keepends=True)
    kept = [line for line in lines if "cpu-03.json" not in line]
    (honest / MANIFEST).write_text("".join(kept))
    shell.run("report", str(honest))
    assert check(honest).status == 0


def test_what_is_no_file_in_a_folder_of_ours_is_exit_5(honest: Path, check: Check) -> None:
    remove("cells.csv")(honest)
    os.mkfifo(honest / "cells.csv")
    complaint(check(honest), 5)


@pytest.mark.parametrize(
    "folder",
    sorted(path.parent for path in (ROOT / "results" / "samples").glob(f"**/{PLAN}")),
    ids=lambda path: path.name,
)
def test_a_committed_sample_follows_from_its_documents(folder: Path, check: Check) -> None:
    heard = check(folder)
    assert (heard.status, heard.out.count("✗")) == (0, 0)
