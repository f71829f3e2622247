"""Two arms, or two campaigns, set side by side: ratios of times with intervals and p-values.

Pure functions of numbers.  What a ratio means is decided in `verdict`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import structs
from scipy import special

from suite.analysis.numbers.estimate import (
    CONFIDENCE,
    Moments,
    bring_back,
    find_moments,
    find_spread,
)
from suite.analysis.result.numbers import FEWEST, Ratio

INNER = 0.90
"""Confidence of the inner interval: two one-sided tests at 5 % are one 90 % CI."""


def compare(base: Mapping[int, float], other: Mapping[int, float]) -> Ratio | None:
    """The ratio other over base of two arms' invocation values by block, paired by block.

    Geometric mean of the blocks' ratios with a t interval on their logarithms: a paired t test
    (Student 1908; Abedi and Brecht 2017 on why both arms run in every block).  None: no block has
    both.

    Raises:
        ValueError: a value is not positive.
    """
    both = [block for block in sorted(base) if block in other]
    logs = [math.log(other[block]) - math.log(base[block]) for block in both]
    return _word(find_moments(logs), len(logs)) if logs else None


def compare_campaigns(base: Iterable[float], other: Iterable[float]) -> Ratio | None:
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
        shares = [(one.error / error) ** 4 / one.freedom for one in (first, second) if one.error]
        freedom = 1 / math.fsum(shares)
    return _word(Moments(mean=second.mean - first.mean, error=error, freedom=freedom), fewest)


def compare_few(base: Iterable[float], other: Iterable[float]) -> Ratio | None:
    """As `compare_campaigns`, also where a side has under three values, of which nobody knows the spread.

    Then both sides are taken to have one: Student's two-sample t with the pooled variance, which of one
    value against several is the interval of one more observation.  Three values in all are the fewest.

    Raises:
        ValueError: a value is not positive.
    """
    sides = [list(base), list(other)]
    counts = [len(one) for one in sides]
    freedom = sum(counts) - len(sides)
    if min(counts) >= FEWEST or not all(counts) or not freedom:
        return compare_campaigns(*sides)
    first, second = (find_moments(list(map(math.log, values))) for values in sides)
    squares = [
        one.error * one.error * count * (count - 1)
        for one, count in zip((first, second), counts, strict=True)
    ]
    error = math.sqrt(math.fsum(squares) / freedom * math.fsum(1 / count for count in counts))
    moments = Moments(mean=second.mean - first.mean, error=error, freedom=freedom)
    return _word(moments, freedom + 1)


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


def _word(moments: Moments, n: int) -> Ratio:
    outer, inner = (bring_back(moments, n, level) for level in (CONFIDENCE, INNER))
    p = None
    # Without a spread there is nothing to judge a mean of 0 by.
    if n >= FEWEST and moments.error > 0:
        p = 2 * float(special.stdtr(moments.freedom, -abs(moments.mean) / moments.error))
    return structs.replace(outer, inner_low=inner.low, inner_high=inner.high, p=p)
