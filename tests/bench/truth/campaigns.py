"""Whole campaigns with the suite's own cells and a known truth, written as real documents.

The plan is what the host would plan; the times are drawn for all cells at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.host.campaign import plan
from suite.host.campaign.arms import known_arms
from suite.host.campaign.campaign_runner import MOST_AGAIN
from suite.model import Campaign, Document
from suite.worker import scenarios
from tests import synthetic
from tests.fakes.hosts import SAMPLES, TYPICAL, WARMUP, Array, Host, draw_levels, draw_series

BASE, OTHER = ARMS = ("cpu", "cuda")
PLANNED = [known_arms()[name] for name in ARMS]

Seconds = Callable[[Cell, str], float]
"""The true seconds a call of a cell on an arm of the plan."""

Factor = Callable[[Cell, str, int], float]
"""By how much longer a cell takes in one invocation, by the invocation's arm (controls too) and block."""


Counts = np.ndarray[Any, np.dtype[np.int_]] | int


@dataclass(frozen=True, kw_only=True)
class Calls:
    """Skewed noise of single calls, of which the mean stays what it was, whatever K is.

    A call is gamma distributed with the coefficient of variation ``cv``; ``spikes`` of the calls take
    longer by an exponential of ``size`` times the call.
    """

    cv: float = 0.3
    spikes: float = 0.01
    size: float = 2.5

    def draw(self, draw: np.random.Generator, shape: tuple[int, ...], calls: Counts) -> Array:
        """Means of so many calls, of which the expected one is 1; exact for every number of calls."""
        gamma = calls / self.cv**2
        total = draw.gamma(gamma, 1 / gamma, shape)
        hit = draw.binomial(calls, self.spikes, shape)
        more = draw.gamma(np.maximum(hit, 1e-9), self.size / calls) * (hit > 0)
        means: Array = (total + more) / (1 + self.spikes * self.size)
        return means


SKEWED = Calls()
"""As the cells of the committed sample that have a K of 2 to 5: the mean of a cell's samples is 2 to 5 %
above their median, which is what a single call's skew leaves at such a K."""


def _same(cell: Cell, arm: str, block: int) -> float:
    return 1.0


@dataclass(frozen=True, kw_only=True)
class Planted:
    """What is true in a campaign, and how its machine behaves.

    ``factor`` is what some invocation has beside the truth, and ``lasts`` whether it has that again when its
    block is measured again.  ``calls`` is K by arm, of all cells that
    have several samples, whose noise is then ``skew``.  ``results`` are the fields that the results
    of a cell on an arm have beside its times (``traced``: in the calibration alone).
    """

    seconds: Seconds
    host: Host = TYPICAL
    factor: Factor = _same
    lasts: bool = False
    calls: Mapping[str, int] = field(default_factory=dict)
    skew: Calls | None = None
    results: Callable[[Cell, str], Mapping[str, Any]] = lambda _cell, _arm: {}
    traced: Callable[[Cell, str], Mapping[str, float]] | None = None
    change: Callable[[Document], Document] = lambda document: document


@cache
def plan_cells(profile: ProfileName = "standard", also: tuple[str, ...] = ()) -> tuple[Cell, ...]:
    """The cells of a campaign of both arms, and those of the profile full that are asked for besides."""
    cells = scenarios.cells()
    chosen = plan.choose_cells(cells, profile, PLANNED, ())
    more = plan.choose_cells(cells, "full", PLANNED, also) if also else []
    wanted = {cell.id for cell in (*chosen, *more)}
    return tuple(cell for cell in cells if cell.id in wanted)


def make_plan(
    *,
    blocks: int = 5,
    seed: int = 7,
    profile: ProfileName = "standard",
    also: tuple[str, ...] = (),
    calls: Mapping[str, int] | None = None,
) -> Campaign:
    """The plan of a standard campaign of both arms, with its controls."""
    cells = list(plan_cells(profile, also))
    campaign = synthetic.make_campaign(
        arms=ARMS, blocks=blocks, cells=cells, profile=profile, seed=seed
    )
    calls = calls or {}
    return replace(
        campaign,
        controls=plan.choose_controls(cells, profile),
        calls={
            arm: {cell.id: calls.get(arm, 10) for cell in cells if not cell.one_shot}
            for arm in ARMS
        },
    )


def make_documents(campaign: Campaign, planted: Planted) -> list[Document]:
    """The documents of every invocation, the calibration's and the controls' among them."""
    return [
        _make_document(campaign, planted, arm, block, series)
        for number, arm in enumerate([*campaign.arms, *plan.control_arms(campaign)])
        for series in [
            _draw(campaign, planted, arm, np.random.default_rng([campaign.seed, number]))
        ]
        for block in range(0 if arm in campaign.arms else 1, campaign.blocks + 1)
    ]


def _make_document(
    campaign: Campaign, planted: Planted, arm: str, block: int, series: Array
) -> Document:
    """The made-up times of the document that all share, with these seconds a call in their place."""
    names = tuple(cell.id for cell in campaign.cells)
    bare = _skeleton(campaign.profile, campaign.blocks, names, arm, block)
    real, cells = arm_of(arm), []
    drawn = series[:, max(block, 1) - 1].tolist()
    for one, cell, seconds in zip(bare.cells, plan.cells_of(campaign, arm), drawn, strict=True):
        fields = dict(planted.results(cell, real))
        if planted.traced is not None and block == 0:
            fields["trace"] = dict(planted.traced(cell, real))
        if calls := campaign.calls[real].get(cell.id):
            fields |= {"warmup_s": seconds[:WARMUP], "samples_s": seconds[WARMUP:]}
            fields["calls_per_sample"] = calls
        else:  # a one-shot cell
            fields |= {"samples_s": seconds[-1:], "first_call_s": seconds[-1]}
        cells.append(replace(one, **fields))
    identity = replace(bare.campaign, seed=campaign.seed)
    return planted.change(replace(bare, cells=cells, campaign=identity))


def measure_again(
    campaign: Campaign,
    documents: list[Document],
    planted: Planted,
    find: Callable[[Campaign, list[Document]], tuple[str, int, float] | None],
) -> tuple[Campaign, list[Document]]:
    """What the host leaves after its last block: the blocks that it measures again among the documents.

    A new measurement draws its own noise, and has the invocation's factor once more where ``planted`` says
    that it has one.
    """
    arms = [*campaign.arms, *plan.control_arms(campaign)]
    while len(campaign.again) < MOST_AGAIN and (odd := find(campaign, documents)) is not None:
        again = plan.decide_again(odd, documents)
        campaign = replace(campaign, again=[*campaign.again, again])
        stays = planted if planted.lasts else replace(planted, factor=_same)
        for number, arm in enumerate(arms):
            draw = np.random.default_rng([campaign.seed, number, again.block, again.repeat])
            made = _make_document(
                campaign, stays, arm, again.block, _draw(campaign, stays, arm, draw)
            )
            invocation = replace(made.invocation, repeat=again.repeat)
            documents = [*documents, replace(made, invocation=invocation)]
    return campaign, documents


def write(folder: Path, campaign: Campaign, planted: Planted) -> Path:
    """The campaign's folder, as the host leaves it."""
    return synthetic.write_campaign(folder, campaign, make_documents(campaign, planted))


def arm_of(arm: str) -> str:
    """The arm of the plan whose times a control has: of the CUDA image without its GPU the CPU's."""
    return BASE if arm == "cuda-hidden" else arm.removesuffix("-twin")


def _draw(campaign: Campaign, planted: Planted, arm: str, draw: np.random.Generator) -> Array:
    """Seconds a call of every sample: cells by blocks by samples, warm-up included."""
    cells, blocks, real = plan.cells_of(campaign, arm), campaign.blocks, arm_of(arm)
    truth = np.array([planted.seconds(cell, real) for cell in cells])
    factor = [[planted.factor(c, arm, block + 1) for block in range(blocks)] for c in cells]
    host = planted.host
    if planted.skew is not None:
        host = replace(host, within=0.0)
    levels = draw_levels(host, draw, cells=len(cells), blocks=blocks)
    series = np.exp(draw_series(host, draw, levels, WARMUP + SAMPLES))
    if planted.skew is not None:
        calls = np.array([campaign.calls[real].get(cell.id, 1) for cell in cells])
        series *= planted.skew.draw(draw, series.shape, calls[:, np.newaxis, np.newaxis])
    scaled: Array = series * (truth[:, np.newaxis] * np.array(factor))[..., np.newaxis]
    return scaled


@lru_cache(maxsize=512)
def _skeleton(
    profile: ProfileName, blocks: int, names: tuple[str, ...], arm: str, block: int
) -> Document:
    """An invocation's document, whose times are nobody's: all campaigns of one plan share it."""
    ids = set(names)
    cells = [cell for cell in scenarios.cells() if cell.id in ids]
    campaign = synthetic.make_campaign(arms=ARMS, blocks=blocks, cells=cells, profile=profile)
    made = synthetic.make_document(
        campaign,
        arm,
        block,
        truth=lambda _cell, _arm: 1e-3,
        host=synthetic.SILENT,
        samples=1,
        warmup=1,
    )
    campaign = replace(campaign, controls=plan.choose_controls(cells, profile))
    kept = {cell.id for cell in plan.cells_of(campaign, arm)}
    return replace(made, cells=[cell for cell in made.cells if cell.id in kept])
