"""Habits that cost most: each has its remedy among the recommendations of a standard campaign on a CPU
alone, where it helps and nowhere else."""

from __future__ import annotations

from functools import cache

import pytest

from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Cell
from suite.worker import scenarios
from tests import synthetic
from tests.fakes.hosts import QUIET
from tests.rendering import render_markdown, study

STEP = "mlp.train/net=A/batch=32/data=device/precision=fp32/execution={}"
RETRACED = "mlp.retrace/varies={}/traced={}/batch=32"
SOURCE = "tfdata.source/source={}/batch=512/prefetch=on"
FED = "tfdata.triple/pipeline={}/part=together/batch=512"
ASKED = "mlp.infer/batch=1/call={}"

REMEDIES = (
    (STEP.format("eager"), STEP.format("graph")),
    (RETRACED.format("number", "anew"), RETRACED.format("number", "once")),
    (RETRACED.format("shape", "anew"), RETRACED.format("shape", "once")),
    (SOURCE.format("generator"), SOURCE.format("slices")),
    (SOURCE.format("generator"), SOURCE.format("chunks")),
    (FED.format("generator"), FED.format("parallel")),
    (ASKED.format("predict"), ASKED.format("on_batch")),
    (ASKED.format("predict"), ASKED.format("graph_numpy")),
)
"""What people do, and what to do instead: cells of the profile standard."""

HABITS = {habit for habit, _ in REMEDIES}
CELLS = [
    cell
    for cell in scenarios.cells()
    if "standard" in cell.profiles and cell.id in HABITS | {remedy for _, remedy in REMEDIES}
]


@cache
def measure(times: float) -> Analysis:
    """A campaign in which each habit takes so many times as long as its remedy."""

    def truth(cell: Cell, _: str) -> float:
        return 2e-3 * (times if cell.id in HABITS else 1.0)

    campaign = synthetic.make_campaign(arms=["cpu"], cells=CELLS, profile="standard")
    return study(campaign, synthetic.make_documents(campaign, truth=truth, host=QUIET))


@pytest.mark.parametrize(("habit", "remedy"), REMEDIES)
def test_a_habit_has_its_remedy_where_it_costs_something_and_else_none(
    habit: str, remedy: str
) -> None:
    (change,) = measure(50.0).find("change", cell=habit, at=remedy)
    assert change.verdict == "faster"
    assert change.number.value == pytest.approx(50.0, rel=0.1)
    assert not measure(0.5).find("change", cell=habit, at=remedy, verdict="faster")


def test_the_report_says_what_to_do_instead() -> None:
    report = render_markdown(measure(50.0))
    for words in ("a tensor instead of a Python number", "slices of arrays instead of a generator"):
        assert words in report
