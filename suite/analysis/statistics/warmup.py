"""Which part of an invocation's samples is steady, found after the fact; pure functions of numbers.

Finds steps and drifts that outlast a handful of samples; judges nothing about their cause.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from suite.analysis.result.cells import SteadyClass

FEWEST_SAMPLES = 50
"""Under so many samples, warm-up included, no change could be told from noise."""

AGREEMENT = 0.01
"""Segments whose medians differ by no more (of logarithms) are the same level."""

PENALTY = 15.0
"""What a change point costs, in noise variances times ln n (simulation: tests/bench)."""

SHORTEST = 5
"""No segment has fewer samples: fewer are spikes, not a level."""

_WINDOW = 51
"""Samples in a rolling window.  Narrower ones have ranges so uncertain that two neighbouring spikes
pass for a step: at 25 samples and 10 % of spikes 6 % of steady series did, at 51 under 1 %."""

_RANGES = 3.0
"""Interquartile ranges around the rolling median beyond which a sample is clipped."""

LEAST_NOISE = 1e-3
"""The noise is never taken as smaller: a coarse timer makes most differences zero, and steps under
a thousandth matter to nobody."""

_UNSTEADY_SHARE = 0.25
"""A steady part shorter than this share of all samples is none (Barrett et al. 2017)."""

_MAD = 0.6744897501960817 * math.sqrt(2)
"""The median absolute difference of two successive samples of unit normal noise."""

Array = np.ndarray[Any, np.dtype[np.float64]]


def find_steady(warmup: Sequence[float], samples: Sequence[float]) -> tuple[SteadyClass, int]:
    """The steady part of one invocation's samples of a cell: its class, and the index of the first sample
    (the warm-up is not counted) that belongs to it; 0 where the whole counts.  Both series in seconds, all
    positive.

    - ``flat``: one level from the first sample of the warm-up to the last;
    - ``warmup``: the steady part begins later, and nothing before it was faster;
    - ``slowdown``: the steady part begins later, and something before it was faster by over 1 %;
    - ``unsteady``: the last level holds for less than a quarter of the series, so the whole counts;
    - ``too few``: under 50 samples, so nothing was looked for.

    Change points of the logarithms, warm-up included, on a copy in which spikes are clipped; then back
    from the last segment through those whose medians agree with its own within 1 % (Barrett et al. 2017;
    Traini et al. 2022).
    """
    count = len(warmup) + len(samples)
    if count < FEWEST_SAMPLES or not samples:
        return "too few", 0
    logs = np.log(np.array([*warmup, *samples], dtype=np.float64))
    changes = find_changes(clip_spikes(logs), penalty=PENALTY, shortest=SHORTEST)
    edges = [0, *changes, count]
    levels = [_middle(logs[begin:end]) for begin, end in pairwise(edges)]
    first = len(levels) - 1
    while first > 0 and abs(levels[first - 1] - levels[-1]) <= AGREEMENT:
        first -= 1
    begin = edges[first]
    if begin == 0:
        return "flat", 0
    counted = max(0, begin - len(warmup))
    if count - begin < _UNSTEADY_SHARE * count or len(samples) - counted < SHORTEST:
        return "unsteady", 0
    faster = min(levels[:first]) < _middle(logs[begin:]) - AGREEMENT
    return "slowdown" if faster else "warmup", counted


def find_changes(logs: Array, *, penalty: float, shortest: int) -> tuple[int, ...]:
    """The change points of a series of logarithms: the indices at which a new level begins.

    By the exact l2 segmentation (Jackson et al. 2005, optimal partitioning).  The penalty is so many
    times ln n times the noise's variance, whose scale is the median absolute deviation of successive
    differences, or `LEAST_NOISE` where that is more: steps and drifts hardly touch it (Fryzlewicz 2014 on the
    penalty's form; more than his 2, since real samples are correlated).
    """
    differences = np.diff(logs)
    spread = _middle(np.abs(differences - _middle(differences)))
    # Centred and scaled, so that the sums of squares inside lose no digits.
    signal = (logs - _middle(logs)) / max(LEAST_NOISE, spread / _MAD)
    return _segment(signal, shortest, penalty * math.log(len(logs)))


def _segment(signal: Array, shortest: int, penalty: float) -> tuple[int, ...]:
    """Where the segments begin, but the first, that cost least: each its sum of squares around its mean, and
    each change the penalty.  Time grows with the square of the length: 10,000 samples take under a second.
    """
    count = len(signal)
    sums, squares = (
        np.concatenate(([0.0], np.cumsum(series))) for series in (signal, signal * signal)
    )
    cost = np.full(count + 1, np.inf)
    cost[0] = -penalty
    before = np.zeros(count + 1, dtype=np.intp)
    for end in range(shortest, count + 1):
        # Segments that end here begin at 0, or where another can end.
        begin = end - shortest + 1
        totals = sums[end] - sums[:begin]
        within = squares[end] - squares[:begin] - totals * totals / np.arange(end, shortest - 1, -1)
        whole = cost[:begin] + within
        before[end] = np.argmin(whole)
        cost[end] = whole[before[end]] + penalty
    changes, at = list[int](), int(before[count])
    while at > 0:
        changes.append(at)
        at = int(before[at])
    return tuple(reversed(changes))


def clip_spikes(logs: Array) -> Array:
    """A copy with every value within the rolling median ± 3 rolling interquartile ranges.

    As Barrett et al. 2017 find outliers, with the interquartile range in place of the range of the
    middle 80 %, which one spike in ten samples blows up.  At both ends the window stands still.
    """
    count = len(logs)
    width = min(_WINDOW, count)
    windows = np.sort(logs[_index_windows(count, width)], axis=1)
    middle = (windows[:, (width - 1) // 2] + windows[:, width // 2]) / 2
    quarter = round((width - 1) / 4)
    reach = _RANGES * (windows[:, width - 1 - quarter] - windows[:, quarter])
    place = np.clip(np.arange(count) - width // 2, 0, count - width)
    clipped: Array = np.minimum(np.maximum(logs, (middle - reach)[place]), (middle + reach)[place])
    return clipped


@lru_cache(maxsize=256)
def _index_windows(count: int, width: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The indices of every window, a row each: series of one length are many."""
    return np.arange(count - width + 1)[:, np.newaxis] + np.arange(width)


def _middle(values: Array) -> float:
    """The median of a few values; `numpy.median` takes longer over its arguments than over these."""
    ordered = np.sort(values)
    count = len(ordered)
    return float(ordered[(count - 1) // 2] + ordered[count // 2]) / 2
