"""The input pipeline and the model behind it: who waits for whom.  Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from suite.analysis.ablation.catalogue import Catalogue, Values, divide, mean, name_case
from suite.analysis.campaign.summarise import CellSummary
from suite.report.text.units import show_seconds, show_share

NEAR = 0.10
"""A step that takes at most so much longer than one of its parts alone takes as long as the part."""

NO_FASTER = 0.05
"""A trivial model that saves at most so much is no faster than the full one."""

HALF = 0.50
"""Where neither the input alone nor a trivial model was measured, so much must go away with the
pipeline before it is suspected."""

ROUNDING = 1e-9
"""What a threshold may be missed by: a quotient of measured numbers is rounded somewhere."""


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A step behind its pipeline on an arm: seconds a step, by block, of it and of its parts.

    ``compute`` is the same model with its data at hand, ``trivial`` a model of one product behind
    the same pipeline, ``others`` the same model behind other pipelines.  A part without a number
    is empty.
    """

    together: Values
    input: Values
    compute: Values
    trivial: Values
    compute_cell: CellSummary | None
    others: tuple[CellSummary, ...]


@dataclass(frozen=True, kw_only=True)
class InputLimit:
    """Whether the input is what a step waits for, and the evidence.

    ``share`` is the part of the step that would go away with a pipeline that costs nothing;
    ``better`` is the cell in which the same model is fed faster, ``words`` say how.
    """

    limits: bool
    confirmed: bool
    share: float
    evidence: str
    better: CellSummary | None
    words: str


def find_pipeline(catalogue: Catalogue, one: CellSummary, arm: str) -> Pipeline | None:
    """The parts of a cell that has a pipeline in front of a model; None: it has none."""
    params = one.cell.params
    name = name_case(one.cell)
    alone = compute = trivial = None
    others: list[CellSummary | None] = []
    if name == "tfdata.triple" and params.get("part") in {"together", "trivial"}:
        alone = catalogue.vary(one, part="input")
        if params["part"] == "together":
            trivial = catalogue.vary(one, part="trivial")
            compute = _find_training(catalogue, one)
        kinds = dict.fromkeys(
            kind for c in catalogue.select(name) if (kind := c.cell.params.get("pipeline"))
        )
        others = [catalogue.vary(one, pipeline=kind) for kind in kinds]
    elif name == "mlp.train" and params.get("data") == "dataset":
        compute = catalogue.vary(one, data="device")
        # The pipeline that this feed is made of, alone; its examples are those of network A.
        if params.get("net", "A") == "A":
            axes = {"shuffle": "on", "prefetch": "on", "batch": params.get("batch", 0)}
            alone = catalogue.find("tfdata.slices", **axes)
    elif name == "asked.fit" and params.get("prefetch") == "off" and not one.cell.one_shot:
        others = [catalogue.vary(one, prefetch="on")]
    else:
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
        others=tuple(other for other in others if other and _per_step(catalogue, other, arm)),
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
    fastest = _find_fastest(catalogue, found, arm)
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
    better, words = fastest, ""
    if fastest is not None and quickest is not None and quickest < whole:
        axis = "prefetch" if name_case(one.cell) == "asked.fit" else "pipeline"
        words = f"with {axis}={fastest.cell.params.get(axis)}"
    else:
        better = found.compute_cell if compute is not None else None
        words = "with the data on the device"
    return InputLimit(
        limits=limits,
        confirmed=confirmed,
        share=share,
        evidence=_word(whole, alone, compute, trivial, quickest),
        better=better,
        words=words,
    )


def _word(
    whole: float,
    alone: float | None,
    compute: float | None,
    trivial: float | None,
    quickest: float | None,
) -> str:
    parts = [f"{show_seconds(whole)} a step"]
    if alone is not None:
        parts.append(f"input alone {show_seconds(alone)}, {show_share(alone, whole)} of it")
    if trivial is not None:
        parts.append(f"a trivial model behind the same pipeline {show_seconds(trivial)}")
    if compute is not None:
        parts.append(f"the model alone {show_seconds(compute)}")
    if quickest is not None and quickest < whole:
        parts.append(f"behind another pipeline {show_seconds(quickest)}")
    return "; ".join(parts)


def _find_training(catalogue: Catalogue, one: CellSummary) -> CellSummary | None:
    """The training step of the triple's network with its data at hand."""
    axes = {"net": "A", "data": "device", "precision": "fp32", "execution": "graph"}
    return catalogue.find("mlp.train", **axes, batch=one.cell.params.get("batch", 512))


def _find_fastest(catalogue: Catalogue, found: Pipeline, arm: str) -> CellSummary | None:
    return min(
        found.others,
        key=lambda other: mean(_per_step(catalogue, other, arm)) or math.inf,
        default=None,
    )


def _per_step(catalogue: Catalogue, one: CellSummary | None, arm: str) -> Values:
    """Seconds a batch by block, whatever a call of the cell counts as its work."""
    batch = one.cell.params.get("batch") if one else None
    if not isinstance(batch, int | float) or batch <= 0:
        return {}
    return divide(catalogue.per_work(one, arm), 1 / batch)
