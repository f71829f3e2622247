"""The waterfalls as declared: one change from a stage to the next, and work that can be compared."""

from __future__ import annotations

import itertools
from dataclasses import asdict, replace

import pytest

from suite.cells.cell import Step
from suite.cells.changes import find_effect
from suite.cells.traits import EFFECTS
from suite.worker import scenarios
from suite.worker.scenarios.scripts import clones, dropout, fit, loops, products
from suite.worker.scenarios.scripts.waterfall import Waterfall

WATERFALLS = (
    *(products.WATERFALL, clones.WATERFALL, loops.SLICES, loops.DATASET, fit.WATERFALL),
    dropout.WATERFALL,
)
CASES = {one.case: one.stages for one in WATERFALLS}
ASKED = [cell for cell in scenarios.cells() if cell.scenario == "asked"]
BY_ID = {cell.id: cell for cell in scenarios.cells()}
AMOUNTS = {cell.id: cell.work.amount for cell in scenarios.cells()}


@pytest.mark.parametrize("waterfall", WATERFALLS, ids=lambda one: one.case)
def test_one_setting_changes_from_a_stage_to_the_next_and_is_what_its_words_say(
    waterfall: Waterfall,
) -> None:
    every = [asdict(waterfall.settings(stage.name)) for stage in waterfall.stages]
    for before, after in itertools.pairwise(every):
        assert len(after.items() - before.items()) == 1, (before, after)
    for stage in waterfall.stages:
        of_stage = [c for c in ASKED if (c.case, c.params["stage"]) == (waterfall.case, stage.name)]
        assert of_stage
        assert all(stage.new.format(**cell.params) in cell.question for cell in of_stage)


def test_every_change_is_of_one_kind_which_its_words_alone_tell() -> None:
    kinds: dict[str, set[str]] = {}
    for cell in ASKED:
        for step in cell.way.stages[1:] if cell.way else ():
            kinds.setdefault(step.change, set()).add(step.effect)
            # An older plan may say otherwise, or nothing.
            assert find_effect(replace(step, effect="script")) == step.effect
    assert all(len(effects) == 1 for effects in kinds.values()), kinds
    assert {effect for effects in kinds.values() for effect in effects} == set(EFFECTS)
    # Of a change that is none of the suite's a plan is what there is.
    for effect in EFFECTS:
        step = Step(cell=None, change="a word that nobody uses", removes=None, effect=effect)
        assert find_effect(step) == effect


@pytest.mark.parametrize("waterfall", WATERFALLS, ids=lambda waterfall: waterfall.case)
def test_the_fair_number_is_of_the_scripts_own_batch(waterfall: Waterfall) -> None:
    """No change of the timing comes behind one that changes the training, which a fair number can't be of."""
    for way in (cell.way for cell in ASKED if cell.case == waterfall.case and cell.way):
        effects = [step.effect for step in way.stages[1:]]
        assert "timing" not in list(
            itertools.dropwhile(lambda effect: effect != "training", effects)
        )


def test_what_happens_once_in_a_process_has_one_sample() -> None:
    once = {(cell.case, cell.params["stage"]) for cell in ASKED if cell.one_shot}
    assert once == {
        *(("matmul", stage) for stage in ("script", "session", "eager", "naive")),
        *(("clone", stage) for stage in ("script", "first")),
        *(("slices", stage) for stage in ("script", "trained", "built", "closure", "naive")),
        *(("dataset", stage) for stage in ("script", "trained", "built", "closure")),
        *(("dataset", stage) for stage in ("traced", "placed")),
        *(("fit", stage) for stage in ("script", "trained", "placed")),
        *(("fit", f"epoch-{epoch}") for epoch in (1, 2, 3)),
        *(("dropout", stage) for stage in ("script", "epoch-2")),
    }


def test_each_case_begins_with_its_script_in_a_process_of_its_own() -> None:
    scripts = [cell for cell in ASKED if cell.process is not None]
    printed = {waterfall.case: waterfall.printed for waterfall in WATERFALLS}
    assert scripts == [cell for cell in ASKED if cell.params["stage"] in printed[cell.case]]
    for cell in scripts:
        assert cell.process == cell.name
        assert cell.one_shot
        # Of three epochs the first is where the way begins.
        assert (cell.way is None) == (cell.params.get("epoch", 1) > 1)
        if cell.way is not None:
            assert BY_ID[cell.way.stages[0].cell or ""].params["stage"] == "script"
            assert cell.way.stages[0].change == "as asked"


def test_the_work_of_a_waterfall_can_be_compared() -> None:
    for cell in ASKED:
        if cell.way is None:
            continue
        amounts = {AMOUNTS[one.cell] for one in cell.way.stages if one.cell is not None}
        # An example's seconds tell: the loop over slices ends at a batch of 512, of which there is one, and
        # those of epochs at steps instead of an epoch.
        mixed = {
            "slices": {1000.0, 512.0},
            "dataset": {100_000.0, 32.0},
            "dropout": {250_000.0, 500.0, 5000.0},
        }
        assert amounts == mixed.get(cell.case, {cell.work.amount})
