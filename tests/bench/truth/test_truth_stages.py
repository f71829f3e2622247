"""Slowdowns planted in stages of the asked cases: each shows in one step of its waterfall, and in no other.

What a later change takes away, the stage before it and all before that have.  So the same seconds a unit are
added to a stage and to all before it, on the GPU's arm of two that are alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import pytest

from suite.analysis.analyse import analyse
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.findings import Spot, Step, Waterfall
from suite.model import Document
from tests.bench.truth.campaigns import BASE, OTHER, Planted, make_documents, make_plan, plan_cells
from tests.bench.truth.tally import load
from tests.bench.truth.winners import same
from tests.fakes.hosts import QUIET
from tests.worker.scenarios.test_asked import CASES

ALSO = ("asked.*", "matmul.square/n=*/precision=fp32/operands=device/xla=off")
"""Every stage of every case, and the products that one of them ends at."""

HERE, RIVAL, PINNED = (
    Spot(arm=OTHER, pinned=False),
    Spot(arm=BASE, pinned=False),
    Spot(arm=OTHER, pinned=True),
)
"""Where the plants are, and where there are none."""

STEPS = [(case, place) for case, stages in CASES.items() for place in range(len(stages) - 1)]
"""Every stage of every case by its place, behind which there is one more."""
NAMES = [f"{case}: {CASES[case][place].name}" for case, place in STEPS]


@dataclass(frozen=True, kw_only=True)
class Plant:
    """What is added to a cell, in seconds: in each unit of its way, and in a call."""

    each: float
    call: float


@cache
def plant(place: int | None) -> Mapping[str, Plant]:
    """The plants by cell, of the stages up to this place of their cases; None: there are none.

    Each is as much as the first stage of the way takes.
    """
    cells = {cell.id: cell for cell in plan_cells(also=ALSO)}
    ways = [cell.way for cell in cells.values() if cell.way and not cell.way.on_cpu]
    plants: dict[str, Plant] = {}
    for way in ways if place is not None else ():
        # The variant of a case can begin later than the case does.
        late = len(CASES[way.name]) - len(way.stages)
        measured = [(late + at, stage.cell) for at, stage in enumerate(way.stages) if stage.cell]
        units = {name: 1.0 if way.by_call else cells[name].work.amount for _, name in measured}
        first = measured[0][1]
        each = same(cells[first], OTHER) / units[first]
        plants |= {
            name: Plant(each=each, call=each * units[name]) for at, name in measured if at <= place
        }
    return plants


def slow_down(document: Document, plants: Mapping[str, Plant]) -> Document:
    """The document in which each call of these cells took longer, if it is of the GPU's arm or its twin."""
    if document.invocation.arm not in {OTHER, f"{OTHER}-twin"}:
        return document
    cells = []
    for cell in document.cells:
        more = plants[cell.id].call if cell.id in plants else 0.0
        samples, warmup = (
            [more + seconds for seconds in some] for some in (cell.samples_s, cell.warmup_s)
        )
        cells.append(replace(cell, samples_s=samples, warmup_s=warmup))
    return replace(document, cells=cells)


@cache
def study(place: int | None) -> Analysis:
    """The analysis of a campaign with these plants; its noise is the same in all of them."""
    planted = Planted(
        seconds=same, host=QUIET, change=lambda document: slow_down(document, plant(place))
    )
    campaign = make_plan(seed=9, also=ALSO)
    return analyse(load(campaign, make_documents(campaign, planted)))


def list_waterfalls(place: int | None, case: str) -> list[Waterfall]:
    return [waterfall for waterfall in study(place).waterfalls if waterfall.name == case]


def find_carrier(place: int, waterfall: Waterfall) -> Step | None:
    """The step that takes a plant away: from the last stage that has it; None: there is none."""
    plants = plant(place) if waterfall.spot == HERE else {}
    return next(
        (
            after
            for before, after in pairwise(waterfall.steps)
            if before.cell in plants and after.cell not in plants
        ),
        None,
    )


@pytest.mark.parametrize(("case", "place"), STEPS, ids=NAMES)
def test_the_factor_of_a_step_tells_of_its_plant_and_those_behind_it_do_not(
    case: str, place: int
) -> None:
    """Those before it come closer to 1, since both of their stages have it.

    A variant that begins later than its case has none of the first stages' plants.
    """
    usual_ways, slowed_ways = list_waterfalls(None, case), list_waterfalls(place, case)
    # One script names no device, so that a GPU's arm has no half for its CPU.
    pinned = {PINNED} if case != "dropout" else set[Spot]()
    assert {waterfall.spot for waterfall in slowed_ways} == {HERE, RIVAL} | pinned
    for was, now in zip(usual_ways, slowed_ways, strict=True):
        assert [step.cell for step in now.steps] == [step.cell for step in was.steps]
        carrier = find_carrier(place, now)
        has_plant = now.spot == HERE and now.steps[0].cell in plant(place)
        assert (carrier is not None) == has_plant
        if carrier is None:
            assert now == was
            continue
        at = now.steps.index(carrier)
        usual, slowed = was.steps[at].factor, carrier.factor
        assert usual is not None
        assert slowed is not None
        assert (usual.high or 0.0) < (slowed.low or 0.0)
        assert now.steps[at + 1 :] == was.steps[at + 1 :]


@pytest.mark.parametrize(("case", "place"), STEPS, ids=NAMES)
def test_the_cause_is_the_one_that_the_step_removes(case: str, place: int) -> None:
    analysis = study(place)
    cells = {cell.id: cell for cell in analysis.cells}
    for waterfall in list_waterfalls(place, case):
        carrier = find_carrier(place, waterfall)
        if carrier is None:
            continue
        script = cells[waterfall.steps[0].cell]
        assert script.standing is not None
        assert script.standing.loses
        first = script.causes[0]
        (rule,) = carrier.rules or ("unknown",)
        assert first.rule == rule
        assert first.share == pytest.approx(1, abs=0.1)
        # What goes away behind the fair number is no part of how far the script is from it.
        cells_timed = [step.cell for step in waterfall.steps]
        if cells_timed.index(carrier.cell) > cells_timed.index(waterfall.fair):
            continue
        gone, *_ = analysis.find("gone", cell=waterfall.steps[0].cell, against=RIVAL.arm)
        assert gone.evidence[0].values["changes"] == carrier.changes
        assert gone.share == pytest.approx(1, abs=0.1)
