"""What a trace says to a cause: in words, and whether it agrees."""

from __future__ import annotations

from dataclasses import replace

from suite.analysis.ablation.trace import Trace
from suite.analysis.causes.rules import RuleName, Suspicion
from suite.report.text.units import show_seconds, show_share

WAITS = 0.5
"""A GPU that has work for less of the time waits for whatever hands it over, feeds or copies."""


COPIES = 0.5
"""A trace agrees with a share of copying when it saw at least this part of it."""


_WAITING: frozenset[RuleName] = frozenset({"overhead", "input", "fallback"})
"""Causes that keep a GPU waiting, so that it must be seen to be idle."""


def attest(suspicion: Suspicion, trace: Trace | None) -> Suspicion:
    """The suspicion with what a trace says to it: in words, and confirmed where it agrees.

    A trace that does not agree is told as well, and takes no confirmation away that the cells gave.
    """
    if trace is None:
        return suspicion
    evidence = f"{suspicion.evidence}; {word_trace(trace)}"
    agrees = is_agreed(suspicion, trace)
    return replace(suspicion, evidence=evidence, confirmed=suspicion.confirmed or agrees)


def is_agreed(suspicion: Suspicion, trace: Trace) -> bool:
    """Whether a trace shows what the cause would have to look like."""
    if suspicion.rule in _WAITING:
        return trace.get("busy_share", 1.0) < WAITS
    if suspicion.rule == "transfer":
        return trace.get("copy_share", 0.0) >= COPIES * (suspicion.share or 1.0)
    return False


def word_trace(trace: Trace) -> str:
    """A trace in words, such as ``a trace of 20 calls saw the GPU busy 12 % of the time, …``."""
    words = [f"the GPU busy {show_share(trace.get('busy_share', 0.0), 1.0)} of the time"]
    if trace.get("copies"):
        copied = show_share(trace.get("copy_share", 0.0), 1.0)
        words.append(f"copying {copied} ({trace['copies']:.3g} copies a call)")
    words.append(f"{trace.get('kernels', 0.0):.3g} kernels a call")
    gap = trace.get("longest_gap_s", 0.0)
    if gap > 0:
        words.append(f"{show_seconds(gap)} without work at most")
    return f"a trace of {trace.get('calls', 0.0):.0f} calls saw {', '.join(words)}"
