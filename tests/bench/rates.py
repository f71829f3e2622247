"""Counting how often an estimator is right, with the Monte-Carlo error of the count."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from suite.analysis.compare import judge
from suite.analysis.result.numbers import MARGIN, Estimate, Ratio
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.ratio import find_paired_ratio
from tests.fakes.hosts import SAMPLES, Array, Host, draw_levels, draw_series

SURE = 3.0
"""Standard errors of a rate within which it must hold: one false alarm in 370, at fixed seeds none."""


@dataclass(frozen=True, kw_only=True)
class Rate:
    """``hits`` of ``tries``."""

    hits: int
    tries: int

    @property
    def value(self) -> float:
        return self.hits / self.tries

    @property
    def error(self) -> float:
        """The standard error of the rate; of one more hit and one more miss, so never 0."""
        share = (self.hits + 1) / (self.tries + 2)
        return math.sqrt(share * (1 - share) / self.tries)

    def is_at_least(self, share: float) -> bool:
        """Whether even the lower end of the rate's Monte-Carlo interval is."""
        return self.value - SURE * self.error >= share

    def is_at_most(self, share: float) -> bool:
        """Whether even the upper end of the rate's Monte-Carlo interval is."""
        return self.value + SURE * self.error <= share

    def lies_within(self, low: float, high: float) -> bool:
        """Whether even the rate's whole Monte-Carlo interval lies between these."""
        return self.is_at_least(low) and self.is_at_most(high)

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} ± {100 * self.error:.1f} %"


def count(outcomes: list[bool]) -> Rate:
    return Rate(hits=sum(outcomes), tries=len(outcomes))


def draw_values(host: Host, draw: np.random.Generator, *, cells: int, blocks: int) -> Array:
    """Invocation values (medians of the counted samples), true value 1: cells by blocks.

    Without looking for a steady part, which `test_steady` shows to change nothing on these hosts.
    """
    levels = draw_levels(host, draw, cells=cells, blocks=blocks)
    values: Array = np.exp(np.median(draw_series(host, draw, levels, SAMPLES), axis=-1))
    return values


def estimates(values: Array) -> Iterator[Estimate]:
    return (estimate(row) for row in values.tolist())


def ratios(base: Array, other: Array) -> Iterator[Ratio]:
    for first, second in zip(base.tolist(), other.tolist(), strict=True):
        ratio = find_paired_ratio(dict(enumerate(first)), dict(enumerate(second)))
        assert ratio is not None
        yield ratio


def contains(value: Estimate | Ratio, truth: float) -> bool:
    assert value.low is not None
    assert value.high is not None
    return value.low <= truth <= value.high


def judge_tables(
    host: Host, *, tables: int, cells: int, blocks: int, slower: float
) -> tuple[Rate, Rate]:
    """Tables with any false verdict, and of the one cell a table that is slower, those found."""
    draw = np.random.default_rng(5)
    false, caught = [], []
    for _ in range(tables):
        base, other = (draw_values(host, draw, cells=cells, blocks=blocks) for _ in range(2))
        other[0] *= 1 + slower
        names = {str(index): ratio for index, ratio in enumerate(ratios(base, other))}
        verdicts = judge(names, margin=MARGIN, invalid={})
        caught.append(verdicts.pop("0").name == "SLOWER")
        false.append(any(verdict.name in {"FASTER", "SLOWER"} for verdict in verdicts.values()))
    return count(false), count(caught)
