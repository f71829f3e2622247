"""The derived files of committed campaigns: byte for byte, but for a last digit of a raw number.

``UPDATE_GOLDEN=1 pytest tests/report/test_golden.py`` writes what is derived anew;
``UPDATE_GOLDEN=documents`` makes the made-up documents anew first.  Read the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from suite.model import Campaign, Document, Excluded, container_seconds
from suite.report.produce import collate
from tests import synthetic

GOLDEN = Path(__file__).parents[1] / "golden"
DERIVED = ("summary.json", "report.md", "cells.csv")

Made = tuple[Campaign, list[Document]]


def make_two_arms() -> Made:
    """A campaign as it should be, but for a killed container and a type that the CPU lacks."""
    cells = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "mlp", "overhead"}]
    campaign = synthetic.make_campaign(blocks=3, cells=cells)
    tf32 = next(one.id for one in cells if one.params.get("precision") == "tf32")
    documents = [
        synthetic.lose_cell(one, tf32, "skipped", "this processor has no TF32")
        if one.invocation.arm == "cpu"
        else one
        for one in synthetic.make_documents(campaign, samples=3)
    ]
    step = next(one.id for one in cells if one.scenario == "mlp")
    documents[-1] = synthetic.kill_container(documents[-1], step, "killed by SIGKILL")
    return time_it(campaign, documents), documents


def make_one_arm() -> Made:
    """A short campaign on a machine without engine and GPU."""
    campaign = synthetic.make_campaign(
        arms=["cpu"], blocks=2, cells=synthetic.make_cells()[:3], profile="quick"
    )
    campaign = replace(campaign, not_run={"cuda": "this machine has no NVIDIA GPU"})
    documents = synthetic.make_documents(campaign, samples=3, isolation="none")
    return time_it(campaign, documents), documents


def make_troubled() -> Made:
    """Whatever can go wrong: different results, a changed image, a repeat, cells not tried."""
    cells = synthetic.make_cells()
    campaign = synthetic.make_campaign(blocks=4, cells=cells)
    wrong, excluded, killed = cells[1].id, cells[2].id, cells[3].id
    documents = []
    for one in synthetic.make_documents(campaign, samples=3, calibration=False):
        document = one
        if one.invocation.arm == "cuda":
            check = replace(one.cells[1].check or pytest.fail("no check"), value=41.0)
            document = synthetic.change_cell(one, wrong, check=check, labels=["dispatch-bound"])
            document = synthetic.lose_cell(document, killed, "failed", "exit code 137")
        document = replace(document, cells=[c for c in document.cells if c.id != excluded])
        if one.invocation.block < 4:
            documents.append(document)
    image = replace(synthetic.make_image("cpu"), content="e" * 64)
    second = documents[1]
    repeat = replace(second, invocation=replace(second.invocation, repeat=1, image=image))
    stopped = replace(second, invocation=replace(second.invocation, status="interrupted"))
    documents[1:2] = [stopped, repeat]
    last = synthetic.lose_cell(documents[-1], cells[4].id, "pending", None)
    documents[-1] = replace(
        last,
        facts={
            **last.facts,
            "gpu.0.uuid": "GPU-01234567-89ab-cdef-0123-456789abcdef",
            "cpu.model": "<b>|`[Made](up)` *Processor* 9000\n# not a heading",
        },
        invocation=replace(last.invocation, status="running", ended=None),
    )
    campaign = replace(
        campaign,
        excluded={"cuda": {excluded: Excluded(outcome="skipped", reason="would take 90 s here")}},
        stopped="the budget of 20 min was spent",
    )
    return time_it(campaign, documents), documents


def time_it(campaign: Campaign, documents: list[Document]) -> Campaign:
    """The campaign with the container time that its documents add up to."""
    actual = sum(map(container_seconds, documents))
    prediction = replace(campaign.prediction, before_s=150.0, calibrated_s=140.0, actual_s=actual)
    return replace(campaign, prediction=replace(prediction, corrected_s=[138.0]))


CASES: dict[str, Callable[[], Made]] = {
    "two-arms": make_two_arms,
    "one-arm": make_one_arm,
    "troubled": make_troubled,
}


@pytest.mark.parametrize("name", CASES)
def test_derived_files_are_the_committed_ones(name: str) -> None:
    folder = GOLDEN / name
    update = os.environ.get("UPDATE_GOLDEN")
    if update == "documents":
        for path in folder.glob("*.json"):
            path.unlink()
        synthetic.write_campaign(folder, *CASES[name]())
    files = collate(folder).files
    if update:
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
    assert tuple(files) == DERIVED
    for file, text in files.items():
        committed = (folder / file).read_text(encoding="utf-8")
        assert shape(text) == shape(committed), f"{name}/{file}"
        assert numbers(text) == pytest.approx(numbers(committed), rel=1e-9), f"{name}/{file}"


LONG = re.compile(r"-?\d+\.\d{9,}(?:e-?\d+)?")
"""A number that was not rounded for people: NumPy releases differ in its last digits."""


def shape(text: str) -> str:
    return LONG.sub("#", text)


def numbers(text: str) -> list[float]:
    return [float(found) for found in LONG.findall(text)]


@pytest.mark.parametrize("name", CASES)
def test_every_golden_campaign_says_that_it_is_made_up(name: str) -> None:
    report = (GOLDEN / name / "report.md").read_text(encoding="utf-8")
    assert report.splitlines()[0].count("SIMULATED") == 1
    assert report.count("**SIMULATED") >= report.count("Table: ")
