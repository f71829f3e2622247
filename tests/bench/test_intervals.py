"""Intervals cover the truth as often as they say, whatever the number of blocks and the looks."""

from __future__ import annotations

import numpy as np
import pytest

from suite.analysis.statistics.estimate import TARGET_HALF_WIDTH, count_needed
from suite.analysis.statistics.stopping import assess
from suite.host.campaign import plan
from tests.bench.rates import Rate, contains, count, draw_values, estimates, ratios
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


def cover_with_looks(name: str, *, cells: int, campaigns: int, fewest: int, most: int) -> Rate:
    """Coverage of the ratio in campaigns of so many cells that end when they are precise enough."""
    draw = np.random.default_rng(3)
    hits = []
    for _ in range(campaigns):
        base, other = (draw_values(HOSTS[name], draw, cells=cells, blocks=most) for _ in range(2))
        blocks = fewest
        while True:
            arms = zip(estimates(base[:, :blocks]), estimates(other[:, :blocks]), strict=True)
            pairs = list(ratios(base[:, :blocks], other[:, :blocks]))
            cells_so_far = zip(arms, ([ratio] for ratio in pairs), strict=True)
            if blocks == most or assess(cells_so_far).enough:
                hits += [contains(ratio, 1.0) for ratio in pairs]
                break
            blocks = plan.add_blocks(blocks, most)
    return count(hits)


@pytest.mark.parametrize("name", ["quiet", "typical"])
@pytest.mark.parametrize(("fewest", "most"), [(5, 10), (10, 20), (5, 20), (7, 20)])
def test_looking_does_not_cost_coverage(name: str, fewest: int, most: int) -> None:
    rate = cover_with_looks(name, cells=60, campaigns=60, fewest=fewest, most=most)
    assert rate.lies_within(0.93, 0.97), f"{name}, {fewest} to {most} blocks: {rate}"


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


def test_a_campaign_of_one_cell_is_the_worst_case_for_looks() -> None:
    """The cell's own spread decides when it stops; even so it loses at most two points."""
    rate = cover_with_looks("typical", cells=1, campaigns=4000, fewest=5, most=20)
    assert rate.lies_within(0.92, 0.97), str(rate)
