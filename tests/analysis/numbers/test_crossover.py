"""Where a sweep crosses over, and the answers that are no size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suite.analysis.numbers.crossover import Point, find_crossover, find_sweeps, place_points
from suite.analysis.numbers.ratio import compare
from suite.analysis.result.numbers import Ratio
from suite.cells.cell import Work
from tests import synthetic
from tests.fakes.hosts import TYPICAL, draw_levels


def points(*ratios: float, half: float = 1.1) -> list[Point]:
    """At sizes 10, 100, …; the interval reaches by a factor to either side."""
    return [
        Point(size=10.0**i, ratio=one, low=one / half, high=one * half)
        for i, one in enumerate(ratios, 1)
    ]


def test_a_crossing_lies_where_the_line_passes_one() -> None:
    found = find_crossover(points(10, 0.1))
    assert (found.answer, found.rising) == ("crosses", True)
    assert found.size == pytest.approx(math.sqrt(1000))
    # Each end of the interval is off by 1.1 on a line of two decades in ratio a decade in size.
    off = 10 ** (math.log10(1.1) / 2)
    assert found.low == pytest.approx(math.sqrt(1000) / off)
    assert found.high == pytest.approx(math.sqrt(1000) * off)


def test_sizes_that_do_not_tell_belong_to_the_range() -> None:
    found = find_crossover(points(10, 1.05, 0.96, 0.1))
    assert found.low is not None
    assert found.high is not None
    assert 10 < found.low < 100
    assert 1000 < found.high < 10000
    assert found.size is not None
    assert 100 < found.size < 1000


@pytest.mark.parametrize(
    ("ratios", "answer"),
    [
        ((0.5, 0.2, 0.1), "always"),
        ((5, 2, 1.5), "never"),
        ((5, 0.5, 5), "not monotone"),
        ((0.5, 1.0, 5, 0.2), "not monotone"),
        ((1.0, 1.01, 0.99), "unclear"),
        ((1.0, 0.5, 1.0), "unclear"),
        ((5,), "no answer"),
        ((), "no answer"),
    ],
)
def test_answers_that_are_no_size(ratios: tuple[float, ...], answer: str) -> None:
    found = find_crossover(points(*ratios))
    assert found.answer == answer
    assert (found.low, found.high, found.size) == (None, None, None)
    assert bool(found.reason) == (answer not in {"always", "never"})


@pytest.mark.parametrize(
    ("ratios", "low", "high", "rising"),
    [
        ((5, 2, 1.0), True, False, True),
        ((1.0, 0.5, 0.1), False, True, True),
        ((0.1, 0.5, 1.0), True, False, False),
        ((1.0, 2, 5), False, True, False),
    ],
)
def test_a_sweep_that_ends_too_soon_leaves_its_range_open(
    ratios: tuple[float, ...], low: bool, high: bool, rising: bool
) -> None:
    found = find_crossover(points(*ratios))
    assert found.answer == "crosses"
    assert (found.low is not None, found.high is not None, found.rising) == (low, high, rising)


@given(st.lists(st.floats(min_value=0.01, max_value=100), min_size=2, max_size=8))
def test_the_arms_exchanged_give_the_same_range(ratios: list[float]) -> None:
    there = find_crossover(points(*ratios))
    back = find_crossover(points(*(1 / one for one in ratios)))
    names = {"always": "never", "never": "always"}
    assert back.answer == names.get(there.answer, there.answer)
    for first, second in ((there.low, back.low), (there.high, back.high)):
        assert first == (second if second is None else pytest.approx(second, rel=1e-6))
    if there.low is not None and there.high is not None:
        assert there.low <= there.high


def test_sweeps_are_the_cells_that_differ_in_one_axis() -> None:
    cells = synthetic.make_cells()
    sweeps = find_sweeps(cells)
    assert [(one.case, one.axis, len(one.cells)) for one in sweeps] == [
        ("square", "n", 3),
        ("train", "batch", 2),
    ]
    assert [cell.params["n"] for cell in sweeps[0].cells] == [10, 100, 1000]
    assert sweeps[0].fixed["precision"] == "fp32"
    work = Work(amount=1, unit="call")
    zero = synthetic.make_cell("matmul", "square", {"n": 0}, work, sweep="n")
    assert find_sweeps([zero, zero]) == []


def test_a_size_without_an_interval_is_left_out() -> None:
    sweep = find_sweeps(synthetic.make_cells())[0]
    with_interval = Ratio(value=2, low=1.9, high=2.1, n=5)
    without = Ratio(value=2, low=None, high=None, n=2)
    ratios = {sweep.cells[0].id: with_interval, sweep.cells[1].id: without}
    assert [one.size for one in place_points(sweep, ratios)] == [10]


SIZES = (1, 10, 32, 64, 100, 128, 256, 500, 1000, 2000, 3000, 4000, 5000, 8000, 10000)


@pytest.mark.parametrize("blocks", [5, 10])
def test_over_100_seeds_the_range_contains_the_truth(blocks: int) -> None:
    """A GPU of 200 µs a call and 10 TFLOP/s against a CPU of 20 µs and 100 GFLOP/s."""
    calls, rates = np.array([[20e-6], [200e-6]]), np.array([[1e11], [1e13]])
    truth = ((calls[1] - calls[0]) / 2 / (1 / rates[0] - 1 / rates[1])).item() ** (1 / 3)
    seconds = calls + 2 * np.array(SIZES, dtype=float) ** 3 / rates
    hits = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        arms = [
            np.exp(np.log(row)[:, np.newaxis] + draw_levels(TYPICAL, draw, cells=15, blocks=blocks))
            for row in seconds
        ]
        ratios = [
            compare(*(dict(enumerate(arm[index].tolist())) for arm in arms))
            for index in range(len(SIZES))
        ]
        found = find_crossover(
            [
                Point(size=float(n), ratio=r.value, low=r.low, high=r.high)
                for n, r in zip(SIZES, ratios, strict=True)
                if r and r.low and r.high
            ]
        )
        hits += bool(found.low and found.high and found.low <= truth <= found.high)
    assert hits >= 90
