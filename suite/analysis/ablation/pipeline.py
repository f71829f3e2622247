"""The input pipeline and the model behind it: who waits for whom.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from suite.analysis.ablation.cell_index import CellIndex, Values, divide, find_batch, mean
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.numbers import Evidence, cite

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


def find_pipeline(index: CellIndex, summary: CellSummary, arm: str) -> Pipeline | None:
    """The parts of a cell that has a pipeline in front of a model; None: it has none."""
    fed = summary.cell.links.keys() & {"input", "compute", "feed"}
    if summary.cell.data not in FED or not fed:
        return None
    together = _per_step(index, summary, arm)
    whole = mean(together)
    if whole is None:
        return None
    alone, compute, trivial = (
        index.link(summary, name)[0] for name in ("input", "compute", "trivial")
    )
    return Pipeline(
        together=together,
        whole=whole,
        input=mean(_per_step(index, alone, arm)),
        compute=mean(_per_step(index, compute, arm)),
        trivial=mean(_per_step(index, trivial, arm)),
        compute_cell=compute,
        steps=(index.seconds(summary, arm) or 0.0) / whole,
        others=tuple(
            other for other in index.links(summary, "feed") if _per_step(index, other[0], arm)
        ),
    )


def is_input_bound(pipeline: Pipeline, copies_s: float) -> bool:
    """Whether a prefetched pipeline alone takes longer than a step with its copies, so that it hides both."""
    alone, compute = pipeline.input, pipeline.compute
    return alone is not None and compute is not None and alone > compute + copies_s


def cite_parts(pipeline: Pipeline) -> Iterator[Evidence]:
    """What was measured of a step behind its pipeline, as evidence."""
    yield cite("step", seconds=pipeline.whole)
    if (alone := pipeline.input) is not None:
        yield cite("input-alone", seconds=alone)
    if pipeline.trivial is not None:
        yield cite("trivial-model", seconds=pipeline.trivial)
    if pipeline.compute is not None:
        yield cite("model-alone", seconds=pipeline.compute)


def find_better(
    index: CellIndex, pipeline: Pipeline, arm: str
) -> tuple[CellSummary | None, Evidence]:
    """Where the same model is fed fastest: behind another pipeline, else with its data at hand."""
    seconds = {
        position: mean(_per_step(index, other, arm)) or math.inf
        for position, (other, _) in enumerate(pipeline.others)
    }
    best = min(seconds, key=seconds.__getitem__, default=None)
    if best is not None and seconds[best] < pipeline.whole:
        return pipeline.others[best]
    return pipeline.compute_cell, cite("at-hand")


def _per_step(index: CellIndex, summary: CellSummary | None, arm: str) -> Values:
    """Seconds a batch by block, whatever a call of the cell counts as its work."""
    if summary is None:
        return {}
    batch = find_batch(summary.cell)
    return divide(index.per_work(summary, arm), 1 / batch) if batch else {}
