"""The numbers of ``summary.json`` computed once more from the documents alone, in another way.

Nothing of the suite's report is used but the text that it made; statistics are scipy's own.
"""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from tests import synthetic
from tests.bench.test_campaigns import make
from tests.fakes.hosts import HOSTS
from tests.rendering import report_folder

NEAR = 1e-9


def segment(logs: np.ndarray[Any, Any]) -> list[int]:
    """The edges of the cheapest segmentation, by the textbook dynamic programme."""
    count, width = len(logs), min(51, len(logs))
    begins = np.clip(np.arange(count) - width // 2, 0, count - width)
    windows = np.lib.stride_tricks.sliding_window_view(logs, width)[begins]
    low, high = np.quantile(windows, [0.25, 0.75], axis=1, method="nearest")
    middle, reach = np.median(windows, axis=1), 3 * (high - low)
    clipped = np.clip(logs, middle - reach, middle + reach)
    noise = stats.median_abs_deviation(np.diff(clipped), scale="normal") / math.sqrt(2)
    price = 15 * math.log(count) * max(noise, 1e-3) ** 2
    sums, squares = (np.concatenate([[0], np.cumsum(clipped**power)]) for power in (1, 2))
    best, previous = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=int)
    best[0] = -price
    for end in range(5, count + 1):
        begins = np.arange(end - 4)
        costs = best[begins] + price + squares[end] - squares[begins]
        costs -= (sums[end] - sums[begins]) ** 2 / (end - begins)
        previous[end] = np.argmin(costs)
        best[end] = costs[previous[end]]
    edges = [count]
    while edges[0]:
        edges.insert(0, int(previous[edges[0]]))
    return edges


def read_value(cell: dict[str, Any]) -> float:
    series = np.array(cell["warmup_s"] + cell["samples_s"])
    warmup = len(cell["warmup_s"])
    begin = 0
    if len(series) >= 50:
        logs = np.log(series)
        edges = segment(logs)
        levels = [np.median(logs[a:b]) for a, b in itertools.pairwise(edges)]
        last = levels[-1]
        keep = len(levels) - 1
        while keep and abs(levels[keep - 1] - last) <= 0.01:
            keep -= 1
        begin = edges[keep]
        if len(series) - begin < len(series) / 4 or len(series) - max(begin, warmup) < 5:
            begin = 0
    return float(np.mean(series[max(begin, warmup) :]))


def gather(folder: Path) -> dict[str, dict[str, dict[int, float]]]:
    values: dict[str, dict[str, dict[int, float]]] = {}
    for path in sorted(folder.glob("*-[0-9][0-9].json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        arm, block = document["invocation"]["arm"], document["invocation"]["block"]
        for cell in document["cells"]:
            values.setdefault(arm, {}).setdefault(cell["id"], {})[block] = read_value(cell)
    return values


def compare(base: dict[int, float], other: dict[int, float]) -> tuple[list[float], float]:
    logs = [math.log(other[block] / base[block]) for block in base if block in other]
    test = stats.ttest_1samp(logs, 0.0)
    interval = test.confidence_interval(0.95)
    ends = [float(np.mean(logs)), float(interval.low), float(interval.high)]
    return [math.exp(one) for one in ends], float(test.pvalue)


def moderate(samples: list[list[float]]) -> list[float]:
    """The p-values of moderated t tests, by the formulas of Smyth 2004, section 6.2; of under three none."""
    if len(samples) < 3:
        return [0.0] * len(samples)
    freedom = len(samples[0]) - 1
    variances = np.var(samples, axis=1, ddof=1)
    logs = np.log(variances) - special.digamma(freedom / 2) + math.log(freedom / 2)
    logs = logs.clip(min=np.percentile(logs, 10))
    excess = float(np.var(logs, ddof=1) - special.polygamma(1, freedom / 2))
    most = freedom * len(samples)
    prior, scale = float(most), math.exp(np.mean(logs))
    if excess > 0:
        half = optimize.brentq(lambda x: special.polygamma(1, x) - excess, 1e-3, 1e9)
        scale *= math.exp(special.digamma(half) - math.log(half))
        prior = min(2 * half, most)
    drawn = (prior * scale + freedom * variances) / (prior + freedom)
    found = np.mean(samples, axis=1) / np.sqrt(drawn / (freedom + 1))
    ps: list[float] = (2 * stats.t.sf(np.abs(found), min(prior + freedom, most))).tolist()
    return ps


def adjust(ps: list[float]) -> list[float]:
    """Holm's adjusted p-values from their definition: a maximum over the smaller ones."""
    ordered = sorted(ps)
    steps = [min(1.0, (len(ps) - rank) * p) for rank, p in enumerate(ordered)]
    return [max(steps[: ordered.index(p) + 1]) for p in ps]


@pytest.mark.parametrize(
    "name", ["slowing down", pytest.param("never steady", marks=pytest.mark.method)]
)
def test_everything_comes_out_the_same(tmp_path: Path, name: str) -> None:
    folder = synthetic.write_campaign(tmp_path, *make(HOSTS[name], blocks=5))
    summary = json.loads(report_folder(folder, pictures=False).files["summary.json"])
    values = gather(folder)
    ps: dict[bool, list[float]] = {True: [], False: []}
    samples: dict[bool, list[list[float]]] = {True: [], False: []}
    stated: dict[bool, list[tuple[dict[str, Any], float]]] = {True: [], False: []}
    for cell in summary["cells"]:
        for arm in ("cpu", "cuda"):
            logs = np.log(list(values[arm][cell["id"]].values()))
            low, high = stats.t.interval(0.95, 4, loc=np.mean(logs), scale=stats.sem(logs))
            found = cell["arms"][arm]
            ours = [found["value"], found["low"], found["high"]]
            theirs = [math.exp(one) for one in (float(np.mean(logs)), low, high)]
            assert ours == pytest.approx(theirs, rel=NEAR, abs=0)
        base, other = values["cpu"][cell["id"]], values["cuda"][cell["id"]]
        ends, p = compare(base, other)
        ours = [cell["ratio"], cell["ratio_low"], cell["ratio_high"]]
        assert ours == pytest.approx(ends, rel=NEAR, abs=0)
        is_work = cell["role"] == "work"
        ps[is_work].append(p)
        samples[is_work].append([math.log(other[block] / base[block]) for block in base])
        stated[is_work].append((cell, cell["comparisons"]["cuda"]["verdict"]["p_holm"]))
    for is_work, pairs in stated.items():
        assert pairs
        larger = list(map(max, ps[is_work], moderate(samples[is_work])))
        # Else the family's part would not be tried.
        assert (larger != ps[is_work]) == is_work
        assert [p for _, p in pairs] == pytest.approx(adjust(larger), rel=NEAR, abs=1e-15)
    twins = [
        compare(values[arm][one], twin)[0]
        for arm in ("cpu", "cuda")
        for one, twin in values[f"{arm}-twin"].items()
    ]
    off = [abs(ratio - 1) for ratio, _, _ in twins]
    assert summary["noise_floor"] == pytest.approx(np.percentile(off, 95), rel=NEAR, abs=0)
    missed = [max(0.0, low - 1, 1 / high - 1) for _, low, high in twins]
    margin = max(0.02, float(np.percentile(missed, 95)))
    assert summary["margin"] == pytest.approx(margin, rel=NEAR, abs=0)
    for is_work, pairs in stated.items():
        for cell, p in pairs:
            off_by = min(abs(cell["ratio"] - 1), abs(1 / cell["ratio"] - 1))
            flagged = p < (0.04 if is_work else 0.01) and off_by > margin
            assert (cell["verdict"] in {"FASTER", "SLOWER"}) == flagged
