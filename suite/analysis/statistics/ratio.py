"""The values of two sides to their ratio, with its intervals and its p-value, not adjusted yet.  Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

from msgspec import structs
from scipy import special

from suite.analysis.result.numbers import FEWEST, INNER, LEVEL, Ratio
from suite.analysis.statistics.estimate import (
    CONFIDENCE,
    Moments,
    exponentiate,
    find_moments,
    find_quantile,
    find_spread,
)

SHAMOS = 0.954
"""The median distance of two values of a normal distribution, in standard deviations."""

MEDIAN_ERROR = 1.2
"""The median of three to eight normal values has 1.09 to 1.2 times the standard error of their mean."""

Key = TypeVar("Key", bound=Hashable)


class Spread(NamedTuple):
    """The standard deviation of one block's log-ratio, and the degrees of freedom for each block after the
    first: 1 for pairs, 1 to 2 for two sides that were measured apart."""

    deviation: float
    freedom: float = 1.0


def pair_logs(base: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """The logarithm of other over base in every block that has both, in the blocks' order.

    Raises:
        ValueError: a value is not positive.
    """
    return [
        math.log(other[block]) - math.log(base[block]) for block in sorted(base) if block in other
    ]


def find_paired_ratio(base: Mapping[int, float], other: Mapping[int, float]) -> Ratio | None:
    """The ratio other over base of two arms' invocation values by block, paired by block.

    Geometric mean of the blocks' ratios with a t interval on their logarithms: a paired t test
    (Student 1908; Abedi and Brecht 2017 on why both arms run in every block).  None: no block has
    both.

    Raises:
        ValueError: a value is not positive.
    """
    logs = pair_logs(base, other)
    return _make_ratio(find_moments(logs), len(logs)) if logs else None


def find_welch_ratio(base: Iterable[float], other: Iterable[float]) -> Ratio | None:
    """The ratio other over base of invocation values that were not measured in the same blocks.

    Welch 1947 on the logarithms: unequal variances, the degrees of freedom by Satterthwaite 1946.
    Drift between the two campaigns is not in the interval.  None: one side has no value.

    Raises:
        ValueError: a value is not positive.
    """
    sides = [list(map(math.log, values)) for values in (base, other)]
    fewest = min(map(len, sides))
    if not fewest:
        return None
    first, second = map(find_moments, sides)
    error = math.sqrt(first.error * first.error + second.error * second.error)
    freedom = float(fewest - 1)
    if error > 0:
        shares = [
            (side.error / error) ** 4 / side.freedom for side in (first, second) if side.error
        ]
        freedom = 1 / math.fsum(shares)
    moments = Moments(mean=second.mean - first.mean, error=error, freedom=freedom)
    return _make_ratio(moments, fewest)


def find_welch_spread(base: Iterable[float], other: Iterable[float]) -> Spread | None:
    """The spread behind `find_welch_ratio`, for as many blocks of each side; None: a side has under three.

    The freedom is Satterthwaite's for sides of equal length.
    """
    sides = [list(map(math.log, values)) for values in (base, other)]
    if min(map(len, sides)) < FEWEST:
        return None
    variances = [find_moments(side).error ** 2 * len(side) for side in sides]
    total, squares = math.fsum(variances), math.fsum(variance * variance for variance in variances)
    return Spread(math.sqrt(total), total * total / squares if squares > 0 else len(sides))


def find_pooled_ratio(base: Iterable[float], other: Iterable[float]) -> Ratio | None:
    """As `find_welch_ratio`, also where a side has under three values, of which nobody knows the spread.

    Then both sides are taken to have one: Student's two-sample t with the pooled variance, which of one
    value against several is the interval of one more observation.  Three values in all are the fewest.

    Raises:
        ValueError: a value is not positive.
    """
    sides = [list(base), list(other)]
    counts = [len(side) for side in sides]
    freedom = sum(counts) - len(sides)
    if min(counts) >= FEWEST or not all(counts) or not freedom:
        return find_welch_ratio(*sides)
    first, second = (find_moments(list(map(math.log, values))) for values in sides)
    squares = [
        side.error * side.error * count * (count - 1)
        for side, count in zip((first, second), counts, strict=True)
    ]
    error = math.sqrt(math.fsum(squares) / freedom * math.fsum(1 / count for count in counts))
    moments = Moments(mean=second.mean - first.mean, error=error, freedom=freedom)
    return _make_ratio(moments, freedom + 1)


def find_mean_ratio(
    pairs: Iterable[tuple[Mapping[int, float], Mapping[int, float]]],
    *,
    paired: bool,
    tested: bool = False,
) -> Ratio | None:
    """The geometric mean of several cells' ratios, other over base, of which each counts once.

    Of each cell the base's values by block and the other's, with a block in common where they are
    ``paired``; no cell need have a value in every block.  Of ``B`` blocks in which any of the ``C`` cells
    has a pair, where cell ``c`` has the pairs ``d[c, b] = ln other[c, b] - ln base[c, b]`` in ``B_c`` of
    them, whose mean is ``d̄[c]``::

        m = (1 / C) Σ_c d̄[c]
        m[b] = m + Σ_(c with a pair in b) w[c] (d[c, b] - d̄[c])
        w[c] = (B / (C B_c)) √((B - 1) B_c / (B (B_c - 1)))
        mean = exp(m),   interval = exp(m ± t(0.975, B - 1) sd(m[b]) / √B)

    Without gaps ``w[c]`` is ``1 / C`` and ``m[b]`` the mean over cells of ``d[c, b]``.  So the cells of a
    block, which share its machine's mood, are one observation, and a block that lacks cells does not stand
    out by their ratios (``m[b]`` is the estimator's influence function, scaled so that a cell's own variance
    has ``B_c - 1`` degrees of freedom).  Where the blocks' weights ``W[b] = Σ_(c with a pair in b) w[c]``
    differ, as where cells rested, Student's t has Satterthwaite's ``(Σ W[b]²)² / Σ W[b]⁴ - 1`` degrees of
    freedom instead.  What is not paired is averaged so on each side, and the interval is Welch's.  Fleming
    and Wallace 1986 on why ratios have a geometric mean.

    It says nothing of other cells than these, and has no p-value unless they are ``tested``.  There is no
    interval where a cell has under three values on a side (pairs), since nobody knows its spread.  None:
    there are no cells.

    Raises:
        ValueError: a value is not positive.
    """
    sides: tuple[list[dict[int, float]], list[dict[int, float]]] = [], []
    for values in pairs:
        common = values[0].keys() & values[1].keys()
        for side, of in zip(sides, values, strict=True):
            side.append({block: of[block] for block in of if block in common or not paired})
    if not sides[0]:
        return None
    (base, freedom), (other, other_freedom) = map(_average, sides)
    mean = (
        find_paired_ratio(base, other)
        if paired
        else find_welch_ratio(base.values(), other.values())
    )
    fewest = min(len(of) for side in sides for of in side)
    if mean and fewest < FEWEST:
        return _make_ratio(Moments(mean=math.log(mean.value), error=0.0, freedom=0.0), fewest)
    freedom = min(freedom, other_freedom)
    return mean and structs.replace(
        _stretch(mean, freedom), p=_find_p(mean, freedom) if tested else None
    )


def _find_p(ratio: Ratio, freedom: float) -> float | None:
    """The two-sided p-value of a ratio whose spread is known by so many degrees of freedom at most."""
    if ratio.p is None or freedom >= ratio.n - 1:
        return ratio.p
    error = (find_spread(ratio) or 0.0) / math.sqrt(ratio.n)
    return 2 * float(special.stdtr(freedom, -abs(math.log(ratio.value)) / error))


def _stretch(ratio: Ratio, freedom: float) -> Ratio:
    """A ratio of whose spread no more is known than by so many degrees of freedom."""
    ends: dict[str, float] = {}
    for level, low, high in ((CONFIDENCE, "low", "high"), (INNER, "inner_low", "inner_high")):
        end = getattr(ratio, high)
        if end is None or freedom >= ratio.n - 1:
            continue
        times = find_quantile(freedom, level) / find_quantile(ratio.n - 1, level)
        half = times * math.log(end / ratio.value)
        ends |= {low: ratio.value * math.exp(-half), high: ratio.value * math.exp(half)}
    return structs.replace(ratio, **ends)


def _average(cells: Sequence[Mapping[int, float]]) -> tuple[dict[int, float], float]:
    """By block what it says of the geometric mean over the cells, of whose values by block this is the mean:
    exp(m[b]) of `find_mean_ratio`, of one side.  And by how many degrees of freedom its spread is known."""
    logs = [{block: math.log(value) for block, value in of.items()} for of in cells]
    means = [math.fsum(of.values()) / len(of) for of in logs]
    blocks = sorted({block for of in logs for block in of})
    n, mean = len(blocks), math.fsum(means) / len(cells)
    weights = [
        n / (len(of) * len(cells)) * math.sqrt((n - 1) * len(of) / (n * max(len(of) - 1, 1)))
        for of in logs
    ]
    average, squares = {}, []
    for block in blocks:
        there = [
            (weight, weight * (of[block] - own))
            for of, own, weight in zip(logs, means, weights, strict=True)
            if block in of
        ]
        average[block] = math.exp(mean + math.fsum(off for _, off in there))
        squares.append(math.fsum(weight for weight, _ in there) ** 2)
    if all(len(of) == n for of in logs):
        return average, n - 1
    freedom = math.fsum(squares) ** 2 / math.fsum(square * square for square in squares) - 1
    return average, max(1.0, freedom)


def find_common_ratios(
    pairs: Mapping[Key, Sequence[float]],
    alike: Iterable[Sequence[float]],
    *,
    comparisons: int,
    robust: bool = False,
) -> dict[Key, Ratio]:
    """Ratios of a few pairs each, by a spread that all of them share; intervals that hold all at once.

    Three pairs alone know little of their spread (Student's t has two degrees of freedom).  What is run in
    turns on one machine shares its noise, so that the variance of a pair is pooled over all pairs
    about their own means, and over runs that were ``alike``, of each group about its mean, of which two make
    a pair's variance.  The own spread of a key's pairs counts where it is the larger one.  The interval
    is Student's at 1 - `LEVEL` / ``comparisons`` (Bonferroni).

    Args:
        pairs: by key its pairs' log-ratios.
        alike: logarithms of values that differ by noise alone, by group.
        comparisons: how many ratios are looked at in all, those to come included.
        robust: the median of the pairs, and the pooled median of differences within groups (Shamos 1976),
            which a few that were hit by something else do not move, where that is the narrower; only
            where something else speaks for a ratio, too, since several of a key's few pairs can be hit.
    """
    groups = [(1.0, logs) for logs in pairs.values()] + [(2.0, logs) for logs in alike]
    groups = [(weight, logs) for weight, logs in groups if len(logs) > 1]
    freedom = float(sum(len(logs) - 1 for _, logs in groups))
    moments = [(weight * len(logs), find_moments(logs)) for weight, logs in groups]
    squares = math.fsum(times * of.freedom * of.error * of.error for times, of in moments)
    deviation = math.sqrt(squares / freedom) if freedom else 0.0
    apart = [
        math.sqrt(weight) * abs(one - other)
        for weight, logs in groups
        for one, other in combinations(logs, 2)
    ]
    of_medians = MEDIAN_ERROR * statistics.median(apart) / SHAMOS if apart else 0.0
    robust = robust and of_medians < deviation
    deviation = of_medians if robust else deviation
    ratios = {}
    for key, logs in pairs.items():
        own, n = find_moments(logs), len(logs)
        common = Moments(
            mean=statistics.median(logs) if robust else own.mean,
            error=max(deviation / math.sqrt(n), 0.0 if robust else own.error),
            freedom=freedom,
        )
        # How far they spread is known from all, however few pairs of this one there are.
        ratio = exponentiate(common, FEWEST if freedom else 1, 1 - LEVEL / comparisons)
        ratios[key] = structs.replace(ratio, n=n)
    return ratios


def scale_ratio(ratio: Ratio, by: float) -> Ratio:
    """The ratio as if the other side had taken so many times as long; its p-value is a paired ratio's."""
    names = ("value", "low", "high", "inner_low", "inner_high")
    ends = {
        name: end if end is None else by * end for name in names for end in [getattr(ratio, name)]
    }
    p, spread = None, find_spread(ratio)
    if spread and ratio.n >= FEWEST:
        error = spread / math.sqrt(ratio.n)
        p = 2 * float(special.stdtr(ratio.n - 1, -abs(math.log(by * ratio.value)) / error))
    return structs.replace(ratio, **ends, p=p)


def _make_ratio(moments: Moments, n: int) -> Ratio:
    outer, inner = (exponentiate(moments, n, level) for level in (CONFIDENCE, INNER))
    p = None
    # Without a spread there is nothing to judge a mean of 0 by.
    if n >= FEWEST and moments.error > 0:
        p = 2 * float(special.stdtr(moments.freedom, -abs(moments.mean) / moments.error))
    return structs.replace(outer, inner_low=inner.low, inner_high=inner.high, p=p)
