"""The input pipeline and the model behind it: who waits for whom.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from suite.analysis.ablation.catalogue import Catalogue, Values, divide, mean
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.numbers import Evidence, cite

NEAR = 0.10
"""A step that takes at most so much longer than one of its parts alone takes as long as the part."""

NO_FASTER = 0.05
"""A trivial model that saves at most so much is no faster than the full one."""

FED = ("pipeline", "prefetched")
"""Where the data of a step lie that takes from a pipeline."""

HALF = 0.50
"""Where neither the input alone nor a trivial model was measured, so much must go away with the
pipeline before it is suspected."""

ROUNDING = 1e-9
"""What a threshold may be missed by: a quotient of measured numbers is rounded somewhere."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A step behind its pipeline on an arm: seconds a step, by block, of it and of its parts.

    ``compute`` is the same model with its data at hand, ``trivial`` a model of one product behind
    the same pipeline, ``others`` the same model behind other pipelines, each with what is different
    there.  A part without a number is empty.
    """

    together: Values
    input: Values
    compute: Values
    trivial: Values
    compute_cell: CellSummary | None
    others: tuple[tuple[CellSummary, Evidence], ...]


@dataclass(frozen=True, kw_only=True)
class InputLimit:
    """Whether the input is what a step waits for, and the evidence.

    ``share`` is the part of the step that would go away with a pipeline that costs nothing;
    ``better`` is the cell in which the same model is fed faster, ``how`` says what is different there.
    """

    limits: bool
    confirmed: bool
    share: float
    evidence: tuple[Evidence, ...]
    better: CellSummary | None
    how: Evidence


def find_pipeline(catalogue: Catalogue, one: CellSummary, arm: str) -> Pipeline | None:
    """The parts of a cell that has a pipeline in front of a model; None: it has none."""
    alone, compute, trivial = (
        catalogue.link(one, name)[0] for name in ("input", "compute", "trivial")
    )
    feeds = catalogue.links(one, "feed")
    if one.cell.data not in FED or not one.cell.links.keys() & {"input", "compute", "feed"}:
        return None
    together = _per_step(catalogue, one, arm)
    if not together:
        return None
    return Pipeline(
        together=together,
        input=_per_step(catalogue, alone, arm),
        compute=_per_step(catalogue, compute, arm),
        trivial=_per_step(catalogue, trivial, arm),
        compute_cell=compute,
        others=tuple(other for other in feeds if _per_step(catalogue, other[0], arm)),
    )


def find_input_limit(catalogue: Catalogue, one: CellSummary, arm: str) -> InputLimit | None:
    """Whether a step waits for its input; None: it has no pipeline, or no part was measured.

    It does where it takes within 10 % as long as the input alone, or where a trivial model behind
    the same pipeline is no faster; unless the model alone takes longer than the input.  Confirmed
    where a second kind of cell agrees: the other of the two, the model alone, or the same model
    behind another pipeline.
    """
    found = find_pipeline(catalogue, one, arm)
    if found is None:
        return None
    whole = mean(found.together) or 0.0
    alone, compute, trivial = map(mean, (found.input, found.compute, found.trivial))
    fastest, how = _find_fastest(catalogue, found, arm)
    quickest = mean(_per_step(catalogue, fastest, arm)) if fastest else None
    known = [part for part in (compute, quickest) if part is not None]
    less = min([*known, whole])
    near = alone is not None and whole <= (1 + NEAR + ROUNDING) * alone
    idle = trivial is not None and trivial >= (1 - NO_FASTER - ROUNDING) * whole
    if alone is None and trivial is None:
        if not known:
            return None
        limits, confirmed = 1 - less / whole >= HALF, False
    else:
        busy = alone is not None and compute is not None and compute > alone
        limits = (near or idle) and not busy
        confirmed = (near and idle) or less * (1 + NEAR) <= whole
    share = 1 - less / whole if known else min(1.0, (alone or trivial or 0.0) / whole)
    better = fastest
    if quickest is None or quickest >= whole:
        better = found.compute_cell if compute is not None else None
        how = cite("at-hand")
    return InputLimit(
        limits=limits,
        confirmed=confirmed,
        share=share,
        evidence=tuple(_cite_parts(whole, alone, compute, trivial, quickest)),
        better=better,
        how=how,
    )


def _cite_parts(
    whole: float,
    alone: float | None,
    compute: float | None,
    trivial: float | None,
    quickest: float | None,
) -> Iterator[Evidence]:
    yield cite("step", seconds=whole)
    if alone is not None:
        yield cite("input-alone", seconds=alone, share=alone / whole)
    if trivial is not None:
        yield cite("trivial-model", seconds=trivial)
    if compute is not None:
        yield cite("model-alone", seconds=compute)
    if quickest is not None and quickest < whole:
        yield cite("other-pipeline", seconds=quickest)


def _find_fastest(
    catalogue: Catalogue, found: Pipeline, arm: str
) -> tuple[CellSummary | None, Evidence]:
    return min(
        found.others,
        key=lambda other: mean(_per_step(catalogue, other[0], arm)) or math.inf,
        default=(None, cite("at-hand")),
    )


def _per_step(catalogue: Catalogue, one: CellSummary | None, arm: str) -> Values:
    """Seconds a batch by block, whatever a call of the cell counts as its work."""
    batch = one.cell.params.get("batch") if one else None
    if not isinstance(batch, int | float) or batch <= 0:
        return {}
    return divide(catalogue.per_work(one, arm), 1 / batch)
