"""Which part of an invocation's samples is steady, found after the fact; pure functions of numbers.

Finds steps and drifts that outlast a handful of samples; judges nothing about their cause.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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

_BATCH = 2**14
"""So many samples are looked at together: what is kept of them stays in a processor's cache."""

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
    return find_steady_each([(warmup, samples)])[0]


def find_steady_each(
    series: Iterable[tuple[Sequence[float], Sequence[float]]],
) -> list[tuple[SteadyClass, int]]:
    """`find_steady` of many invocations' warm-ups and samples, in their order: many short series take little
    longer together than one alone."""
    pairs = list(series)
    logs = {
        place: np.log(np.array([*warmup, *samples], dtype=np.float64))
        for place, (warmup, samples) in enumerate(pairs)
        if samples and len(warmup) + len(samples) >= FEWEST_SAMPLES
    }
    clipped = list(map(clip_spikes, logs.values()))
    changes = find_changes(clipped, penalty=PENALTY, shortest=SHORTEST)
    found: list[tuple[SteadyClass, int]] = [("too few", 0)] * len(pairs)
    for (place, of), at in zip(logs.items(), changes, strict=True):
        found[place] = _classify(of, at, *map(len, pairs[place]))
    return found


def _classify(
    logs: Array, changes: Sequence[int], warmup: int, samples: int
) -> tuple[SteadyClass, int]:
    """`find_steady` of so many samples, from their change points."""
    count = warmup + samples
    edges = [0, *changes, count]
    levels = [_middle(logs[begin:end]) for begin, end in pairwise(edges)]
    first = len(levels) - 1
    while first > 0 and abs(levels[first - 1] - levels[-1]) <= AGREEMENT:
        first -= 1
    begin = edges[first]
    if begin == 0:
        return "flat", 0
    counted = max(0, begin - warmup)
    if count - begin < _UNSTEADY_SHARE * count or samples - counted < SHORTEST:
        return "unsteady", 0
    faster = min(levels[:first]) < _middle(logs[begin:]) - AGREEMENT
    return "slowdown" if faster else "warmup", counted


def find_changes(
    series: Sequence[Array], *, penalty: float, shortest: int
) -> list[tuple[int, ...]]:
    """The change points of each series of logarithms: the indices at which a new level begins.

    By the exact l2 segmentation (Jackson et al. 2005, optimal partitioning).  The penalty is so many
    times ln n times the noise's variance, whose scale is the median absolute deviation of successive
    differences, or `LEAST_NOISE` where that is more: steps and drifts hardly touch it (Fryzlewicz 2014 on the
    penalty's form; more than his 2, since real samples are correlated).
    """
    # Those of about one length together: the longest of a batch decides what it takes.
    order = sorted(range(len(series)), key=lambda place: -len(series[place]))
    changes: dict[int, tuple[int, ...]] = {}
    while order:
        batch = max(1, _BATCH // len(series[order[0]]))
        places, order = order[:batch], order[batch:]
        signals = [_scale(series[place]) for place in places]
        costs = [penalty * math.log(len(signal)) for signal in signals]
        changes |= zip(places, _segment(signals, shortest, costs), strict=True)
    return [changes[place] for place in range(len(series))]


def _scale(logs: Array) -> Array:
    """A series centred and in units of its noise, so that the sums of squares of it lose no digits."""
    differences = np.diff(logs)
    spread = _middle(np.abs(differences - _middle(differences)))
    scaled: Array = (logs - _middle(logs)) / max(LEAST_NOISE, spread / _MAD)
    return scaled


def _segment(
    signals: Sequence[Array], shortest: int, penalties: Sequence[float]
) -> list[tuple[int, ...]]:
    """Where the segments of each signal begin, but the first, that cost least: each its sum of squares around
    its mean, and each change the penalty.  The longest signal is the first.  Time grows with the square of
    the length: 10,000 samples take under a second.
    """
    counts = list(map(len, signals))
    shape, charges = (len(signals), counts[0] + 1), np.array(penalties)
    sums, squares = np.zeros(shape), np.zeros(shape)
    for row, signal in enumerate(signals):
        np.cumsum(signal, out=sums[row, 1 : counts[row] + 1])
        np.cumsum(signal * signal, out=squares[row, 1 : counts[row] + 1])
    cost = np.full(shape, np.inf)
    cost[:, 0] = -charges
    before = np.zeros(shape, dtype=np.intp)
    rows, lengths = np.arange(len(signals)), np.arange(counts[0], shortest - 1, -1)
    going = len(signals)
    for end in range(shortest, counts[0] + 1):
        while counts[going - 1] < end:
            going -= 1
        # Segments that end here begin at 0, or where another can end.
        begin = end - shortest + 1
        totals = sums[:going, end, np.newaxis] - sums[:going, :begin]
        within = squares[:going, end, np.newaxis] - squares[:going, :begin]
        within -= totals * totals / lengths[counts[0] - end :]
        whole = cost[:going, :begin] + within
        best = np.argmin(whole, axis=1)
        before[:going, end] = best
        cost[:going, end] = whole[rows[:going], best] + charges[:going]
    return [_trace_back(of, count) for of, count in zip(before.tolist(), counts, strict=True)]


def _trace_back(before: Sequence[int], count: int) -> tuple[int, ...]:
    """The changes that lead to the end; ``before`` has for each end where its segment begins."""
    changes, at = list[int](), before[count]
    while at > 0:
        changes.append(at)
        at = before[at]
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
