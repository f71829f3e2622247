"""A part of what a call takes, and the arithmetic of parts.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from suite.analysis.ablation.cell_index import CellIndex, Values
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.findings import Finding, RuleName
from suite.analysis.result.numbers import Evidence

Seconds = Mapping[str, Values]
"""Seconds a call by arm and block; can be negative."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one thing takes of a call: the rule that it is a case of; None: nobody can tell which.

    ``cell`` has it, and a call of the cell asked about does the work of ``times`` calls of that.
    """

    rule: RuleName | None
    cell: CellSummary
    seconds: Seconds
    evidence: tuple[Evidence, ...]
    gain: Finding | None = None
    times: float = 1.0


Found = tuple[CellSummary | None, list[Part]]
"""The next plainer cell, if the rest matters, and what is gone there."""


def count_calls(one: CellSummary, other: CellSummary) -> float:
    """How many calls of the other cell do the work of a call of the one."""
    by_call = one.cell.way is not None and one.cell.way.by_call
    amounts = one.cell.work.amount, other.cell.work.amount
    return 1.0 if by_call or min(amounts) <= 0 else amounts[0] / amounts[1]


def scale(seconds: Seconds, by: float) -> Seconds:
    """So many times the seconds."""
    return {arm: {b: by * s for b, s in values.items()} for arm, values in seconds.items()}


def subtract(whole: Values, less: Values, times: float = 1.0) -> Values:
    """The whole less so many times the other, in the blocks that have both."""
    return {block: s - times * less[block] for block, s in whole.items() if block in less}


def has_numbers(index: CellIndex, one: CellSummary | None, arms: Iterable[str]) -> bool:
    """Whether a cell has a number on all of these arms."""
    return all(index.values(one, arm) for arm in arms)


def leave_out(
    index: CellIndex, one: CellSummary, other: CellSummary, arms: Iterable[str]
) -> Seconds:
    """What the one takes more than another cell of the same work, in a call of the one."""
    times = count_calls(one, other)
    return {arm: subtract(index.values(one, arm), index.values(other, arm), times) for arm in arms}


def mean_of(values: Values) -> float:
    """The arithmetic mean over the blocks; 0 where there is none."""
    return math.fsum(values.values()) / len(values) if values else 0.0
