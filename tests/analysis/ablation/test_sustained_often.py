"""How often a fall is told that is none, and how often one is found: on hundreds of made-up runs."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from suite.analysis.ablation.sustained import find_sustained
from suite.analysis.documents.read import LoadedCampaign
from tests.kept import IDS, SAMPLE, Machine, make_kept
from tests.rendering import load
from tests.synthetic import change_cell

NOISES = [(level, lasting) for level in (0.01, 0.03, 0.06) for lasting in (0.0, 0.9)]
"""The standard deviation of a sample's logarithm, and how much of it the next sample has as well."""


def make_runs(
    count: int, noise: tuple[float, float], *, bursts: bool = False, fall: float = 1.0
) -> Counter[str | None]:
    """The shapes of so many runs of 120 s, with a fall after 40 s to such a share of the rate."""
    campaign, documents = make_kept({"cpu": {"product": Machine()}})
    draw = np.random.default_rng(1)
    shapes: Counter[str | None] = Counter()
    for _ in range(count):
        samples = draw_run(draw, noise, bursts=bursts, fall=fall)
        changed = change_cell(
            documents[0],
            IDS["cpu"]["product"],
            samples_s=samples,
            warmup_s=samples[:1],
            calls_per_sample=1,
        )
        loaded: LoadedCampaign = load(campaign, [changed])
        kept, _ = find_sustained(loaded)
        shapes[kept.shape] += 1
    return shapes


def draw_run(
    draw: np.random.Generator, noise: tuple[float, float], *, bursts: bool, fall: float
) -> list[float]:
    level, lasting = noise
    count = round(120 / SAMPLE)
    new = draw.standard_normal(count) * level * math.sqrt(1 - lasting**2)
    logs = [draw.standard_normal() * level]
    for step in new[1:]:
        logs.append(lasting * logs[-1] + step)
    taken = np.array(logs)
    at = 0
    while bursts and at < count:
        at += int(draw.exponential(40))
        taken[at : at + int(draw.exponential(10))] += draw.uniform(0.1, 0.7)
    taken[round(40 / SAMPLE) :] -= math.log(fall)
    return [float(value) for value in SAMPLE * np.exp(taken)]


@pytest.mark.parametrize("bursts", [False, True])
def test_a_few_steady_runs_do_not_fall(bursts: bool) -> None:
    assert make_runs(10, (0.03, 0.0), bursts=bursts)["fell"] == 0
    assert make_runs(10, (0.03, 0.0), fall=0.9)["fell"] == 10


@pytest.mark.method
@pytest.mark.parametrize("noise", NOISES)
def test_a_steady_machine_hardly_ever_falls(noise: tuple[float, float]) -> None:
    assert make_runs(250, noise)["fell"] <= 0.02 * 250
    assert make_runs(250, noise, bursts=True)["fell"] <= 0.04 * 250


@pytest.mark.method
def test_a_fall_by_a_tenth_is_found() -> None:
    for level, least in ((0.01, 0.99), (0.03, 0.95), (0.06, 0.4)):
        assert make_runs(250, (level, 0.0), fall=0.9)["fell"] >= least * 250
