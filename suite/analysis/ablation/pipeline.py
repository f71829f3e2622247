"""The input pipeline and the model behind it: who waits for whom.  Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from suite.analysis.ablation.cell_index import CellIndex, Values, divide, mean
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.numbers import Evidence, cite

NEAR = 0.10
"""A step that takes at most so much longer than one of its parts alone takes as long as the part."""

NO_FASTER = 0.05
"""A trivial model that saves at most so much is no faster than the full one."""

FED = ("pipeline", "prefetched")
"""Where the data of a step lie that takes from a pipeline."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A step behind its pipeline on an arm: seconds a step of the ``whole`` (``together``: by block) and of
    its parts.

    ``compute`` is the same model with its data at hand, ``trivial`` a model of one product behind
    the same pipeline, ``others`` the same model behind other pipelines, each with what is different
    there.  A part without a number is None.  ``steps`` are those of a call.
    """

    together: Values
    whole: float
    input: float | None
    compute: float | None
    trivial: float | None
    compute_cell: CellSummary | None
    steps: float
    others: tuple[tuple[CellSummary, Evidence], ...]


def find_pipeline(index: CellIndex, one: CellSummary, arm: str) -> Pipeline | None:
    """The parts of a cell that has a pipeline in front of a model; None: it has none."""
    alone, compute, trivial = (index.link(one, name)[0] for name in ("input", "compute", "trivial"))
    feeds = index.links(one, "feed")
    if one.cell.data not in FED or not one.cell.links.keys() & {"input", "compute", "feed"}:
        return None
    together = _per_step(index, one, arm)
    whole = mean(together)
    if whole is None:
        return None
    return Pipeline(
        together=together,
        whole=whole,
        input=mean(_per_step(index, alone, arm)),
        compute=mean(_per_step(index, compute, arm)),
        trivial=mean(_per_step(index, trivial, arm)),
        compute_cell=compute,
        steps=(index.seconds(one, arm) or 0.0) / whole,
        others=tuple(other for other in feeds if _per_step(index, other[0], arm)),
    )


def is_input_bound(found: Pipeline, copies_s: float) -> bool:
    """Whether a prefetched pipeline alone takes longer than a step with its copies, so that it hides both."""
    alone, compute = found.input, found.compute
    return alone is not None and compute is not None and alone > compute + copies_s


def cite_parts(found: Pipeline) -> tuple[Evidence, ...]:
    """What was measured of a step behind its pipeline, as evidence."""
    told = [cite("step", seconds=found.whole)]
    if found.input is not None:
        told.append(cite("input-alone", seconds=found.input, share=found.input / found.whole))
    if found.trivial is not None:
        told.append(cite("trivial-model", seconds=found.trivial))
    if found.compute is not None:
        told.append(cite("model-alone", seconds=found.compute))
    return tuple(told)


def find_better(index: CellIndex, found: Pipeline, arm: str) -> tuple[CellSummary | None, Evidence]:
    """Where the same model is fed fastest: behind another pipeline, else with its data at hand."""
    best = min(
        found.others,
        key=lambda other: mean(_per_step(index, other[0], arm)) or math.inf,
        default=None,
    )
    quickest = mean(_per_step(index, best[0], arm)) if best else None
    if best is not None and quickest is not None and quickest < found.whole:
        return best
    return found.compute_cell, cite("at-hand")


def _per_step(index: CellIndex, one: CellSummary | None, arm: str) -> Values:
    """Seconds a batch by block, whatever a call of the cell counts as its work."""
    batch = one.cell.params.get("batch") if one else None
    if one is not None and batch is None and one.cell.work.steps:
        batch = one.cell.work.amount / one.cell.work.steps
    if not isinstance(batch, int | float) or batch <= 0:
        return {}
    return divide(index.per_work(one, arm), 1 / batch)
