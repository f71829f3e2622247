"""Where a step's time goes: by leaving parts out, and by the prices of what cannot be left out.

Pure.  A part is a difference between two cells or a measured price, never a guess; what they do
not explain is the rest, and stands there.
"""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.ablation.catalogue import Catalogue, mean, trains
from suite.analysis.ablation.overheads import dispatch_cost, transfer_cost
from suite.analysis.ablation.pipeline import NEAR, NO_FASTER, Pipeline, find_pipeline
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.compare import find_paired_ratio
from suite.analysis.numbers.estimate import estimate
from suite.analysis.result.findings import PARTS, Bound, BreakEven, Decomposition, PartName, Triple
from suite.analysis.result.numbers import Evidence, cite

AGREES = 2.0
"""A copy explains a difference up to this factor of the copy's own time; the rest is not copying."""


def decompose_steps(catalogue: Catalogue) -> Iterator[Decomposition]:
    """Every step that says what its computing alone is, on every arm."""
    for one in catalogue.cells.values():
        for arm in catalogue.arms if "compute" in one.cell.links else ():
            if decomposed := _decompose(catalogue, one, arm):
                yield decomposed


def find_triples(catalogue: Catalogue) -> Iterator[Triple]:
    """Every pipeline that was measured with its model, on every arm."""
    for arm in catalogue.arms:
        for one in catalogue.cells.values():
            is_triple = one.cell.role == "input" and "compute" in one.cell.links
            pipeline = find_pipeline(catalogue, one, arm) if is_triple else None
            if pipeline is None:
                continue
            others = [
                value
                for other, _ in pipeline.others
                if (value := mean(catalogue.steps(other, arm))) is not None
            ]
            together = estimate(list(pipeline.together.values()))
            hides = one.cell.data == "prefetched"
            bound, evidence = _find_bound(pipeline, min(others, default=None), hides=hides)
            yield Triple(
                pipeline=str(one.cell.params.get("pipeline")),
                arm=arm,
                input_s=pipeline.input,
                compute_s=pipeline.compute,
                together=together,
                trivial_s=pipeline.trivial,
                overlap=_find_overlap(together.value, pipeline.input, pipeline.compute),
                bound=bound,
                evidence=evidence,
            )


def find_break_evens(catalogue: Catalogue) -> Iterator[BreakEven]:
    """For every training cell on both arms, after how many steps the GPU breaks even."""
    cpu, gpu = catalogue.cpu, catalogue.gpu
    if cpu is None or gpu is None:
        return
    for one in catalogue.cells.values():
        first, cpus = one.arms[gpu].first_call, one.arms[cpu].first_call
        if not trains(one.cell) or one.cell.sweep is None or first is None or cpus is None:
            continue
        slow, fast = catalogue.steps(one, cpu), catalogue.steps(one, gpu)
        ratio = find_paired_ratio(fast, slow)
        if ratio is None:
            continue
        savings = [slow[block] - fast[block] for block in slow if block in fast]
        longer = first.value - cpus.value
        saving = (mean(slow) or 0.0) - (mean(fast) or 0.0)
        # A block in which nothing was saved has no number of steps; the means have.
        every = savings if min(savings) > 0 else [saving]
        # Only a saving that the interval bears out is one.
        repaid = longer > 0 and saving > 0 and ratio.least > 1
        yield BreakEven(
            cell=one.cell.id,
            first_call_s=first.value,
            cpu_first_call_s=cpus.value,
            saving_s=saving,
            steps=estimate([longer / one_s for one_s in every]) if repaid else None,
            never=ratio.most <= 1,
        )


def _decompose(catalogue: Catalogue, one: CellSummary, arm: str) -> Decomposition | None:
    here, _ = catalogue.link(one, "compute")
    whole, alone = (mean(catalogue.steps(cell, arm)) for cell in (one, here))
    if here is None or whole is None or alone is None:
        return None
    parts: dict[PartName, float | None] = dict.fromkeys(PARTS)
    absent: dict[PartName, Evidence] = {}
    price = dispatch_cost(catalogue, here, arm)
    if price is None:
        absent["dispatch"] = cite("no-call-price")
        parts["compute"] = min(alone, whole)
    else:
        # The host can't have handed over for longer than it was seen to.
        seen = catalogue.enqueueing(here, arm)
        dispatch = min(price.seconds, alone * (1.0 if seen is None else seen), whole)
        parts["dispatch"], parts["compute"] = dispatch, min(alone, whole) - dispatch
    if here is one:
        parts["input"] = parts["transfer"] = 0.0
        return Decomposition(cell=one.cell.id, arm=arm, whole=whole, parts=parts, absent=absent)
    left = max(0.0, whole - alone)
    parts["transfer"] = _find_transfer(catalogue, one, here, arm, left)
    if parts["transfer"] is None:
        absent["transfer"] = cite("no-copy")
    left -= parts["transfer"] or 0.0
    pipeline = find_pipeline(catalogue, one, arm)
    if pipeline is None:
        parts["input"] = 0.0
    elif pipeline.input is not None:
        # No more of the step can be the input than the input takes alone.
        parts["input"] = min(left, pipeline.input)
    else:
        absent["input"] = cite("no-input-alone")
    return Decomposition(cell=one.cell.id, arm=arm, whole=whole, parts=parts, absent=absent)


def _find_transfer(
    catalogue: Catalogue, one: CellSummary, here: CellSummary, arm: str, left: float
) -> float | None:
    """Seconds of a step for copying: what is saved without it, as far as the copies explain it."""
    on_host = (other for other in catalogue.cells.values() if other.cell.data == "host")
    alike = (other for other in on_host if catalogue.link(other, "compute")[0] is here)
    host = next(alike, None)
    fed, at_hand = mean(catalogue.steps(host, arm)), mean(catalogue.steps(here, arm))
    price = transfer_cost(catalogue, host or one, arm)
    if fed is not None and at_hand is not None:
        saved = max(0.0, fed - at_hand)
        most = saved if price is None else min(saved, AGREES * price.seconds)
        return min(left, most)
    return None if price is None else min(left, price.seconds)


def _find_overlap(together: float, alone: float | None, compute: float | None) -> float | None:
    if alone is None or compute is None:
        return None
    hidden = (alone + compute - together) / min(alone, compute)
    return min(1.0, max(0.0, hidden))


def _find_bound(
    found: Pipeline, quickest: float | None, *, hides: bool
) -> tuple[Bound | None, Evidence]:
    """What a step waits for, and what says so.

    ``quickest`` is a step of the same model behind the fastest other pipeline.  A pipeline that
    ``hides`` runs ahead of the model: where the step takes longer than the model, it waits.
    """
    together, alone, compute = found.whole, found.input, found.compute
    if alone is not None and compute is not None:
        if max(alone, compute) <= (1 + NEAR) * min(alone, compute):
            return "both", cite("both-as-long")
        return ("input" if alone > compute else "compute"), cite("longer-of-two")
    if found.trivial is not None:
        waits = found.trivial >= (1 - NO_FASTER) * together
        return ("input" if waits else "compute"), cite("by-trivial-model")
    if alone is not None:
        return ("input" if 2 * alone >= together else "compute"), cite("by-input-alone")
    return _compare_models(together, compute, quickest, 1 + NEAR if hides else 2.0)


def _compare_models(
    together: float, compute: float | None, quickest: float | None, longer_by: float
) -> tuple[Bound | None, Evidence]:
    """The same by the model elsewhere, of which the step must take so many times the time."""
    if compute is not None and longer_by * compute <= together:
        return "input", cite("same-model-at-hand", share=compute / together)
    if quickest is not None and longer_by * quickest <= together:
        return "input", cite("same-model-elsewhere", share=quickest / together)
    if compute is not None:
        return "compute", cite("model-takes-most")
    return None, cite("neither-alone")
