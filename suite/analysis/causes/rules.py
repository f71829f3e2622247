"""Why a GPU can be slow: the causes, and what else bears one out or refutes it.  Pure.

That is never the cells whose difference its seconds are.  Every independent measurement says how many
seconds it saw; it agrees within a factor of 2.  A trace can refute as well: it saw for how long the GPU
had work, and copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from suite.analysis.ablation.cell_index import CellIndex, Trace
from suite.analysis.ablation.overheads import (
    Overhead,
    copy_cost,
    dispatch_cost,
    start_cost,
    trace_cost,
    transfer_cost,
)
from suite.analysis.ablation.pipeline import NO_FASTER, find_pipeline
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.parts import Compared, Part, count_calls
from suite.analysis.causes.plain_cell import is_dispatch_bound
from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import Evidence, Value, cite

AGREES = 2.0
"""Seconds agree that are within this factor of each other."""

NOTHING = 0.1
"""A trace that saw less than this share of what a cause would have to look like refutes it."""

FALLEN = ("PyFunc", "NumpyFunction", "MatMul", "Conv", "BiasAdd", "Relu", "Tanh", "ResourceApply")
"""Parts of the names of operations that are a step's work: seen on the CPU they have fallen there.
Constants, arguments and what carries values across belong there."""

Checked = Iterator[tuple[bool, Evidence]]
"""Whether an independent measurement agrees, and what it says."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A cause: what is compared with its seconds, and what share of a call a trace would have to show.

    ``shown``: a trace shows it by itself.  An idle GPU may wait for anything, so that idleness speaks for
    no cause; but a busy one does not wait.
    """

    check: Callable[[Part], Checked] | None = None
    look: Callable[[Trace], float] | None = None
    shown: bool = False


def cross_check(rule: Rule, parts: Sequence[Part]) -> tuple[bool, bool, tuple[Evidence, ...]]:
    """Whether an independent measurement agrees with what a cause takes, whether a trace refutes it, and what
    they say.

    The part that takes most of it is checked.
    """
    part = max(parts, key=lambda part: part.excess_s)
    checks = list(rule.check(part)) if rule.check else []
    agrees, evidence = any(agrees for agrees, _ in checks), [said for _, said in checks]
    trace = part.here.index.trace(part.here.summary, part.here.gpu)
    refuted = False
    if trace is not None:
        evidence.append(cite_trace(trace))
        if rule.look is not None:
            seconds = part.excess_s / part.times
            shown = rule.look(trace) * part.here.seconds
            refuted = shown < NOTHING * seconds
            agrees = agrees or (rule.shown and shown >= seconds / AGREES)
    return agrees and not refuted, refuted, tuple(evidence)


def find_off_device_ops(here: Compared) -> tuple[str, ...]:
    """The operations of a step's work that were seen elsewhere than on its device."""
    results = here.index.measured(here.summary, here.gpu)
    names = sorted({name for result in results for name in result.elsewhere})
    return tuple(name for name in names if any(op in name for op in FALLEN))


def _agree(seconds: float, other: float) -> bool:
    return other / AGREES <= seconds <= other * AGREES


def _compare_cost(
    part: Part,
    cost: Callable[[CellIndex, CellSummary, str], Overhead | None],
    *,
    unless: str = "",
    summary: CellSummary | None = None,
) -> Iterator[tuple[bool, Overhead]]:
    """The cost that other cells measured, of a call of the part's own cell, or of another of the same work;
    and whether what it is on the GPU beyond the CPU is what the part takes.

    Nothing where the part was found by that itself (``unless``), or where there is no such cost.
    """
    here, summary = part.here, summary or part.here.summary
    costs = [cost(here.index, summary, arm) for arm in here.arms]
    if costs[-1] is None or part.is_told_by(unless):
        return
    times = count_calls(here.cell, summary.cell)
    seconds = [times * overhead.seconds for overhead in costs if overhead is not None]
    beyond = seconds[-1] - math.fsum(seconds[:-1])
    yield len(seconds) == len(costs) and _agree(beyond, part.excess_s / part.times), costs[-1]


def _check_transfer(part: Part) -> Checked:
    below = None
    if part.here.cell.work.bytes_in is None:
        below, _ = part.here.index.link(part.here.summary, "compute")
    compared = _compare_cost(part, transfer_cost, unless="copied-by-price", summary=below)
    for agrees, copies in compared:
        yield agrees, cite("copies", seconds=copies.seconds, **copies.values)


def _check_start(part: Part) -> Checked:
    for agrees, start in _compare_cost(part, start_cost, unless="gone-elsewhere"):
        yield agrees, cite("first-step", seconds=start.seconds)


def _check_retracing(part: Part) -> Checked:
    for agrees, trace in _compare_cost(part, trace_cost):
        yield agrees, cite("first-call", seconds=trace.seconds)


def _check_dispatch(part: Part) -> Checked:
    here, own = part.here, part.here.seconds
    for agrees, handover in _compare_cost(part, dispatch_cost, unless="handover"):
        price = min(handover.seconds, own)
        yield agrees, cite("handover", price=price, own=own, **handover.values)
    if is_dispatch_bound(here, here.gpu) and not part.is_told_by("dispatch-bound"):
        yield True, cite("dispatch-bound")


def _check_input(part: Part) -> Checked:
    pipeline = find_pipeline(part.here.index, part.here.summary, part.here.gpu)
    if pipeline is None:
        return
    alone, whole, trivial = pipeline.input, pipeline.whole, pipeline.trivial
    if alone is not None:
        own = part.own_s / part.times / pipeline.steps
        yield _agree(alone, own), cite("input-alone", seconds=alone)
    if trivial is not None:
        yield trivial >= (1 - NO_FASTER) * whole, cite("trivial-model", seconds=trivial)


def _check_fallback(part: Part) -> Checked:
    if off_device := find_off_device_ops(part.here):
        yield True, cite("strays", operations=off_device)
    copies = [copy_cost(part.here.index, 4, part.here.gpu, way) for way in ("copy-out", "copy-in")]
    if all(copies):
        yield False, cite("round-trip", least=math.fsum(copy.seconds for copy in copies if copy))


RULES: Mapping[RuleName, Rule] = {
    # A gap inside a step.
    "fallback": Rule(
        check=_check_fallback,
        look=lambda trace: trace.get("longest_gap_s", 0.0) / max(trace.get("call_s", 0.0), 1e-12),
        shown=True,
    ),
    "input": Rule(check=_check_input, look=lambda trace: 1.0 - trace.get("busy_share", 0.0)),
    "transfer": Rule(
        check=_check_transfer, look=lambda trace: trace.get("copy_share", 0.0), shown=True
    ),
    "start-up": Rule(check=_check_start),
    "retracing": Rule(check=_check_retracing),
    "overhead": Rule(check=_check_dispatch),
    # Kernels that take their time.
    "too small": Rule(
        look=lambda trace: trace.get("busy_share", 0.0) - trace.get("copy_share", 0.0), shown=True
    ),
    "unknown": Rule(),
}
"""Every cause that a cell can be slow for; of equal shares the first one is named first."""


def cite_trace(trace: Trace) -> Evidence:
    """What a trace saw, as evidence; copies and gaps where there were any."""
    values: dict[str, Value] = {
        "calls": trace.get("calls", 0.0),
        "busy": trace.get("busy_share", 0.0),
        "kernels": trace.get("kernels", 0.0),
    }
    if trace.get("copies"):
        values |= {"copied": trace.get("copy_share", 0.0), "copies": trace["copies"]}
    if trace.get("longest_gap_s", 0.0) > 0:
        values["gap"] = trace["longest_gap_s"]
    return cite("trace", **values)
