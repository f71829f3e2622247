"""From samples to values with intervals, and to ratios; pure functions of numbers.

Says how much and how sure, never what it means: verdicts are decided elsewhere.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats

CONFIDENCE = 0.95
"""The confidence level of every interval here."""

FEWEST = 3
"""Under three invocations an interval says more about Student's t than about the machine."""

FEW = f"no interval: fewer than {FEWEST} invocations"
RESOLUTION = "no spread at all: the timer's resolution, not the machine's steadiness"
TOO_WIDE = "no interval: too wide to be expressed"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """The value of a cell on an arm, in the unit of what went in; ``n`` invocations.

    ``low`` and ``high`` bound the 95 % interval; both are None where there is none, and ``notes``
    say why.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """The ratio of two arms' times, other over base: under 1 the other arm is faster.

    ``n`` is the number of blocks in which both have a value; ``low``, ``high`` and ``notes`` as in
    `Estimate`.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    notes: tuple[str, ...] = ()


def reduce_invocation(samples: Sequence[float]) -> float:
    """The value of one invocation: the median of its samples, in their unit.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError("an invocation without samples has no value")
    return statistics.median(samples)


def estimate(values: Sequence[float]) -> Estimate:
    """The value of a cell: the geometric mean of its invocations' values, all positive.

    The 95 % interval is Student's t on the logarithms (Georges, Buytaert and Eeckhout 2007, section
    3.2, applied to invocations; a percentile bootstrap covers only 80 to 90 % at 5 to 10 values).

    Raises:
        ValueError: there are no values, or one of them is not positive.
    """
    value, low, high, notes = _summarise_logs([_log(one) for one in values])
    return Estimate(value=value, low=low, high=high, n=len(values), notes=notes)


def compare(base: Mapping[int, float], other: Mapping[int, float]) -> Ratio | None:
    """The ratio other over base of two arms' invocation values by block, paired by block.

    Geometric mean of the blocks' ratios with a t interval on their logarithms: a paired t test
    (Abedi and Brecht 2017 on why both arms run in every block).  None: no block has both.

    Raises:
        ValueError: a value is not positive.
    """
    logs = [_log(other[block]) - _log(base[block]) for block in sorted(base) if block in other]
    if not logs:
        return None
    value, low, high, notes = _summarise_logs(logs)
    return Ratio(value=value, low=low, high=high, n=len(logs), notes=notes)


def _summarise_logs(
    logs: Sequence[float],
) -> tuple[float, float | None, float | None, tuple[str, ...]]:
    """Mean and interval of logarithms, brought back: value, low, high, notes."""
    if not logs:
        raise ValueError("nothing was measured, so there is no value")
    n = len(logs)
    mean = math.fsum(logs) / n
    value = _exp(mean)
    if n < FEWEST:
        return value, None, None, (FEW,)
    spread = math.sqrt(math.fsum((one - mean) ** 2 for one in logs) / (n - 1))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) * spread / math.sqrt(n)
    low, high = _exp(mean - half), _exp(mean + half)
    if low == 0 or math.isinf(high):
        return value, None, None, (TOO_WIDE,)
    # All logarithms equal: rounding aside, the mean is that logarithm and the interval a point.
    notes = (RESOLUTION,) if min(logs) == max(logs) else ()
    return value, min(low, value), max(high, value), notes


def _log(value: float) -> float:
    if not value > 0:
        raise ValueError(f"{value} is not positive, so it has no logarithm")
    return math.log(value)


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
