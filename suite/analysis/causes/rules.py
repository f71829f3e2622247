"""Why a GPU can be slow: the causes, and what a finding of one consists of."""

from __future__ import annotations

from dataclasses import dataclass

from suite.analysis.causes.parts import Part
from suite.analysis.result.findings import RuleName, Speedup
from suite.analysis.result.numbers import Estimate, Evidence

RULES: tuple[RuleName, ...] = (
    "fallback",
    "input",
    "transfer",
    "start-up",
    "overhead",
    "too small",
    "unknown",
)
"""The causes that can explain a slow cell; of equal shares the first one is named first."""

NAMED = 0.10
"""A cause that explains less of what a cell loses is not named."""

WEIGHTY = 0.25
"""A cause that is not shown to explain more is never confirmed: it is not why a cell loses."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """What a cause takes of what a cell loses: seconds a call by block, and how we know.

    ``parts`` are where it was found; none: it is there, and no cell says what it costs.
    """

    rule: RuleName
    parts: tuple[Part, ...]
    seconds: Estimate | None
    evidence: tuple[Evidence, ...]
    gain: Speedup | None = None
