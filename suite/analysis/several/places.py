"""A survey's campaigns set beside each other: how far the GPUs of a machine differ, and what it costs
each that the others are at work.  Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import geometric_mean, median

from suite.analysis.campaign.conclude import judge_all
from suite.analysis.campaign.summarise import ArmResult, Summary, refuse_ratio
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.numbers.ratio import Ratio, compare
from suite.analysis.numbers.verdict import MARGIN
from suite.analysis.several.comparison import Contrast, find_invalid
from suite.cells.cell import Cell
from suite.flags import Flag, raise_flag
from suite.model import Document, Survey


@dataclass(frozen=True, kw_only=True)
class Surveyed:
    """The analysis of a survey.

    ``alone`` and ``at_once`` are the campaigns by GPU.  ``apart`` holds each GPU but the first
    against the first, both alone; ``crowded`` each GPU at once against itself alone; ``pooled`` the
    geometric mean over the GPUs at once against that alone; all are paired by round.  ``on_gpu`` are
    the cells that time again and again what was seen to run on a GPU, as opposed to starts, input
    pipelines, and work that is pinned to the processor.  ``lonely`` are the rounds whose turn at once
    does not count, because some GPU did not finish it.  ``overlap`` is the least share of an
    invocation's measuring, over those at once, in which all others measured too; None: there is none.
    """

    survey: Survey
    cells: tuple[Cell, ...]
    lonely: tuple[int, ...]
    alone: Mapping[str, Summary]
    at_once: Mapping[str, Summary]
    apart: Mapping[str, Contrast]
    crowded: Mapping[str, Contrast]
    pooled: Contrast
    on_gpu: frozenset[str]
    overlap: float | None

    @property
    def summaries(self) -> list[Summary]:
        """Every campaign, those of one GPU alone first."""
        return [*self.alone.values(), *self.at_once.values()]

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Those of the campaigns of one GPU alone; the others' say besides that they are not alone."""
        return tuple(one for summary in self.alone.values() for one in summary.flags)

    @property
    def spreads(self) -> dict[str, float]:
        """The slowest GPU's time over the fastest one's, by cell, where all have a number that counts."""
        found = {c.id: [find_result(one, c.id) for one in self.alone.values()] for c in self.cells}
        known = {
            name: [
                one.estimate.value for one in results if one and one.estimate and not one.invalid
            ]
            for name, results in found.items()
        }
        return {n: max(v) / min(v) for n, v in known.items() if len(v) == len(self.alone) > 1}

    def of_gpu(self, contrast: Contrast) -> dict[str, Ratio]:
        """The sound ratios of cells that tell of a GPU: samples of work that was seen on one."""
        return {name: one for name, one in contrast.sound.items() if name in self.on_gpu}


def find_result(summary: Summary, identity: str) -> ArmResult | None:
    """What a campaign knows of a cell on its GPU; None: it is not in its plan."""
    (arm, *_) = summary.campaign.gpu_arms
    return next((one.arms[arm] for one in summary.cells if one.cell.id == identity), None)


def drop_lonely(
    survey: Survey, loaded: Mapping[str, LoadedCampaign]
) -> tuple[dict[str, LoadedCampaign], tuple[int, ...]]:
    """The campaigns without the blocks at once that some GPU did not finish, controls among them, and
    the numbers of these: what the others measured then met fewer neighbours, or none.

    Args:
        survey: the plan.
        loaded: its campaigns by id, those that there are.
    """
    at_once = [one.campaign for one in survey.members if one.at_once]
    turns = [_find_turns(loaded[name]) if name in loaded else {} for name in at_once]
    arms = {arm for one in turns for arm, _ in one}
    begun = {block for one in turns for _, block in one}
    whole = {
        block for block in begun if all(one.get((arm, block)) for one in turns for arm in arms)
    }
    kept = {
        name: replace(
            one,
            documents=[d for d in one.documents if d.invocation.block in whole],
            controls=[d for d in one.controls if d.invocation.block in whole],
        )
        if name in at_once
        else one
        for name, one in loaded.items()
    }
    return kept, tuple(sorted(begun - whole))


def _find_turns(loaded: LoadedCampaign) -> dict[tuple[str, int], bool]:
    """Every turn that was begun, by arm and block, and whether its last invocation was finished."""
    return {
        (one.invocation.arm, one.invocation.block): one.invocation.status == "complete"
        and all(cell.outcome != "pending" for cell in one.cells)
        for one in (*loaded.documents, *loaded.controls)
    }


def analyse(
    survey: Survey, summaries: Mapping[str, Summary], lonely: tuple[int, ...] = ()
) -> Surveyed:
    """The analysis of a survey from those of its campaigns, by their ids; deterministic.

    Args:
        survey: the plan.
        summaries: of those campaigns that there are yet; a GPU counts where it was measured alone.
        lonely: the rounds whose turn at once was dropped (see `drop_lonely`).
    """
    alone, at_once = (
        {
            one.gpu: summaries[one.campaign]
            for one in survey.members
            if one.at_once == busy and one.campaign in summaries
        }
        for busy in (False, True)
    )
    cells = {
        one.cell.id: one.cell
        for found in (*alone.values(), *at_once.values())
        for one in found.cells
    }
    seen_on_gpu = {
        result.id
        for summary in alone.values()
        for document in summary.counted.get(summary.campaign.gpu_arms[0], {}).values()
        for result in document.cells
        if any(device.startswith("GPU") for device in result.placement)
    }
    gpus = list(alone)
    # Means over the GPUs say something of the machine only where every GPU is among them.
    whole = gpus if list(at_once) == gpus else []
    return Surveyed(
        survey=survey,
        cells=tuple(cells.values()),
        lonely=lonely,
        alone=alone,
        at_once=at_once,
        apart={gpu: _contrast([alone[gpus[0]]], [alone[gpu]], cells) for gpu in gpus[1:]},
        crowded={
            gpu: _contrast([alone[gpu]], [found], cells)
            for gpu, found in at_once.items()
            if gpu in alone
        },
        pooled=_contrast([alone[gpu] for gpu in whole], [at_once[gpu] for gpu in whole], cells),
        on_gpu=frozenset(
            name for name, cell in cells.items() if not cell.one_shot and name in seen_on_gpu
        ),
        overlap=find_overlap(
            [one.counted.get(one.campaign.gpu_arms[0], {}) for one in at_once.values()]
        ),
    )


def _contrast(base: Sequence[Summary], other: Sequence[Summary], names: Iterable[str]) -> Contrast:
    """The geometric mean over the campaigns of one side over that of the other, by cell."""
    both = [*base, *other]
    # Turns are paired by round, but no GPU's noise is measured by another's twins.
    margin = max([MARGIN, *(one.conclusions.floor or 0.0 for one in both)])
    found = {name: [r for one in both if (r := find_result(one, name))] for name in names}
    ratios: dict[str, Ratio | Flag] = {}
    for name, results in found.items():
        if len(results) < len(both) or not both:
            ratios[name] = raise_flag("no-number")
            continue
        values = [one.values for one in results]
        ratios[name] = (
            refuse_ratio(*results)
            or compare(pool(values[: len(base)]), pool(values[len(base) :]))
            or raise_flag("no-common-block")
        )
    invalid = find_invalid(found)
    profiles = [one.campaign.profile for one in both]
    verdicts = judge_all(ratios, *profiles, margin=margin, invalid=invalid)
    return Contrast(ratios=ratios, verdicts=verdicts, invalid=invalid, margin=margin)


def pool(values: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The geometric mean over several campaigns of their invocations' values, by block, of the blocks
    that all of them have."""
    common = set.intersection(*(set(one) for one in values)) if values else set()
    return {block: geometric_mean([one[block] for one in values]) for block in sorted(common)}


def find_overlap(arms: Sequence[Mapping[int, Document]]) -> float | None:
    """The least share of an invocation's measuring in which all others of its block measured too.

    From the first cell's start to the last one's end, by the worker's clock.

    Args:
        arms: the documents of each GPU by block; with fewer than two there is no overlap to find.
    """
    shares = []
    for block in set.intersection(*(set(one) for one in arms)) if len(arms) > 1 else ():
        spans = [span for one in arms if (span := _span(one[block]))]
        if len(spans) < len(arms):
            continue
        common = min(end for _, end in spans) - max(start for start, _ in spans)
        shares += [max(0.0, common / (end - start)) for start, end in spans if end > start]
    return min(shares, default=None)


def _span(document: Document) -> tuple[datetime, datetime] | None:
    # What the host times from outside has no first call, and begins before the worker does.
    measured = [one for one in document.cells if one.first_call_s is not None]
    starts = [one.started for one in measured if one.started]
    ends = [one.ended for one in measured if one.ended]
    return (min(starts), max(ends)) if starts and ends else None


def middle(ratios: Iterable[Ratio]) -> float | None:
    """The median of some ratios; None: there is none.  Of an even number, the geometric mean of two."""
    logs = [math.log(one.value) for one in ratios]
    return math.exp(median(logs)) if logs else None
