"""The waterfalls as declared: one change from a stage to the next, and work that can be compared."""

from __future__ import annotations

import itertools
from dataclasses import fields
from typing import Any

import pytest

from suite.worker import scenarios
from suite.worker.scenarios.asked import clones, dataset, fit, products, slices
from suite.worker.scenarios.asked.stages import Stage, find

CASES: dict[str, tuple[Stage[Any], ...]] = {
    "matmul": products.STAGES,
    "clone": clones.STAGES,
    "slices": slices.STAGES,
    "dataset": dataset.STAGES,
    "fit": fit.STAGES,
}
ASKED = [cell for cell in scenarios.cells() if cell.scenario == "asked"]
AMOUNTS = {cell.id: cell.work.amount for cell in scenarios.cells()}


@pytest.mark.parametrize("case", CASES)
def test_one_setting_changes_from_a_stage_to_the_next_and_is_what_its_words_say(case: str) -> None:
    for before, after in itertools.pairwise(CASES[case]):
        assert type(before.settings) is type(after.settings)
        names = [one.name for one in fields(before.settings)]
        changed = [n for n in names if getattr(before.settings, n) != getattr(after.settings, n)]
        assert len(changed) == 1, (before.name, after.name)
    for stage in CASES[case]:
        assert 1 <= len(stage.new.split()) <= 8
        assert stage.new[0].islower()
        assert stage.new[-1].isalnum()
        of_stage = [c for c in ASKED if (c.case, c.params["stage"]) == (case, stage.name)]
        assert of_stage
        assert all(stage.new in cell.question for cell in of_stage)


def test_what_happens_once_in_a_process_has_one_sample() -> None:
    once = {(cell.case, cell.params["stage"]) for cell in ASKED if cell.one_shot}
    assert once == {
        ("matmul", "naive"),
        ("clone", "first"),
        ("slices", "naive"),
        *(("fit", f"epoch-{epoch}") for epoch in (1, 2, 3)),
    }


def test_the_work_of_a_waterfall_can_be_compared() -> None:
    for cell in ASKED:
        if cell.way is None:
            continue
        amounts = {AMOUNTS[one.cell] for one in cell.way.stages if one.cell is not None}
        # The loop over slices ends at a batch of 512, of which there is one: seconds an example tell.
        assert amounts == ({1000.0, 512.0} if cell.case == "slices" else {cell.work.amount})


def test_what_is_pinned_to_the_cpu_stands_beside_the_same_on_the_arm() -> None:
    profiles = {cell.id: cell.profiles for cell in ASKED}
    for cell in ASKED:
        if cell.params["on"] == "arm":
            continue
        if cell.params["stage"] == "warm":
            naive = cell.id.replace("stage=warm", "stage=naive")
            assert cell.profiles == [name for name in profiles[naive] if name != "smoke"]
        else:
            assert profiles[cell.id.replace("on=cpu", "on=arm")] == cell.profiles


def test_an_unknown_stage_is_refused() -> None:
    assert find(slices.STAGES, "naive") == slices.NAIVE
    with pytest.raises(ValueError, match="no such stage: naïve"):
        find(slices.STAGES, "naïve")
