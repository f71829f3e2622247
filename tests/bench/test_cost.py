"""What the scripts cost a campaign, each of which has a container of its own: by the committed samples."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import pytest

from suite.analysis.documents.read import load_campaign
from suite.fingerprint import SUITE
from suite.model import Document, container_seconds, lived_seconds

SAMPLES = sorted((SUITE.parent / "results" / "samples").glob("*-standard"))

GOAL_S = 45.0
"""The most that the scripts of the profile standard are to take of a block and arm, on two CPUs."""


def add_up(document: Document) -> dict[str, float]:
    """The container seconds of an invocation's scripts, by their names."""
    spent: dict[str, float] = {}
    for one in document.invocation.containers:
        if one.process is not None:
            spent[one.process] = spent.get(one.process, 0.0) + lived_seconds(document, one)
    return spent


@pytest.mark.parametrize("folder", SAMPLES, ids=lambda path: path.name)
def test_the_scripts_of_a_block_and_arm_take_what_they_may(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = [one for one in load_campaign(folder).documents if one.invocation.block >= 1]
    costs = list(map(add_up, blocks))
    assert any(costs)
    assert {one.facts["cpu.usable"] for one in blocks} == {2}
    each = statistics.fmean(sum(cost.values()) for cost in costs)
    whole = statistics.fmean(map(container_seconds, blocks))
    names = sorted({name for cost in costs for name in cost})
    means = {name: statistics.fmean(cost.get(name, 0.0) for cost in costs) for name in names}
    parts = ", ".join(f"{name} {mean:.1f} s" for name, mean in means.items())
    with capsys.disabled():
        sys.stdout.write(
            f"\n{folder.name}: scripts take {each:.1f} s a block and arm ({parts}) of "
            f"{whole:.0f} s\n"
        )
    assert each <= GOAL_S
