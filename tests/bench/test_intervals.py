"""Intervals cover the truth as often as they say, whatever the number of blocks."""

from __future__ import annotations

import numpy as np
import pytest

from suite.analysis.statistics.estimate import TARGET_HALF_WIDTH, count_needed
from tests.bench.rates import contains, count, draw_values, estimates, ratios
from tests.fakes.hosts import HOSTS

CAMPAIGNS = 5000
BLOCKS = (5, 7, 10, 20)


@pytest.mark.parametrize("name", ["quiet", "typical"])
def test_an_interval_covers_the_truth(name: str) -> None:
    draw = np.random.default_rng(1)
    values = draw_values(HOSTS[name], draw, cells=CAMPAIGNS, blocks=max(BLOCKS))
    for blocks in BLOCKS:
        rate = count([contains(value, 1.0) for value in estimates(values[:, :blocks])])
        assert rate.lies_within(0.93, 0.97), f"{name}, {blocks} blocks: {rate}"


@pytest.mark.parametrize("name", ["quiet", "typical"])
def test_a_ratios_interval_covers_the_truth(name: str) -> None:
    draw = np.random.default_rng(2)
    base, other = (
        draw_values(HOSTS[name], draw, cells=CAMPAIGNS, blocks=max(BLOCKS)) for _ in range(2)
    )
    for blocks in BLOCKS:
        covered = [
            contains(ratio, 3.0) for ratio in ratios(base[:, :blocks], 3 * other[:, :blocks])
        ]
        rate = count(covered)
        assert rate.lies_within(0.93, 0.97), f"{name}, {blocks} blocks: {rate}"
        # The bare paired test errs where the interval misses, so as often as it says.
        same = ratios(base[:, :blocks], other[:, :blocks])
        assert [ratio.p is not None and ratio.p >= 0.05 for ratio in same] == covered


@pytest.mark.parametrize("spread", [0.03, 0.06, 0.12])
def test_as_many_values_as_are_needed_are_known_to_five_per_cent_every_other_time(
    spread: float,
) -> None:
    draw = np.random.default_rng(4)
    first = np.exp([[-spread, 0.0, spread]])
    needed = count_needed(next(estimates(first)))
    assert needed is not None
    values = np.exp(draw.normal(0, spread, (4000, needed)))
    widths = [value.high / value.value for value in estimates(values) if value.high is not None]
    assert count([width <= 1 + TARGET_HALF_WIDTH for width in widths]).lies_within(0.45, 0.7)
