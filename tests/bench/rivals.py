"""The decision rules of other tools, as their sources have them, on the same made-up samples.

Each takes logarithms of times of two arms, blocks by samples, and says whether it would call the
arms different.  A rule that looks at one process sees the first block's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import stats

from suite.analysis.compare import judge
from suite.analysis.result.numbers import MARGIN
from suite.analysis.statistics.estimate import reduce_invocation
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.analysis.statistics.warmup import find_steady
from tests.fakes.hosts import WARMUP, Array

LEVEL = 0.05
PYPERF_VALUES = 3
"""Values that pyperf takes in each of its processes."""

NOISE_THRESHOLD = 0.01
"""Criterion's default: smaller changes are "within noise threshold"."""

RESAMPLES = 1000
"""Criterion takes 100,000, which changes its rates by less than their Monte-Carlo error."""

Rule = Callable[[Array, Array, np.random.Generator], bool]


def decide_as_pyperf(base: Array, other: Array, draw: np.random.Generator) -> bool:
    """``compare_to``: Student's t test on the values of all processes pooled, three from each."""
    first, second = (
        np.exp(arm[:, WARMUP : WARMUP + PYPERF_VALUES]).ravel() for arm in (base, other)
    )
    return bool(stats.ttest_ind(first, second).pvalue < LEVEL)


def decide_as_google_benchmark(base: Array, other: Array, draw: np.random.Generator) -> bool:
    """``compare.py``: the Mann-Whitney U test on the repetitions of one process a side."""
    first, second = (np.exp(arm[0, WARMUP:]) for arm in (base, other))
    return bool(stats.mannwhitneyu(first, second, alternative="two-sided").pvalue < LEVEL)


def decide_as_criterion(base: Array, other: Array, draw: np.random.Generator) -> bool:
    """A bootstrapped t test of one process a side, and the change's interval beyond 1 %."""
    first, second = (np.exp(arm[0, WARMUP:]) for arm in (base, other))
    pooled = np.concatenate([first, second])
    mixed = pooled[draw.integers(0, len(pooled), (RESAMPLES, len(pooled)))]
    left, right = mixed[:, : len(first)], mixed[:, len(first) :]
    resampled = (left.mean(1) - right.mean(1)) / np.sqrt(
        left.var(1, ddof=1) / len(first) + right.var(1, ddof=1) / len(second)
    )
    t = stats.ttest_ind(first, second, equal_var=False).statistic
    p = 2 * min(np.mean(resampled < t), np.mean(resampled > t))
    means = [
        side[draw.integers(0, len(side), (RESAMPLES, len(side)))].mean(1)
        for side in (first, second)
    ]
    low, high = np.quantile(means[1] / means[0] - 1, [LEVEL / 2, 1 - LEVEL / 2])
    return bool(p < LEVEL and (low > NOISE_THRESHOLD or high < -NOISE_THRESHOLD))


def decide_by_runs(base: Array, other: Array, draw: np.random.Generator) -> bool:
    """hyperfine with its ``welch_ttest.py``: one value a fresh process, all of one arm first.

    So the second arm's blocks follow the first's, and whatever drifts stands between them.
    """
    blocks = len(base) // 2
    first = np.exp(base[:blocks, WARMUP:].mean(1))
    second = np.exp(other[blocks : 2 * blocks, WARMUP:].mean(1))
    return bool(stats.ttest_ind(first, second, equal_var=False).pvalue < LEVEL)


def read_values(logs: Array) -> dict[int, float]:
    """Our invocation values by block, of one cell on one arm."""
    values = {}
    for block, row in enumerate(np.exp(logs).tolist(), 1):
        _, start = find_steady(row[:WARMUP], row[WARMUP:])
        values[block] = reduce_invocation(row[WARMUP:][start:])
    return values


def decide_by_pairs(base: Array, other: Array, draw: np.random.Generator) -> bool:
    """Our paired test alone, before Holm and the margin."""
    ratio = find_paired_ratio(read_values(base), read_values(other))
    return ratio is not None and ratio.p is not None and ratio.p < LEVEL


def decide_as_here(base: Array, other: Array, draw: np.random.Generator) -> bool:
    """Our verdict in a table of one cell: the paired test and the margin of 2 %."""
    ratio = find_paired_ratio(read_values(base), read_values(other))
    assert ratio is not None
    verdicts = judge({"": ratio}, margin=MARGIN, invalid={})
    return verdicts[""].name in {"FASTER", "SLOWER"}


RULES: Mapping[str, Rule] = {
    "google/benchmark": decide_as_google_benchmark,
    "criterion": decide_as_criterion,
    "pyperf": decide_as_pyperf,
    "hyperfine + Welch": decide_by_runs,
    "ours, the bare test": decide_by_pairs,
    "ours, the verdict": decide_as_here,
}
