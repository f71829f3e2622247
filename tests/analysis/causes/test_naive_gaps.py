"""What of the difference that a script sees goes with which change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suite.analysis.result.findings import Finding
from tests.analysis.causes.test_insight import SLICES, tell
from tests.fakes import machines
from tests.fakes.hosts import QUIET
from tests.fakes.machines import CPU, GPU, Device

TRACED = ("tracing no longer timed",)


def find(gpu: Device, *, left_out: str = "", spread: float | None = None) -> list[Finding]:
    """What the changes of the script in slices take of the gap of the GPU's arm to the CPU's."""
    cells = [cell for cell in SLICES if cell.params["stage"] != left_out]
    host = QUIET if spread is None else replace(QUIET, between=spread)
    return tell(gpu, cells=cells, host=host).find("gone", against="cpu")


def list_changes(gone: Finding) -> tuple[str, ...]:
    changes = gone.evidence[0].values["changes"]
    assert isinstance(changes, tuple)
    return changes


def test_a_start_that_is_planted_is_the_share_that_goes_with_it() -> None:
    gpu = replace(GPU, start=1.0)
    # An example, of which there are 1,000; fair is the stage at which the timing is right.
    naive, fair = (find_apart(gpu, cell) for cell in (None, "asked.slices/stage=placed/on=arm"))
    start = (gpu.start - CPU.start) / 1000
    shares = find(gpu)
    assert list_changes(shares[0]) == TRACED
    assert shares[0].share == pytest.approx(start / (naive - fair), rel=0.02)
    assert sum(gone.share or 0.0 for gone in shares) == pytest.approx(1, abs=0.02)
    # What the script or its training is changed to is no part of how far its timing is off.
    kinds = {gone.evidence[0].values["effects"] for gone in shares}
    assert kinds == {("timing",)}


def find_apart(gpu: Device, cell: str | None) -> float:
    """The difference that the script sees, or a later stage of it, in seconds an example."""
    waterfalls = {
        waterfall.spot.arm: waterfall
        for waterfall in tell(gpu, cells=SLICES).waterfalls
        if not waterfall.spot.pinned
    }
    ours, theirs = (
        next(step for step in waterfalls[arm].steps if cell in {None, step.cell})
        for arm in ("cuda", "cpu")
    )
    return ours.value.value - theirs.value.value


@pytest.mark.parametrize(
    ("stages", "fair", "effects"),
    [
        ("naive traced placed float32 batch-512", "placed", ("timing",)),
        ("naive traced float32 no-fetch batch-512", "float32", ("timing", "script")),
        ("naive device-data batch-512", "device-data", ("timing", "script")),
        # Training in another batch is other work, and says nothing of how far the script is off.
        ("naive batch-512", None, ()),
        ("naive traced batch-512", None, ()),
        # What is left to correct of the timing was not measured.
        ("naive traced", None, ()),
        # Nothing is.
        ("placed float32 batch-512", None, ()),
    ],
)
def test_a_script_is_held_to_the_end_of_its_timing_at_its_own_batch(
    stages: str, fair: str | None, effects: tuple[str, ...]
) -> None:
    cells = [cell for cell in SLICES if cell.params["stage"] in stages.split()]
    gpu = replace(GPU, start=1.0)
    analysis = tell(gpu, cells=cells)
    gaps = analysis.find("gap", against="cpu")
    assert bool(gaps) == bool(fair)
    for gap in gaps:
        assert gap.evidence[1].values["effects"] == effects
        times = [
            machines.tell_truth({"cpu": CPU, "cuda": gpu})(cell, arm)
            for cell in cells
            for arm in ("cpu", "cuda")
            if (cell.params["stage"], cell.params["on"]) == (fair, "arm")
        ]
        assert gap.beside
        assert gap.beside.value == pytest.approx(times[1] / times[0], rel=0.03)
    for waterfall in analysis.waterfalls:
        of_fair = [step for step in waterfall.steps if step.cell == waterfall.fair]
        assert bool(of_fair) == (bool(fair) or stages.startswith("placed"))
        assert all(of_fair[0].effects == effects for _ in gaps)


def test_a_stage_without_a_number_hands_its_change_to_the_next() -> None:
    first, second = list_changes(find(replace(GPU, start=1.0), left_out="traced")[0])
    assert first == TRACED[0]
    assert second


def test_what_noise_explains_is_no_share() -> None:
    shares = {list_changes(gone) for gone in find(replace(GPU, start=1.0), spread=0.2)}
    assert TRACED in shares
    assert len(shares) < len(machines.STAGES) - 1


def test_where_both_ends_are_as_far_apart_nothing_lies_between() -> None:
    assert find(replace(CPU)) == []
