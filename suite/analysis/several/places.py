"""A survey's campaigns set beside each other: how far the GPUs of a machine differ, and what it costs
each that the others are at work.  Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from statistics import geometric_mean, median

from suite import __version__
from suite.analysis.compare import compare_pairs
from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.numbers.settled import hand_over
from suite.analysis.observations import Observation, observe, select, values_by_block
from suite.analysis.result.campaign import SCHEMA, Analysis
from suite.analysis.result.numbers import MARGIN, Ratio
from suite.analysis.result.several import Contrast, Surveyed
from suite.flags import raise_flag
from suite.model import Survey


def drop_unpaired(
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
        for one in loaded.every_document
    }


def compare_gpus(
    survey: Survey, analyses: Mapping[str, Analysis], unpaired: tuple[int, ...] = ()
) -> Surveyed:
    """The analysis of a survey from those of its campaigns, by their ids; deterministic.

    Args:
        survey: the plan.
        analyses: of those campaigns that there are yet; a GPU counts where it was measured alone.
        unpaired: the rounds whose turn at once was dropped (see `drop_unpaired`).
    """
    alone, at_once = (
        {
            one.gpu: analyses[one.campaign]
            for one in survey.members
            if one.at_once == busy and one.campaign in analyses
        }
        for busy in (False, True)
    )
    cells = {one.id: one for found in (*alone.values(), *at_once.values()) for one in found.cells}
    seen = {n for one in alone.values() for n, r in one.results(one.gpu_arm).items() if r.on_gpu}
    on_gpu = [name for name, one in cells.items() if name in seen and not one.one_shot]
    gpus = list(alone)
    # Means over the GPUs say something of the machine only where every GPU is among them.
    whole = gpus if list(at_once) == gpus else []
    contrast = partial(_contrast, names=list(cells), on_gpu=on_gpu)
    found = Surveyed(
        schema=SCHEMA,
        analysed_by=__version__,
        survey=survey,
        # Those at once say besides that they are not alone.
        flags=tuple(flag for one in alone.values() for flag in one.flags),
        unpaired=unpaired,
        alone={gpu: one.campaign.id for gpu, one in alone.items()},
        at_once={gpu: one.campaign.id for gpu, one in at_once.items()},
        apart={gpu: contrast([alone[gpus[0]]], [alone[gpu]]) for gpu in gpus[1:]},
        contention={
            gpu: contrast([alone[gpu]], [one]) for gpu, one in at_once.items() if gpu in alone
        },
        pooled=contrast([alone[gpu] for gpu in whole], [at_once[gpu] for gpu in whole]),
        cells=tuple(cells),
        on_gpu=tuple(on_gpu),
        spreads=dict(_find_spreads(list(alone.values()), cells)),
        overlap=find_overlap([one.arms[one.gpu_arm].measuring for one in at_once.values()]),
    )
    return hand_over(found)


def _find_spreads(alone: Sequence[Analysis], names: Iterable[str]) -> Iterator[tuple[str, float]]:
    """The slowest GPU's time over the fastest one's, of cells of which all have a number that counts."""
    tables = [one.results(one.gpu_arm) for one in alone]
    for name in names:
        results = [table[name] for table in tables if name in table]
        known = [one.value for one in results if one.value and not one.invalid]
        if len(known) == len(alone) > 1:
            yield name, max(known) / min(known)


def _contrast(
    base: Sequence[Analysis],
    other: Sequence[Analysis],
    *,
    names: Iterable[str],
    on_gpu: Collection[str],
) -> Contrast:
    """The geometric mean over the campaigns of one side over that of the other, by cell."""
    both = [*base, *other]
    # Turns are paired by round, but no GPU's noise is measured by another's twins.
    margin = max([MARGIN, *(one.noise_floor or 0.0 for one in both)])
    names = list(names)
    sides = [_pool_rows(side, names) for side in (base, other)]
    cells = compare_pairs(
        {name: (sides[0][name], sides[1][name]) for name in names},
        margin=margin,
        refused={} if both else {name: raise_flag("no-number") for name in names},
    )
    told = (cells[name] for name in on_gpu)
    typical = middle(one.ratio for one in told if one.ratio and not one.invalid)
    return Contrast(margin=margin, cells=cells, typical=typical)


def _pool_rows(side: Sequence[Analysis], names: Iterable[str]) -> dict[str, list[Observation]]:
    """The observations of the GPU's arms, over several campaigns by block; none of a cell that one lacks."""
    tables: list[dict[str, list[Observation]]] = []
    for one in side:
        rows: dict[str, list[Observation]] = {}
        for row in select(observe(one), arm=one.gpu_arm):
            rows.setdefault(row.cell, []).append(row)
        tables.append(rows)
    pooled = {}
    for name in names:
        groups = [rows[name] for rows in tables if name in rows]
        values = pool([values_by_block(group) for group in groups])
        flags = next((group[0].flags for group in groups if group[0].invalid), ())
        pooled[name] = [
            replace(groups[0][0], block=block, seconds=value, flags=flags)
            for block, value in values.items()
            if len(groups) == len(tables)
        ]
    return pooled


def pool(values: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The geometric mean over several campaigns of their invocations' values, by block, of the blocks
    that all of them have."""
    common = set.intersection(*(set(one) for one in values)) if values else set()
    return {block: geometric_mean([one[block] for one in values]) for block in sorted(common)}


def find_overlap(arms: Sequence[Mapping[int, tuple[datetime, datetime]]]) -> float | None:
    """The least share of an invocation's measuring in which all others of its block measured too.

    From the first cell's start to the last one's end, by the worker's clock.

    Args:
        arms: when each GPU measured, by block; with fewer than two there is no overlap to find.
    """
    shares = []
    for block in set.intersection(*(set(one) for one in arms)) if len(arms) > 1 else ():
        spans = [one[block] for one in arms]
        common = min(end for _, end in spans) - max(start for start, _ in spans)
        shares += [max(0.0, common / (end - start)) for start, end in spans if end > start]
    return min(shares, default=None)


def middle(ratios: Iterable[Ratio]) -> float | None:
    """The median of some ratios; None: there is none.  Of an even number, the geometric mean of two."""
    logs = [math.log(one.value) for one in ratios]
    return math.exp(median(logs)) if logs else None
