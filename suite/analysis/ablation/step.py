"""Where a step's time goes: by leaving parts out, and by the prices of what cannot be left out.

Pure.  A part is a difference between two cells or a measured price, never a guess; what they do
not explain is the rest, and stands there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from suite.analysis.ablation.cell_index import CellIndex, mean, trains
from suite.analysis.ablation.overheads import dispatch_cost, transfer_cost
from suite.analysis.ablation.pipeline import NO_FASTER, Pipeline, find_pipeline
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.findings import NEAR, PARTS, Finding, Meaning, PartName
from suite.analysis.result.numbers import Estimate, Evidence, cite
from suite.analysis.statistics.estimate import estimate
from suite.analysis.statistics.ratio import find_paired_ratio

AGREES = 2.0
"""A copy explains a difference up to this factor of the copy's own time; the rest is not copying."""

UNEXPLAINED = 0.20
"""A rest beyond this share of the step is called unexplained."""

_LAST_DIGITS = 1e-9
"""A difference of a smaller share of a number is none: its digits end there."""


def decompose_steps(index: CellIndex) -> Iterator[Finding]:
    """Every step that says what its computing alone is, on every arm: the whole, its parts and the rest."""
    for summary in index.cells.values():
        for arm in index.arms if "compute" in summary.cell.links else ():
            below, _ = index.link(summary, "compute")
            whole, alone = (mean(index.steps(cell, arm)) for cell in (summary, below))
            if below is None or whole is None or alone is None:
                continue
            parts = _take_apart(index, summary, below, arm, whole=whole, alone=alone)
            n = len(index.steps(summary, arm))
            find = partial(Finding, arm=arm, cell=summary.cell.id, unit="s")
            yield find(tag="step", value=_point(whole, n))
            for of, part in parts.items():
                if isinstance(part, Evidence):
                    yield find(tag="part", of=of, evidence=(part,))
                else:
                    yield find(tag="part", of=of, value=_point(part, n), share=part / whole)
            rest = whole - math.fsum(part for part in parts.values() if isinstance(part, float))
            rest = rest if abs(rest) > _LAST_DIGITS * whole else 0.0
            verdict: Meaning = "unexplained" if abs(rest) > UNEXPLAINED * whole else ""
            yield find(
                tag="part", of="rest", value=_point(rest, n), share=rest / whole, verdict=verdict
            )


def _point(value: float, n: int) -> Estimate:
    """A number without an interval of its own."""
    return Estimate(value=value, low=None, high=None, n=n)


def find_pipelines(index: CellIndex) -> Iterator[Finding]:
    """Every pipeline that was measured with its model, on every arm: each alone, and both together."""
    for arm in index.arms:
        for summary in index.cells.values():
            feeds = summary.cell.role == "input" and "compute" in summary.cell.links
            pipeline = find_pipeline(index, summary, arm) if feeds else None
            if pipeline is None:
                continue
            others = (mean(index.steps(other, arm)) for other, _ in pipeline.others)
            quickest = min(filter(None, others), default=None)
            together = estimate(list(pipeline.together.values()))
            hides = summary.cell.data == "prefetched"
            bound, why = _find_bound(pipeline, quickest, hides=hides)
            find = partial(Finding, tag="pipeline", arm=arm, cell=summary.cell.id, unit="s")
            yield find(
                of="together",
                value=together,
                share=_find_overlap(together.value, pipeline.input, pipeline.compute),
                verdict=bound,
                evidence=(why,),
            )
            alone = {
                "input alone": pipeline.input,
                "model alone": pipeline.compute,
                "trivial model": pipeline.trivial,
            }
            for of, seconds in alone.items():
                if seconds is not None:
                    yield find(of=of, value=_point(seconds, together.n))


def find_break_evens(index: CellIndex) -> Iterator[Finding]:
    """For every training cell on both arms, after how many steps the GPU breaks even."""
    cpu, gpu = index.cpu, index.gpu
    if cpu is None or gpu is None:
        return
    for summary in index.cells.values():
        first, rival = summary.arms[gpu].first_call, summary.arms[cpu].first_call
        if not trains(summary.cell) or summary.cell.sweep is None or first is None or rival is None:
            continue
        slow, fast = index.steps(summary, cpu), index.steps(summary, gpu)
        ratio = find_paired_ratio(fast, slow)
        if ratio is None:
            continue
        savings = [slow[block] - fast[block] for block in slow if block in fast]
        longer = first.value - rival.value
        saving = (mean(slow) or 0.0) - (mean(fast) or 0.0)
        # A block in which nothing was saved has no number of steps; the means have.
        every = savings if min(savings) > 0 else [saving]
        # Only a saving that the interval bears out is one.
        repaid = longer > 0 and saving > 0 and ratio.least > 1
        at_once = saving > 0 and longer <= 0
        verdict: Meaning = "at once" if at_once else "never" if ratio.most <= 1 else "not shown"
        yield Finding(
            tag="break-even",
            arm=gpu,
            cell=summary.cell.id,
            against=cpu,
            value=estimate([longer / each for each in every]) if repaid else None,
            unit="step",
            beside=_point(saving, len(savings)),
            verdict="after" if repaid else verdict,
        )


def _take_apart(
    index: CellIndex,
    summary: CellSummary,
    below: CellSummary,
    arm: str,
    *,
    whole: float,
    alone: float,
) -> dict[PartName, float | Evidence]:
    """By part its seconds, or why nobody can tell; ``below`` is the same step with its data at hand."""
    parts: dict[PartName, float | Evidence] = dict.fromkeys(PARTS, 0.0)
    dispatch, price = 0.0, dispatch_cost(index, below, arm)
    if price is None:
        parts["dispatch"] = cite("no-call-price")
    else:
        # The host can't have handed over for longer than it was seen to.
        share = index.enqueueing(below, arm)
        dispatch = min(price.seconds, alone * (1.0 if share is None else share), whole)
        parts["dispatch"] = dispatch
    parts["compute"] = min(alone, whole) - dispatch
    if below is summary:
        return parts
    left = max(0.0, whole - alone)
    transfer = _find_transfer(index, summary, below, arm, left)
    parts["transfer"] = cite("no-copy") if transfer is None else transfer
    left -= transfer or 0.0
    if pipeline := find_pipeline(index, summary, arm):
        # No more of the step can be the input than the input takes alone.
        input_s = pipeline.input
        parts["input"] = cite("no-input-alone") if input_s is None else min(left, input_s)
    return parts


def _find_transfer(
    index: CellIndex, summary: CellSummary, below: CellSummary, arm: str, left: float
) -> float | None:
    """Seconds of a step for copying: what is saved without it, as far as the copies explain it."""
    on_host = (other for other in index.cells.values() if other.cell.data == "host")
    host = next((other for other in on_host if index.link(other, "compute")[0] is below), None)
    fed, at_hand = mean(index.steps(host, arm)), mean(index.steps(below, arm))
    price = transfer_cost(index, host or summary, arm)
    if fed is None or at_hand is None:
        return None if price is None else min(left, price.seconds)
    saved = max(0.0, fed - at_hand)
    return min(left, saved if price is None else min(saved, AGREES * price.seconds))


def _find_overlap(together: float, alone: float | None, compute: float | None) -> float | None:
    if alone is None or compute is None:
        return None
    hidden = (alone + compute - together) / min(alone, compute)
    return min(1.0, max(0.0, hidden))


def _find_bound(
    pipeline: Pipeline, quickest: float | None, *, hides: bool
) -> tuple[Meaning, Evidence]:
    """What a step waits for, and what says so.

    ``quickest`` is a step of the same model behind the fastest other pipeline.  A pipeline that
    ``hides`` runs ahead of the model: where the step takes longer than the model, it waits.
    """
    together, alone, compute = pipeline.whole, pipeline.input, pipeline.compute
    if alone is not None and compute is not None:
        if max(alone, compute) <= (1 + NEAR) * min(alone, compute):
            return "both", cite("both-as-long")
        return ("input" if alone > compute else "compute"), cite("longer-of-two")
    if pipeline.trivial is not None:
        waits = pipeline.trivial >= (1 - NO_FASTER) * together
        return ("input" if waits else "compute"), cite("by-trivial-model")
    if alone is not None:
        return ("input" if 2 * alone >= together else "compute"), cite("by-input-alone")
    for seconds, at_hand in ((compute, True), (quickest, False)):
        if seconds is not None and (1 + NEAR if hides else 2.0) * seconds <= together:
            return "input", cite(
                "same-model-at-hand" if at_hand else "same-model-elsewhere", seconds=seconds
            )
    return ("compute", cite("model-takes-most")) if compute else ("", cite("neither-alone"))
