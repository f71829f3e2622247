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
from suite.analysis.causes.parts import Part, count_calls, mean_of
from suite.analysis.causes.plain_cell import is_dispatch_bound
from suite.analysis.result.findings import Finding, RuleName
from suite.analysis.result.numbers import Estimate, Evidence, Value, cite

AGREES = 2.0
"""Seconds agree that are within this factor of each other."""

NOTHING = 0.1
"""A trace that saw less than this share of what a cause would have to look like refutes it."""

FALLEN = ("PyFunc", "NumpyFunction", "MatMul", "Conv", "BiasAdd", "Relu", "Tanh", "ResourceApply")
"""Parts of the names of operations that are a step's work: seen on the CPU they have fallen there.
Constants, arguments and what carries values across belong there."""

Arms = tuple[str, ...]
"""The arms that are compared, the GPU's the last; the GPU's alone where it does not lose."""

Seen = Iterator[tuple[bool, Evidence]]
"""Whether an independent measurement agrees, and what it says."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A cause: what is compared with its seconds, and what share of a call a trace would have to show.

    ``shown``: a trace shows it by itself.  An idle GPU may wait for anything, so that idleness speaks for
    no cause; but a busy one does not wait.
    """

    check: Callable[[CellIndex, Part, Arms], Seen] | None = None
    look: Callable[[Trace], float] | None = None
    shown: bool = False


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What a cause takes of what a cell loses: seconds a call by block, and how we know.

    ``parts`` are where it was found; none: it is there, and no cell says what it costs.
    """

    rule: RuleName
    parts: tuple[Part, ...]
    seconds: Estimate | None
    evidence: tuple[Evidence, ...]
    gain: Finding | None = None


def cross_check(
    index: CellIndex, candidate: Candidate, arms: Arms
) -> tuple[bool, bool, tuple[Evidence, ...]]:
    """Whether an independent measurement agrees, whether a trace refutes the candidate, and what they say.

    The part that takes most of it is checked.
    """
    if not candidate.parts:
        return False, False, ()
    rule = RULES[candidate.rule]
    part = max(candidate.parts, key=lambda one: find_excess(one, arms))
    checked = list(rule.check(index, part, arms)) if rule.check else []
    agrees, told = any(one for one, _ in checked), [evidence for _, evidence in checked]
    trace = index.trace(part.cell, arms[-1])
    refuted = False
    if trace is not None:
        told.append(cite_trace(trace))
        if rule.look is not None:
            seconds = find_excess(part, arms) / part.times
            whole = index.seconds(part.cell, arms[-1]) or 0.0
            seen = rule.look(trace) * whole
            refuted = seen < NOTHING * seconds
            agrees = agrees or (rule.shown and seen >= seconds / AGREES)
    return agrees and not refuted, refuted, tuple(told)


def find_off_device_ops(index: CellIndex, one: CellSummary, arm: str) -> tuple[str, ...]:
    """The operations of a step's work that were seen elsewhere than on its device."""
    seen = {name for result in index.measured(one, arm) for name in result.elsewhere}
    return tuple(name for name in sorted(seen) if any(op in name for op in FALLEN))


def find_excess(part: Part, arms: Arms) -> float:
    """Seconds that a part takes more on the GPU than on the CPU; without one, on the GPU."""
    means = [mean_of(part.seconds[arm]) for arm in arms]
    return means[-1] - math.fsum(means[:-1])


def _agree(one: float, other: float) -> bool:
    return other / AGREES <= one <= other * AGREES


def _costs_agree(
    part: Part, paid: Sequence[Overhead | None], arms: Arms, times: float = 1.0
) -> bool:
    """Whether so many times a cost, the GPU's beyond the CPU's, is what the part takes."""
    known = [times * cost.seconds for cost in paid if cost is not None]
    if len(known) < len(arms):
        return False
    return _agree(known[-1] - math.fsum(known[:-1]), find_excess(part, arms) / part.times)


def _check_transfer(index: CellIndex, part: Part, arms: Arms) -> Seen:
    one = part.cell
    below, _ = index.link(one, "compute")
    if one.cell.work.bytes_in is None and below is not None:
        one = below
    paid = [transfer_cost(index, one, arm) for arm in arms]
    if paid[-1] is None or "copied-by-price" in {told.code for told in part.evidence}:
        return
    agrees = _costs_agree(part, paid, arms, count_calls(part.cell, one))
    yield agrees, cite("copies", seconds=paid[-1].seconds, **paid[-1].values)


def _check_dispatch(index: CellIndex, part: Part, arms: Arms) -> Seen:
    one, told = part.cell, {told.code for told in part.evidence}
    whole = index.seconds(one, arms[-1]) or 0.0
    paid = [dispatch_cost(index, one, arm) for arm in arms]
    if paid[-1] is not None and "handover" not in told:
        price = min(paid[-1].seconds, whole)
        yield (
            _costs_agree(part, paid, arms),
            cite("handover", price=price, own=whole, **paid[-1].values),
        )
    if is_dispatch_bound(index, one, arms[-1]) and "dispatch-bound" not in told:
        yield True, cite("dispatch-bound")


def _check_input(index: CellIndex, part: Part, arms: Arms) -> Seen:
    found = find_pipeline(index, part.cell, arms[-1])
    if found is None:
        return
    alone, whole, trivial = found.input, found.whole, found.trivial
    own = mean_of(part.seconds[arms[-1]]) / part.times / found.steps
    if alone is not None:
        yield _agree(alone, own), cite("input-alone", seconds=alone, share=alone / whole)
    if trivial is not None:
        yield trivial >= (1 - NO_FASTER) * whole, cite("trivial-model", seconds=trivial)


def _check_start(index: CellIndex, part: Part, arms: Arms) -> Seen:
    paid = [start_cost(index, part.cell, arm) for arm in arms]
    if paid[-1] is not None and "gone-elsewhere" not in {told.code for told in part.evidence}:
        yield _costs_agree(part, paid, arms), cite("first-step", seconds=paid[-1].seconds)


def _check_retracing(index: CellIndex, part: Part, arms: Arms) -> Seen:
    """By the first call of the plain step, which makes one trace, against its later ones, which make none."""
    paid = [trace_cost(index, part.cell, arm) for arm in arms]
    if paid[-1] is not None:
        yield _costs_agree(part, paid, arms), cite("first-call", seconds=paid[-1].seconds)


def _check_fallback(index: CellIndex, part: Part, arms: Arms) -> Seen:
    off_device = find_off_device_ops(index, part.cell, arms[-1])
    if off_device:
        yield True, cite("strays", operations=off_device)
    ways = [copy_cost(index, 4, arms[-1], way) for way in ("copy-out", "copy-in")]
    if all(ways):
        yield False, cite("round-trip", least=math.fsum(price.seconds for price in ways if price))


RULES: Mapping[RuleName, Rule] = {
    # A gap inside a step.
    "fallback": Rule(
        check=_check_fallback,
        look=lambda seen: seen.get("longest_gap_s", 0.0) / max(seen.get("call_s", 0.0), 1e-12),
        shown=True,
    ),
    "input": Rule(check=_check_input, look=lambda seen: 1.0 - seen.get("busy_share", 0.0)),
    "transfer": Rule(
        check=_check_transfer, look=lambda seen: seen.get("copy_share", 0.0), shown=True
    ),
    "start-up": Rule(check=_check_start),
    "retracing": Rule(check=_check_retracing),
    "overhead": Rule(check=_check_dispatch),
    # Kernels that take their time.
    "too small": Rule(
        look=lambda seen: seen.get("busy_share", 0.0) - seen.get("copy_share", 0.0), shown=True
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
