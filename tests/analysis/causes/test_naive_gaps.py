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
    # An example: the starts are of 1,000, the fair step is of 512.
    fair = (machines.step_time(gpu, 512) - machines.step_time(CPU, 512)) / 512
    start = (gpu.start - CPU.start) / 1000
    shares = find(gpu)
    assert list_changes(shares[0]) == TRACED
    assert shares[0].share == pytest.approx(start / (find_asked(gpu) - fair), rel=0.02)
    assert sum(gone.share or 0.0 for gone in shares) == pytest.approx(1, abs=0.02)


def find_asked(gpu: Device) -> float:
    """The difference that the script sees, in seconds an example."""
    waterfalls = {
        waterfall.spot.arm: waterfall
        for waterfall in tell(gpu, cells=SLICES).waterfalls
        if not waterfall.spot.pinned
    }
    return waterfalls["cuda"].steps[0].value.value - waterfalls["cpu"].steps[0].value.value


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
