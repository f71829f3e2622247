"""A survey's campaigns set beside each other: how far the GPUs of a machine differ, and what it costs
each that the others are at work.  Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from suite.analysis.campaign.conclude import judge_all
from suite.analysis.campaign.summarise import (
    ArmResult,
    CellSummary,
    Summary,
    refuse_ratio,
)
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.numbers.ratio import Ratio, compare
from suite.analysis.numbers.verdict import MARGIN, Verdict
from suite.cells.cell import Cell
from suite.flags import Flag, raise_flag
from suite.model import Document, Survey

ARM = "cuda"
"""The arm that a survey is about."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Times over other times by cell, paired by round, and what they amount to.

    ``margin`` is what a difference must exceed: the largest of the campaigns that it rests on.
    """

    ratios: Mapping[str, Ratio | Flag]
    verdicts: Mapping[str, Verdict | Flag]
    margin: float

    @property
    def sound(self) -> dict[str, Ratio]:
        """The ratios of cells that are not INVALID."""
        return {
            name: one
            for name, one in self.ratios.items()
            if isinstance(one, Ratio)
            and not (isinstance(v := self.verdicts[name], Verdict) and v.name == "INVALID")
        }


@dataclass(frozen=True, kw_only=True)
class Surveyed:
    """The analysis of a survey.

    ``alone`` and ``at_once`` are the campaigns by GPU.  ``apart`` holds each GPU but the first
    against the first, both alone; ``crowded`` each GPU at once against itself alone; ``pooled`` the
    geometric mean over the GPUs at once against that alone.  ``on_gpu`` are the cells that time again
    and again what was seen to run on a GPU, as opposed to starts, input pipelines, and work that is
    pinned to the processor.  ``lonely`` are the rounds whose turn at once does not count, because some
    GPU did not finish it.  ``overlap`` is the least share of an
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

    def of_gpu(self, contrast: Contrast) -> dict[str, Ratio]:
        """The sound ratios of cells that tell of a GPU: samples of work that was seen on one."""
        return {name: one for name, one in contrast.sound.items() if name in self.on_gpu}

    def result(self, summary: Summary, identity: str) -> ArmResult | None:
        """What a campaign knows of a cell on its GPU; None: it is not in its plan."""
        return next((c.arms[ARM] for c in summary.cells if c.cell.id == identity), None)


def drop_lonely(
    survey: Survey, loaded: Mapping[str, LoadedCampaign]
) -> tuple[dict[str, LoadedCampaign], tuple[int, ...]]:
    """The campaigns without the blocks at once that some GPU did not finish, and the numbers of these:
    what the others measured then met fewer neighbours, or none.

    Args:
        survey: the plan.
        loaded: its campaigns by id, those that there are.
    """
    at_once = [one.campaign for one in survey.members if one.at_once]
    begun: set[int] = set()
    whole: set[int] | None = None
    for name in at_once:
        documents = loaded[name].documents if name in loaded else []
        last = {one.invocation.block: one for one in documents if one.invocation.block >= 1}
        done = {
            block
            for block, one in last.items()
            if one.invocation.status == "complete"
            and all(cell.outcome != "pending" for cell in one.cells)
        }
        begun |= set(last)
        whole = done if whole is None else whole & done
    kept = {
        name: one
        if name not in at_once
        else replace(
            one,
            documents=[d for d in one.documents if d.invocation.block in (whole or ())],
            controls=[d for d in one.controls if d.invocation.block in (whole or ())],
        )
        for name, one in loaded.items()
    }
    return kept, tuple(sorted(begun - (whole or set())))


def analyse(
    survey: Survey, summaries: Mapping[str, Summary], lonely: tuple[int, ...] = ()
) -> Surveyed:
    """The analysis of a survey from those of its campaigns, by their ids; deterministic.

    Args:
        survey: the plan.
        summaries: of those campaigns that there are yet; a GPU counts where it was measured alone.
        lonely: the rounds whose turn at once was dropped (see `drop_lonely`).
    """
    alone = _pick(survey, summaries, at_once=False)
    at_once = _pick(survey, summaries, at_once=True)
    first = next(iter(alone), None)
    cells = tuple(
        {
            one.cell.id: one.cell
            for found in (*alone.values(), *at_once.values())
            for one in found.cells
            if not one.cell.arms or ARM in one.cell.arms
        }.values()
    )
    names = [cell.id for cell in cells]
    tables = {one.campaign.id: _index(one) for one in (*alone.values(), *at_once.values())}
    on_gpu = _find_on_gpu(alone.values())
    # Means over the GPUs say something of the machine only where every GPU is among them.
    whole = bool(at_once) and list(at_once) == list(alone)
    return Surveyed(
        survey=survey,
        cells=cells,
        lonely=lonely,
        alone=alone,
        at_once=at_once,
        apart={
            gpu: _contrast([alone[first]], [found], tables, names)
            for gpu, found in alone.items()
            if first is not None and gpu != first
        },
        crowded={
            gpu: _contrast([alone[gpu]], [found], tables, names)
            for gpu, found in at_once.items()
            if gpu in alone
        },
        pooled=_contrast(
            list(alone.values()) if whole else [],
            list(at_once.values()) if whole else [],
            tables,
            names,
        ),
        on_gpu=frozenset(cell.id for cell in cells if not cell.one_shot and cell.id in on_gpu),
        overlap=find_overlap([one.counted.get(ARM, {}) for one in at_once.values()]),
    )


def _pick(survey: Survey, summaries: Mapping[str, Summary], *, at_once: bool) -> dict[str, Summary]:
    return {
        one.gpu: summaries[one.campaign]
        for one in survey.members
        if one.at_once == at_once and one.campaign in summaries
    }


def _find_on_gpu(summaries: Iterable[Summary]) -> set[str]:
    """The cells whose work was seen on a GPU in some counted invocation."""
    return {
        result.id
        for summary in summaries
        for document in summary.counted.get(ARM, {}).values()
        for result in document.cells
        if any(device.startswith("GPU") for device in result.placement)
    }


Table = Mapping[str, CellSummary]


def _index(summary: Summary) -> dict[str, CellSummary]:
    return {one.cell.id: one for one in summary.cells}


def _contrast(
    base: Sequence[Summary],
    other: Sequence[Summary],
    tables: Mapping[str, Table],
    names: Sequence[str],
) -> Contrast:
    """The geometric mean over the campaigns of one side over that of the other, by cell."""
    both = [*base, *other]
    floors = [one.conclusions.floor or 0.0 for one in both]
    # Turns are paired by round, but no GPU's noise is measured by another's twins.
    margin = max([MARGIN, *floors])
    ratios: dict[str, Ratio | Flag] = {}
    invalid: dict[str, tuple[Flag, ...]] = {}
    for name in names:
        sides = [
            [
                tables[one.campaign.id][name].arms[ARM]
                for one in side
                if name in tables[one.campaign.id]
            ]
            for side in (base, other)
        ]
        results = [one for side in sides for one in side]
        found = next((one.invalid for one in results if one.invalid), None)
        if found:
            invalid[name] = found
        here = len(results) == len(both) > 0
        refused = refuse_ratio(*results) if here else raise_flag("no-number")
        if refused is not None:
            ratios[name] = refused
            continue
        first, second = (pool([one.values for one in side]) for side in sides)
        ratios[name] = compare(first, second) or raise_flag("no-common-block")
    profiles = [one.campaign.profile for one in both]
    verdicts = judge_all(ratios, *profiles, margin=margin, invalid=invalid)
    return Contrast(ratios=ratios, verdicts=verdicts, margin=margin)


def pool(values: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The geometric mean over several campaigns of their invocations' values, by block, of the blocks
    that all of them have."""
    common = set.intersection(*(set(one) for one in values)) if values else set()
    return {
        block: math.exp(math.fsum(math.log(one[block]) for one in values) / len(values))
        for block in sorted(common)
    }


def find_overlap(arms: Sequence[Mapping[int, Document]]) -> float | None:
    """The least share of an invocation's measuring in which all others of its block measured too.

    From the first cell's start to the last one's end, by the worker's clock.

    Args:
        arms: the documents of each GPU by block; with fewer than two there is no overlap to find.
    """
    shares = []
    if len(arms) > 1:
        for block in set.intersection(*(set(one) for one in arms)):
            spans = [_span(one[block]) for one in arms]
            if None in spans:
                continue
            known = [one for one in spans if one is not None]
            begin = max(start for start, _ in known)
            end = min(end for _, end in known)
            common = max(0.0, (end - begin).total_seconds())
            shares += [
                common / length
                for start, stop in known
                if (length := (stop - start).total_seconds()) > 0
            ]
    return min(shares, default=None)


def _span(document: Document) -> tuple[datetime, datetime] | None:
    # What the host times from outside has no first call, and begins before the worker does.
    measured = [one for one in document.cells if one.first_call_s is not None]
    starts = [one.started for one in measured if one.started]
    ends = [one.ended for one in measured if one.ended]
    return (min(starts), max(ends)) if starts and ends else None


def middle(ratios: Iterable[Ratio]) -> float | None:
    """The median of some ratios; None: there is none.  Of an even number, the geometric mean of two."""
    logs = sorted(math.log(one.value) for one in ratios)
    if not logs:
        return None
    half = len(logs) // 2
    return math.exp(logs[half] if len(logs) % 2 else (logs[half - 1] + logs[half]) / 2)
