"""What a family of ratios tells of the spread of each: few blocks can agree by chance.  Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from msgspec import structs
from scipy import special

from suite.analysis.numbers.estimate import CONFIDENCE, find_quantile, find_spread
from suite.analysis.numbers.ratio import INNER
from suite.analysis.result.numbers import Ratio

FEWEST_RATIOS = 3
"""Of fewer ratios nobody knows how far their variances differ."""

SMALLEST = 0.1
"""The share of the variances that are taken to be no smaller than the next one."""

STEPS = 50
"""Newton's steps for the trigamma function's inverse at the most; it takes under ten."""


def share(ratios: Mapping[str, Ratio]) -> dict[str, Ratio]:
    """Paired ratios as unsure as their family says, where that is more than they say of themselves.

    Spreads are drawn towards what is usual among them, as in the moderated t test: variances are taken to
    come from a scaled inverse chi-squared distribution, whose scale and degrees of freedom the family
    tells (Smyth 2004, section 6.2; empirical Bayes).  The more alike they are, the further each is drawn.
    Ratios without a spread, and all where under three have one, stay as they are.
    """
    found = {name: (own, one.n - 1) for name, one in ratios.items() if (own := find_spread(one))}
    if len(found) < FEWEST_RATIOS:
        return dict(ratios)
    scale, prior = _fit(list(found.values()))
    # Nobody knows a spread better than all ratios together do, nor what is usual among them.
    most = sum(freedom for _, freedom in found.values())
    weight = min(prior, most)
    wider = {}
    for name, (own, freedom) in found.items():
        variance = (weight * scale + freedom * own * own) / (weight + freedom)
        if variance > own * own:
            known = min(weight + freedom, most)
            wider[name] = _widen(ratios[name], math.sqrt(variance / (freedom + 1)), known)
    return {**ratios, **wider}


def _widen(ratio: Ratio, error: float, freedom: float) -> Ratio:
    """A ratio with another standard error; ``freedom`` is how well that is known, for its p-value alone."""
    mean = math.log(ratio.value)
    ends = [
        math.exp(mean + side * find_quantile(ratio.n - 1, level) * error)
        for level in (CONFIDENCE, INNER)
        for side in (-1, 1)
    ]
    p = 2 * float(special.stdtr(freedom, -abs(mean) / error))
    names = ("low", "high", "inner_low", "inner_high")
    wider = dict(zip(names, ends, strict=True))
    return structs.replace(ratio, **wider, p=max(p, ratio.p or 0.0))


def _fit(found: list[tuple[float, int]]) -> tuple[float, float]:
    """The usual variance and its degrees of freedom, from standard deviations and theirs.

    By the mean and the variance of log variances; as many degrees as there can be where these vary no
    more than chance has it.  The smallest tenth counts as the tenth: one cell without a spread would
    otherwise tell that all can be so (as Phipson et al. 2016 winsorize).
    """
    halves = [freedom / 2 for _, freedom in found]
    logs = [
        2 * math.log(own) - float(special.digamma(half)) + math.log(half)
        for (own, _), half in zip(found, halves, strict=True)
    ]
    logs = np.maximum(logs, np.quantile(logs, SMALLEST)).tolist()
    mean = math.fsum(logs) / len(logs)
    variance = math.fsum((one - mean) * (one - mean) for one in logs) / (len(logs) - 1)
    beyond = variance - math.fsum(special.polygamma(1, halves)) / len(halves)
    if beyond <= 0:
        return math.exp(mean), math.inf
    half = _invert_trigamma(beyond)
    return math.exp(mean + float(special.digamma(half)) - math.log(half)), 2 * half


def _invert_trigamma(value: float) -> float:
    """Newton's method on the reciprocal, which is convex, from above (Smyth 2004, appendix)."""
    found = 0.5 + 1 / value
    for _ in range(STEPS):
        trigamma = float(special.polygamma(1, found))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, found))
        found += step
        if abs(step) < 1e-8 * found:
            break
    return found
