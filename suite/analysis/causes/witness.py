"""What a trace says to a cause, and whether it agrees."""

from __future__ import annotations

from dataclasses import replace

from suite.analysis.ablation.trace import Trace
from suite.analysis.causes.rules import Suspicion
from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import Evidence, Value, cite

WAITS = 0.5
"""A GPU that has work for less of the time waits for whatever hands it over, feeds or copies."""


COPIES = 0.5
"""A trace agrees with a share of copying when it saw at least this part of it."""


_WAITING: frozenset[RuleName] = frozenset({"overhead", "input", "fallback"})
"""Causes that keep a GPU waiting, so that it must be seen to be idle."""


def attest(suspicion: Suspicion, trace: Trace | None) -> Suspicion:
    """The suspicion with what a trace saw as more evidence, and confirmed where that agrees.

    A trace that does not agree is told as well, and takes no confirmation away that the cells gave.
    """
    if trace is None:
        return suspicion
    evidence = (*suspicion.evidence, cite_trace(trace))
    agrees = is_agreed(suspicion, trace)
    return replace(suspicion, evidence=evidence, confirmed=suspicion.confirmed or agrees)


def is_agreed(suspicion: Suspicion, trace: Trace) -> bool:
    """Whether a trace shows what the cause would have to look like."""
    if suspicion.rule in _WAITING:
        return trace.get("busy_share", 1.0) < WAITS
    if suspicion.rule == "transfer":
        return trace.get("copy_share", 0.0) >= COPIES * (suspicion.share or 1.0)
    return False


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
