"""False verdicts, and slowdowns found, in whole tables of cells."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from suite.analysis.statistics.ratio import find_welch_ratio
from tests.bench.rates import contains, count, draw_values, judge_tables
from tests.fakes.hosts import HOSTS


@pytest.mark.parametrize("name", ["quiet", "typical"])
@pytest.mark.parametrize("blocks", [5, 10])
def test_a_table_of_a_hundred_cells_has_no_false_verdict(name: str, blocks: int) -> None:
    false, _ = judge_tables(HOSTS[name], tables=300, cells=100, blocks=blocks, slower=0.0)
    assert false.is_at_most(0.05), f"{name}, {blocks} blocks: {false}"


def test_a_slowdown_of_three_per_cent_is_found() -> None:
    _, found = judge_tables(HOSTS["typical"], tables=400, cells=60, blocks=10, slower=0.03)
    assert found.is_at_least(0.8), str(found)


def test_more_blocks_and_larger_slowdowns_are_found_more_often() -> None:
    rates = [
        judge_tables(HOSTS["typical"], tables=200, cells=60, blocks=blocks, slower=slower)[1].value
        for blocks, slower in ((5, 0.03), (10, 0.03), (10, 0.05))
    ]
    assert all(first < second for first, second in pairwise(rates))
    assert rates[-1] > 0.99


def test_drift_that_all_arms_share_makes_no_false_verdict() -> None:
    false, _ = judge_tables(HOSTS["drifting"], tables=100, cells=60, blocks=10, slower=0.0)
    assert false.is_at_most(0.1), str(false)


def test_welch_across_campaigns_errs_as_often_as_it_says() -> None:
    draw = np.random.default_rng(6)
    base = draw_values(HOSTS["typical"], draw, cells=4000, blocks=5)
    other = draw_values(HOSTS["quiet"], draw, cells=4000, blocks=10)
    outcomes = []
    for first, second in zip(base.tolist(), other.tolist(), strict=True):
        ratio = find_welch_ratio(first, second)
        assert ratio is not None
        outcomes.append(not contains(ratio, 1.0))
    rate = count(outcomes)
    assert rate.lies_within(0.03, 0.07), str(rate)
