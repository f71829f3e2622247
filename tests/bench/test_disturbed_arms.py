"""Samples that waited are measured again on one arm alone: what that does to a value and to verdicts.

Made-up invocations whose neighbours, in bursts, take the CPU from some samples: these take longer and
compute no more.  Recorded ones gave the same picture (docs/decisions/0066).
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from suite.analysis.statistics.ratio import find_paired_ratio
from suite.worker.loop.measure import Loop

SAMPLE_S = 0.012
MARGIN = 0.02


@dataclass
class Machine:
    """A processor with a clock for all time, and one for what the process computes; seconds.

    ``burst_s`` is how long neighbours are busy, ``rest_s`` how long they are not, both on average; a call
    that they meet takes up to twice as long.  ``noise`` is of the work itself, ``waits`` of its own waiting.
    """

    seed: int
    burst_s: float = 0.0
    rest_s: float = 1.0
    noise: float = 0.02
    waits: float = 0.0
    now: float = 0.0
    computed: float = 0.0
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.bursts = self._plan()
        self.begins, self.ends = next(self.bursts)

    def _plan(self) -> Iterator[tuple[float, float]]:
        at = 0.0
        while True:
            at += self.draw.expovariate(1 / self.rest_s)
            ends = at + (self.draw.expovariate(1 / self.burst_s) if self.burst_s else 0.0)
            yield at, ends
            at = ends

    def step(self) -> None:
        """One call, which is one sample."""
        computes = SAMPLE_S * math.exp(self.draw.gauss(0, self.noise))
        waits = SAMPLE_S * abs(self.draw.gauss(0, self.waits))
        while self.ends < self.now:
            self.begins, self.ends = next(self.bursts)
        if self.begins <= self.now:
            waits += computes * self.draw.uniform(0.2, 1.0)
        self.now += computes + waits
        self.computed += computes

    def measure(self, *, again: bool) -> float:
        """The value of an invocation, the mean of its samples."""
        loop = Loop(
            clock=lambda: round(1e9 * self.now),
            cpu_clock=lambda: round(1e9 * self.computed),
            fence=lambda: None,
        )
        timing = loop.measure(self.step, 1, warmup_s=0.1, measure_s=1.5, computes=again)
        return statistics.fmean(timing.samples_s)


def compare(seed: int, *, again: bool, **burst: float) -> tuple[float, bool]:
    """The ratio of two equal arms over five blocks, and whether it is taken for a difference; the second
    one has the neighbours."""
    draw = random.Random(seed)
    quiet, busy = {}, {}
    for block in range(5):
        level = [math.exp(draw.gauss(0, 0.01)) for _ in range(2)]
        quiet[block] = level[0] * Machine(seed=draw.getrandbits(32)).measure(again=again)
        busy[block] = level[1] * Machine(seed=draw.getrandbits(32), **burst).measure(again=again)
    ratio = find_paired_ratio(quiet, busy)
    assert ratio is not None
    assert ratio.p is not None
    return ratio.value, ratio.p < 0.05 and abs(ratio.value - 1) > MARGIN


def study(campaigns: int, *, again: bool, **burst: float) -> tuple[float, float]:
    """The bias of the ratio, and the share of campaigns in which equal arms were told apart."""
    results = [compare(seed, again=again, **burst) for seed in range(campaigns)]
    bias = statistics.fmean(math.log(ratio) for ratio, _ in results)
    return bias, statistics.fmean(told for _, told in results)


MANY = pytest.param(200, marks=pytest.mark.method)


@pytest.mark.parametrize("campaigns", [12, MANY])
def test_neighbours_of_one_arm_make_less_of_a_difference(campaigns: int) -> None:
    burst = {"burst_s": 0.1, "rest_s": 0.6}
    before, wrong_before = study(campaigns, again=False, **burst)
    after, wrong_after = study(campaigns, again=True, **burst)
    assert before > 0.04
    assert abs(after) < 0.02
    assert wrong_after < wrong_before
    assert wrong_before > 0.3
    assert wrong_after <= 0.1


@pytest.mark.parametrize("waits", [0.0, 0.05, 0.10])
@pytest.mark.parametrize("campaigns", [12, MANY])
def test_where_nobody_disturbs_the_value_stays(campaigns: int, waits: float) -> None:
    """Also where the work waits by itself: then its own spread is as wide."""
    shift = [
        math.log(
            Machine(seed=seed, waits=waits).measure(again=True)
            / Machine(seed=seed, waits=waits).measure(again=False)
        )
        for seed in range(campaigns)
    ]
    assert abs(statistics.fmean(shift)) < 0.005
