"""From samples to values with intervals; pure functions of numbers.

Says how much and how sure; `ratio` beside it sets two values side by side, and `suite.analysis.compare` says
what that means.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from scipy import special

from suite.analysis.result.numbers import FEWEST, Estimate
from suite.analysis.statistics.rounding import settle
from suite.flags import raise_flag

CONFIDENCE = 0.95
"""The confidence level of an interval, unless another is named."""

TARGET_HALF_WIDTH = 0.05
"""How far a 95 % interval may reach, as a share, for a claim about a type of machine."""

_NO_SPREAD = 1e-12
"""Logarithms that differ by less do so by rounding only: a float has 16 digits."""


_STEP = 1e-4
"""To either side of a quantile, for the slope there: good to seven digits."""


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Mean and standard error of values, mostly logarithms, and the degrees of freedom of the latter."""

    mean: float
    error: float
    freedom: float


STALL_S = 0.5
STALL_FACTOR = 3.0
"""A sample that took over `STALL_S` seconds longer than the median one, and over `STALL_FACTOR` times as
long, is a stall: a paused container or a suspended machine looks like that."""


def reduce_invocation(samples: Sequence[float], calls: int = 1) -> float:
    """The value of one invocation: the mean of its (steady) samples, in seconds per call, stalls aside.

    Each sample is the mean of so many ``calls``.  The mean is the same whatever that number is; the
    median of skewed samples is not, and would differ between arms of which one has more calls in a
    sample (docs/decisions/0028).

    Raises:
        ValueError: there are no samples.
    """
    usual = statistics.median(samples)
    if not is_stall(max(samples), usual, calls):
        return statistics.fmean(samples)
    return statistics.fmean([sample for sample in samples if not is_stall(sample, usual, calls)])


def is_stall(sample: float, usual: float, calls: int) -> bool:
    """Whether a sample of so many calls tells of a stall; ``usual`` is the median one, per call."""
    return calls * (sample - usual) > STALL_S and sample > STALL_FACTOR * usual


def estimate(values: Sequence[float]) -> Estimate:
    """The value of a cell: the geometric mean of its invocations' values, all positive.

    The 95 % CI is Student's t on the logarithms (Georges, Buytaert and Eeckhout 2007, section
    3.2, applied to invocations; a percentile bootstrap covers only 80 to 90 % at 5 to 10 values).

    Raises:
        ValueError: there are no values, or one of them is not positive.
    """
    return exponentiate(find_moments(list(map(math.log, values))), len(values))


def estimate_difference(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The mean of differences by invocation, of either sign, with Student's t interval.

    Raises:
        ValueError: there are none.
    """
    moments, n = find_moments(values), len(values)
    if n < FEWEST:
        flags = (raise_flag("few-blocks", fewest=FEWEST),)
        return Estimate(value=moments.mean, low=None, high=None, n=n, flags=flags)
    half = find_quantile(moments.freedom, confidence) * moments.error
    return Estimate(value=moments.mean, low=moments.mean - half, high=moments.mean + half, n=n)


def find_spread(found: Estimate) -> float | None:
    """The standard deviation of the logarithms behind an estimate of one sample, or a ratio of pairs; None:
    it has no interval."""
    if found.low is None or found.high is None:
        return None
    half = math.log(found.high / found.low) / 2
    return half * math.sqrt(found.n) / find_quantile(found.n - 1, CONFIDENCE)


def count_needed(found: Estimate) -> int | None:
    """How many values with this spread would put the 95 % interval within `TARGET_HALF_WIDTH` of the value,
    either way; None: it has no interval, so that nobody knows the spread.

    The least n with t(n - 1) s / √n ≤ log(1 + `TARGET_HALF_WIDTH`), looked for from the normal quantile's n
    on.  About every other interval of n values comes out as narrow: the observed spread varies, too.
    """
    spread = find_spread(found)
    if spread is None:
        return None
    reach = math.log(1 + TARGET_HALF_WIDTH)
    needed = max(FEWEST, math.ceil((find_quantile(math.inf, CONFIDENCE) * spread / reach) ** 2))
    while find_quantile(needed - 1, CONFIDENCE) * spread > reach * math.sqrt(needed):
        needed += 1
    return needed


def find_moments(logs: Sequence[float]) -> Moments:
    """The mean of logarithms and its standard error; 0 where they are equal but for rounding.

    Raises:
        ValueError: there are none.
    """
    if not logs:
        raise ValueError("nothing was measured, so there is no value")
    n = len(logs)
    mean = math.fsum(logs) / n
    if n == 1 or max(logs) - min(logs) <= _NO_SPREAD:
        return Moments(mean=mean, error=0.0, freedom=n - 1)
    variance = math.fsum((log - mean) * (log - mean) for log in logs) / (n - 1)
    return Moments(mean=mean, error=math.sqrt(variance / n), freedom=n - 1)


def exponentiate(moments: Moments, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of ``n`` logarithms with Student's t interval, exponentiated."""
    value = _exp(moments.mean)
    if n < FEWEST:
        flag = raise_flag("few-blocks", fewest=FEWEST)
        return Estimate(value=value, low=None, high=None, n=n, flags=(flag,))
    half = find_quantile(moments.freedom, confidence) * moments.error
    low, high = _exp(moments.mean - half), _exp(moments.mean + half)
    if low == 0 or math.isinf(high):
        return Estimate(value=value, low=None, high=None, n=n, flags=(raise_flag("too-wide"),))
    flags = (raise_flag("no-spread"),) if moments.error == 0 else ()
    return Estimate(value=value, low=min(low, value), high=max(high, value), n=n, flags=flags)


@lru_cache(maxsize=4096)
def find_quantile(freedom: float, confidence: float) -> float:
    """How many standard errors the two-sided interval reaches: Student's t, to ten digits.

    Releases of SciPy agree in 14 digits of the distribution, but only in 9 of its inverse: from there one
    of Newton's steps, and then the digits that are the same everywhere (docs/decisions/0045).
    """
    wanted = (1 + confidence) / 2
    quantile = float(special.stdtrit(freedom, wanted))
    below, at, above = (
        float(special.stdtr(freedom, quantile + step)) for step in (-_STEP, 0, _STEP)
    )
    return settle(quantile - (at - wanted) * 2 * _STEP / (above - below))


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf
