"""Estimates against closed forms, simulation and properties."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from suite.analysis.statistics.estimate import (
    TARGET_HALF_WIDTH,
    count_needed,
    estimate,
    reduce_invocation,
)
from suite.analysis.statistics.ratio import find_paired_ratio
from tests.flagging import codes

times = st.floats(min_value=1e-12, max_value=1e9)


def test_an_invocation_is_its_mean_but_for_stalls() -> None:
    assert reduce_invocation([3.0, 1.0, 2.0]) == 2.0
    assert reduce_invocation([1.0, 2.0, 3.0, 100.0]) == 2.0
    # Three times as long, and not for half a second; then for as long, over many calls.
    assert reduce_invocation([0.1, 0.1, 0.4]) == pytest.approx(0.2)
    assert reduce_invocation([0.1, 0.1, 0.4], calls=2) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="no median"):
        reduce_invocation([])


def test_the_interval_is_students_t_on_logs() -> None:
    values = [1.0, 1.1, 0.9, 1.05, 0.97]
    logs = [math.log(value) for value in values]
    low, high = stats.t.interval(
        0.95, len(logs) - 1, loc=statistics.mean(logs), scale=stats.sem(logs)
    )
    found = estimate(values)
    assert found.value == pytest.approx(statistics.geometric_mean(values))
    assert (found.low, found.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert (found.n, found.flags) == (5, ())


@pytest.mark.parametrize("values", [[2.0], [2.0, 2.1]])
def test_too_few_give_a_value_without_an_interval(values: list[float]) -> None:
    found = estimate(values)
    assert found.value == pytest.approx(statistics.geometric_mean(values))
    assert (found.low, found.high, codes(found.flags)) == (None, None, ["few-blocks"])


def test_no_spread_is_said() -> None:
    assert codes(estimate([0.1] * 7).flags) == ["no-spread"]
    assert codes(estimate([5e-324, 1e308, 5e-324]).flags) == ["too-wide"]


@pytest.mark.parametrize("spread", [0.0, 0.001, 0.02, 0.05, 0.08, 0.3, 2.0])
def test_so_many_values_are_needed_that_one_less_would_not_do(spread: float) -> None:
    """Held against the half-width of n values of that spread, by scipy's own quantiles."""

    def reach(n: int) -> float:
        return float(stats.t.ppf(0.975, n - 1)) * spread / math.sqrt(n)

    # Of -a, 0 and a the standard deviation is a.
    found = estimate([math.exp(-spread), 1.0, math.exp(spread)])
    needed = count_needed(found)
    assert needed is not None
    assert reach(needed) <= math.log(1 + TARGET_HALF_WIDTH)
    assert needed == 3 or reach(needed - 1) > math.log(1 + TARGET_HALF_WIDTH)
    assert (needed == 3) == (spread < 0.02)


def test_two_values_say_nothing_of_how_many_are_needed() -> None:
    assert count_needed(estimate([1.0, 1.1])) is None


@pytest.mark.parametrize("values", [[], [0.0], [-1.0]])
def test_impossible_values(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"positive|domain|measured"):
        estimate(values)


@given(st.lists(times, min_size=3, max_size=20), st.floats(min_value=1e-3, max_value=1e3))
def test_an_estimate_lies_in_its_interval_and_scales(values: list[float], factor: float) -> None:
    found = estimate(values)
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low <= found.value <= found.high < math.inf
    assert min(values) * 0.999 <= found.value <= max(values) * 1.001
    scaled = estimate([value * factor for value in values])
    assert scaled.value == pytest.approx(found.value * factor)
    assert scaled.low == pytest.approx(found.low * factor)


def test_ratios_are_paired_by_block() -> None:
    """A machine that is twice as slow in every second block does not widen the ratio."""
    base = {1: 1.0, 2: 2.0, 3: 1.0, 4: 2.0, 9: 5.0}
    other = {1: 0.5, 2: 1.0, 3: 0.5, 4: 1.0, 8: 5.0}
    found = find_paired_ratio(base, other)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
    assert found.n == 4
    assert find_paired_ratio({1: 1.0}, {2: 1.0}) is None
