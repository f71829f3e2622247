"""Which samples waited: series whose truth is known, on both clocks."""

from __future__ import annotations

import math
import random

import pytest

from suite.worker.loop.disturbed import BUSY, COMPUTED, FEWEST, LONGER, SPREADS, find_disturbed

QUIET = [1.0 + 0.01 * (n % 5) for n in range(40)]


def change(series: list[float], **at: float) -> list[float]:
    """The series with other values in these places."""
    return [at.get(f"_{index}", value) for index, value in enumerate(series)]


@pytest.mark.parametrize(
    ("walls", "cpus", "indices"),
    [
        pytest.param(QUIET, QUIET, [], id="nothing"),
        pytest.param(change(QUIET, _3=2.0, _9=1.3), QUIET, [3, 9], id="waited"),
        pytest.param(change(QUIET, _3=2.0), change(QUIET, _3=2.0), [], id="computed more"),
        pytest.param(change(QUIET, _3=2.0), change(QUIET, _3=1.5), [], id="computed half of it"),
        pytest.param(change(QUIET, _3=2.0), change(QUIET, _3=1.2), [3], id="waited for most of it"),
        pytest.param(change(QUIET, _3=1.1), QUIET, [], id="hardly longer"),
        # Two threads on two CPUs, and one thread that sleeps for half of the time.
        pytest.param(change(QUIET, _3=2.0), [2 * s for s in QUIET], [3], id="two threads"),
        pytest.param(change(QUIET, _3=2.0), [0.5 * s for s in QUIET], [], id="waits by itself"),
        pytest.param(change(QUIET, _3=2.0), [0.0] * 40, [], id="no clock"),
        # A cell that is as uneven by itself has no sample that stands out.
        pytest.param([1.0, 1.5, 2.0, 2.5] * 10, [1.5] * 40, [], id="uneven"),
        pytest.param([1.0] * (FEWEST - 1) + [2.0], [1.0] * FEWEST, [FEWEST - 1], id="enough"),
        pytest.param([1.0] * (FEWEST - 2) + [2.0], [1.0] * (FEWEST - 1), [], id="too few"),
    ],
)
def test_samples_that_waited_are_found(
    walls: list[float], cpus: list[float], indices: list[int]
) -> None:
    assert find_disturbed(walls, cpus) == indices
    # Whatever the unit.
    assert find_disturbed([1e-6 * s for s in walls], [1e-6 * s for s in cpus]) == indices


@pytest.mark.parametrize("spread", [0.005, 0.02, 0.05, 0.2])
def test_noise_of_the_work_itself_is_not_taken_for_waiting(spread: float) -> None:
    draw = random.Random(7)
    walls = [math.exp(draw.gauss(0, spread)) for _ in range(1000)]
    computed = [wall * math.exp(draw.gauss(0, 0.01)) for wall in walls]
    assert find_disturbed(walls, computed) == []
    # Where it waits for its own threads as evenly as noise is, the ends of that are taken for it.
    assert len(find_disturbed(walls, [1.0] * 1000)) <= 30


def test_the_limits_are_those_that_are_told() -> None:
    """The decision page and the method have them."""
    assert (LONGER, SPREADS, COMPUTED, BUSY, FEWEST) == (0.20, 4.0, 0.25, 0.9, 8)
