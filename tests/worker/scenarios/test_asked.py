"""The waterfalls as declared: one change from a stage to the next, and work that can be compared."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from suite.cells.cell import Cell
from suite.worker import scenarios
from suite.worker.scenarios.asked import clones, dataset, fit, products, slices
from suite.worker.scenarios.asked.stages import Stage, find
from suite.worker.scenarios.matmul import square

CASES: dict[str, tuple[Stage[Any], ...]] = {
    "matmul": products.STAGES,
    "clone": clones.STAGES,
    "slices": slices.STAGES,
    "dataset": dataset.STAGES,
    "fit": fit.STAGES,
}
STEPS = [
    pytest.param(before, after, id=f"{case}: {before.name} → {after.name}")
    for case, stages in CASES.items()
    for before, after in itertools.pairwise(stages)
]

ASKED = [cell for cell in scenarios.cells() if cell.scenario == "asked"]
SQUARES = {
    cell.params["n"]: cell
    for cell in square.SQUARE.cells()
    if cell.id.endswith("/precision=fp32/operands=device/xla=off")
}


def differences(before: object, after: object) -> set[str]:
    assert type(before) is type(after)
    names = [one.name for one in fields(before)]  # type: ignore[arg-type]
    return {name for name in names if getattr(before, name) != getattr(after, name)}


@pytest.mark.parametrize(("before", "after"), STEPS)
def test_one_setting_and_no_more_changes_from_a_stage_to_the_next(
    before: Stage[Any], after: Stage[Any]
) -> None:
    assert len(differences(before.settings, after.settings)) == 1


@pytest.mark.parametrize("case", CASES)
def test_each_stage_says_what_is_new_in_at_most_eight_words(case: str) -> None:
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


def waterfalls() -> Iterator[tuple[str, list[Cell]]]:
    """Every waterfall of cells: those that differ in their stage only, in the stages' order."""

    def key(cell: Cell) -> tuple[Any, ...]:
        return (cell.case, *(value for axis, value in cell.params.items() if axis != "stage"))

    for name, cells in itertools.groupby(sorted(ASKED, key=lambda c: str(key(c))), key=key):
        order = [stage.name for stage in CASES[name[0]]]
        found = sorted(cells, key=lambda cell: order.index(str(cell.params["stage"])))
        if name[0] == "matmul" and name[-1] == "arm":
            found.append(SQUARES[name[1]])
        yield "/".join(map(str, name)), found


WATERFALLS = dict(waterfalls())


def test_the_waterfalls_are_these() -> None:
    stages = {
        name: [str(cell.params.get("stage", cell.case)) for cell in cells]
        for name, cells in WATERFALLS.items()
    }
    expected: dict[str, list[str]] = {}
    for on, warm in (("arm", "square"), ("cpu", "warm")):
        for n in (1, 10, 100, 500, 1000, 2000, 3000, 4000, 5000, 8000, 10000):
            expected[f"matmul/{n}/{on}"] = ["naive", "first-call-apart", warm]
        expected[f"clone/{on}"] = ["first", "again"] if on == "arm" else ["again"]
        expected[f"slices/{on}"] = [
            *("naive", "traced", "placed", "float32", "no-fetch", "device-data", "batch-512")
        ]
        expected[f"dataset/{on}"] = ["fetch", "no-fetch"]
        expected[f"fit/512/on/{on}"] = ["epoch-1", "epoch-2", "epoch-3", "steady"]
        expected[f"fit/512/off/{on}"] = ["epoch-1", "steady"]
        expected[f"fit/8/on/{on}"] = ["epoch-1", "steady"]
    assert stages == expected


@pytest.mark.parametrize("name", WATERFALLS)
def test_the_work_of_a_waterfall_can_be_compared(name: str) -> None:
    cells = WATERFALLS[name]
    assert len({cell.work.unit for cell in cells}) == 1
    amounts = {cell.work.amount for cell in cells}
    # The loop over slices ends at a batch of 512, of which there is one: seconds an example tell.
    assert amounts == ({1000.0, 512.0} if name.startswith("slices/") else {max(amounts)})


@pytest.mark.parametrize("cell", ASKED, ids=[cell.id for cell in ASKED])
def test_on_the_cpu_has_a_meaning_beside_a_gpu_only(cell: Cell) -> None:
    assert cell.asked_about
    assert list(cell.params)[-1] == "on"
    assert cell.arms == {"arm": [], "cpu": ["cuda"]}[str(cell.params["on"])]


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


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_the_shorter_profiles_take_first_and_last_steps(profile: Any) -> None:
    taken = [c for c in ASKED if profile in c.profiles and c.params["on"] == "arm"]
    assert [cell.id.removesuffix("/on=arm") for cell in taken] == [
        *(f"asked.matmul/n={n}/stage=naive" for n in (100, 1000, 4000)),
        *(f"asked.clone/stage={stage}" for stage in ("first", "again")),
        *(f"asked.slices/stage={stage}" for stage in ("naive", "batch-512")),
        *(f"asked.dataset/stage={stage}" for stage in ("fetch", "no-fetch")),
        *(f"asked.fit/stage={s}/batch=512/prefetch=on" for s in ("epoch-1", "steady")),
    ]
    for cell in taken:
        if cell.case == "matmul":
            assert profile in SQUARES[cell.params["n"]].profiles


def test_smoke_takes_two() -> None:
    taken = [c.id for c in ASKED if "smoke" in c.profiles and c.params["on"] == "arm"]
    assert taken == ["asked.matmul/n=100/stage=naive/on=arm", "asked.slices/stage=naive/on=arm"]


def test_an_unknown_stage_is_refused() -> None:
    assert find(slices.STAGES, "naive") == slices.NAIVE
    with pytest.raises(ValueError, match="no such stage: naïve"):
        find(slices.STAGES, "naïve")
