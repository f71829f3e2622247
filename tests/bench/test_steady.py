"""Steps and drifts found, steady series left alone, and what that does to the median."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from suite.analysis.result.cells import SteadyClass
from suite.analysis.statistics.warmup import find_steady, find_steady_each
from tests.bench.rates import count
from tests.fakes.hosts import HOSTS, SAMPLES, WARMUP, Array, Host, draw_series

SERIES = 800
COUNT = WARMUP + SAMPLES
PLAIN = Host(between=0.0, within=0.01)
SPIKY = replace(PLAIN, spikes=0.05)


def draw_all(host: Host, draw: np.random.Generator, count: int = COUNT) -> Array:
    return draw_series(host, draw, np.zeros(SERIES), count)


def find_all(logs: Array, warmup: int = WARMUP) -> list[tuple[SteadyClass, int]]:
    return find_steady_each((row[:warmup], row[warmup:]) for row in np.exp(logs).tolist())


@pytest.mark.parametrize(
    ("host", "size", "share"),
    [
        *((PLAIN, size, 0.95) for size in (0.03, -0.03, 0.1)),
        # One sample in twenty a spike: the smallest steps are still found in six of seven series.
        *((SPIKY, size, 0.85) for size in (0.03, -0.03)),
    ],
)
def test_a_step_is_found(host: Host, size: float, share: float) -> None:
    draw = np.random.default_rng(10)
    logs, places = draw_all(host, draw), draw.integers(50, 81, SERIES)
    found = find_all(logs + size * (np.arange(COUNT) >= places[:, np.newaxis]))
    rate = count([kind != "flat" for kind, _ in found])
    assert rate.is_at_least(share), str(rate)


@pytest.mark.parametrize("size", [0.05, -0.05])
def test_a_drift_is_found(size: float) -> None:
    draw = np.random.default_rng(11)
    logs = draw_all(PLAIN, draw, 100) + np.linspace(0, size, 100)
    rate = count([kind != "flat" for kind, _ in find_all(logs)])
    assert rate.is_at_least(0.95), str(rate)


@pytest.mark.parametrize("spikes", [0.0, 0.05, 0.1])
@pytest.mark.parametrize("samples", [60, 100, 150])
def test_a_steady_series_is_left_alone(spikes: float, samples: int) -> None:
    rates = []
    for within in (0.002, 0.01, 0.02):
        draw = np.random.default_rng(12)
        logs = draw_all(Host(between=0.0, within=within, spikes=spikes), draw, samples)
        rates += [kind != "flat" for kind, _ in find_all(logs)]
    assert count(rates).is_at_most(0.02), str(count(rates))


@pytest.mark.parametrize(
    ("name", "start"), [("steady", 0), ("warming up", 30), ("slowing down", COUNT // 2)]
)
def test_the_steady_median_is_hardly_biased(name: str, start: int) -> None:
    """``start`` is the first truly steady sample, in a series without samples of warm-up."""
    host = replace(HOSTS[name], spikes=0.03) if name in HOSTS else SPIKY
    draw = np.random.default_rng(13)
    logs = draw_all(host, draw)
    found = find_all(logs, warmup=0)
    ours = [np.median(row[start:]) for row, (_, start) in zip(logs, found, strict=True)]
    assert np.quantile(np.abs(ours - np.median(logs[:, start:], axis=1)), 0.95) <= 0.003
    if name == "slowing down":
        # What a fixed discard of the first 30 samples would report.
        logs = draw_all(host, draw)
        fixed = np.median(logs[:, WARMUP:], axis=1) - np.median(logs[:, start:], axis=1)
        assert np.quantile(np.abs(fixed), 0.95) > 0.003


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("quiet", {"flat"}),
        ("typical", {"flat"}),
        ("warming up", {"warmup"}),
        ("slowing down", {"slowdown"}),
        ("stepping late", {"unsteady"}),
        ("never steady", {"unsteady"}),
    ],
)
def test_every_host_is_told_by_its_class(name: str, kinds: set[str]) -> None:
    draw = np.random.default_rng(14)
    found = find_all(draw_all(HOSTS[name], draw))
    rate = count([kind in kinds for kind, _ in found])
    assert rate.is_at_least(0.9), f"{rate}: { {kind for kind, _ in found} }"


def test_a_series_is_the_same_beside_others_as_alone() -> None:
    draw = np.random.default_rng(12)
    pairs: list[tuple[list[float], list[float]]] = []
    for length in (49, 50, 400, 51, 90, 90, 200, 50):
        (series,) = np.exp(draw_series(SPIKY, draw, np.zeros(1), length)).tolist()
        slow = [sample * (1.1 if at < length // 3 else 1.0) for at, sample in enumerate(series)]
        pairs += [(series[:20], series[20:]), (slow[:20], slow[20:])]
    found = find_steady_each(pairs)
    assert found == [find_steady(*pair) for pair in pairs]
    assert {kind for kind, _ in found} >= {"too few", "flat", "warmup"}


def test_too_few_samples_are_too_few() -> None:
    assert find_steady([1.0] * 19, [2.0] * 30) == ("too few", 0)
    assert find_steady([1.0] * 20, [2.0] * 30) == ("slowdown", 0)
    assert find_steady([1.0] * 60, []) == ("too few", 0)
    assert find_steady([], [1.0] * 60) == ("flat", 0)


def test_only_the_steady_samples_count() -> None:
    found = find_steady([1.0] * 30, [1.0] * 20 + [1.1] * 50)
    assert found == ("slowdown", 20)
    found = find_steady([1.5] * 30, [1.2] * 20 + [1.0] * 50)
    assert found == ("warmup", 20)
    assert find_steady([1.0] * 30, [1.0] * 60 + [1.1] * 10)[1] == 0
