"""A cell on the arms that are compared, a part of what its call takes, and the arithmetic of parts.  Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from suite.analysis.ablation.cell_index import CellIndex, Values
from suite.analysis.ablation.speedups import find_speedup
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.findings import Finding, RuleName
from suite.analysis.result.numbers import Evidence
from suite.cells.cell import Cell
from suite.cells.traits import LinkName

Seconds = Mapping[str, Values]
"""Seconds a call by arm and block; can be negative."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A cell on the arms that are compared, the GPU's the last; the GPU's alone where it does not lose."""

    index: CellIndex
    summary: CellSummary
    arms: tuple[str, ...]

    @property
    def cell(self) -> Cell:
        """What the cell says of itself."""
        return self.summary.cell

    @property
    def gpu(self) -> str:
        """The GPU's arm."""
        return self.arms[-1]

    @property
    def values(self) -> Seconds:
        """What a call takes."""
        return {arm: self.index.values(self.summary, arm) for arm in self.arms}

    @property
    def seconds(self) -> float:
        """What a call takes on the GPU's arm; 0 where it has no number."""
        return self.index.seconds(self.summary, self.gpu) or 0.0

    def at(self, summary: CellSummary | None) -> Compared | None:
        """Another cell on the same arms; None: there is none, or it has no number on one of them."""
        if summary is None or not all(self.index.values(summary, arm) for arm in self.arms):
            return None
        return replace(self, summary=summary)

    def link(self, name: LinkName) -> tuple[Compared | None, Evidence]:
        """The cell that a link leads to, as `at` has it, and what is different there."""
        summary, how = self.index.link(self.summary, name)
        return self.at(summary), how

    def leave_out(self, other: Compared) -> Seconds:
        """What a call takes more than another cell of the same work."""
        times, less = count_calls(self.cell, other.cell), other.values
        return {arm: subtract(values, less[arm], times) for arm, values in self.values.items()}

    def find_gain(self, other: CellSummary | None, how: Evidence) -> Finding | None:
        """How many times less time another cell takes on the GPU's arm, as `find_speedup` has it."""
        return find_speedup(self.index, self.summary, other, self.gpu, how)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one thing takes of a call: the rule that it is a case of; None: nobody can tell which.

    ``here`` has it, and a call of the cell asked about does the work of ``times`` calls of that.  ``gains``
    are what is faster without it; None: not measured.
    """

    rule: RuleName | None
    here: Compared
    seconds: Seconds
    evidence: tuple[Evidence, ...]
    gains: tuple[Finding | None, ...] = ()
    times: float = 1.0

    @property
    def own_s(self) -> float:
        """Seconds that it takes on the GPU."""
        return mean_of(self.seconds[self.here.gpu])

    @property
    def excess_s(self) -> float:
        """Seconds that it takes more on the GPU than on the CPU; without one, on the GPU."""
        return self.own_s - math.fsum(mean_of(self.seconds[arm]) for arm in self.here.arms[:-1])

    def is_told_by(self, code: str) -> bool:
        """Whether such evidence is what it was found by."""
        return code in {evidence.code for evidence in self.evidence}


Found = tuple[Compared | None, list[Part]]
"""The next plainer cell, if the rest matters, and what is gone there."""


def count_calls(cell: Cell, other: Cell) -> float:
    """How many calls of the other cell do the work of a call of this one."""
    by_call = cell.way is not None and cell.way.by_call
    amounts = cell.work.amount, other.work.amount
    return 1.0 if by_call or min(amounts) <= 0 else amounts[0] / amounts[1]


def subtract(whole: Values, less: Values, times: float = 1.0) -> Values:
    """The whole less so many times the other, in the blocks that have both."""
    return {block: s - times * less[block] for block, s in whole.items() if block in less}


def mean_of(values: Values) -> float:
    """The arithmetic mean over the blocks; 0 where there is none."""
    return math.fsum(values.values()) / len(values) if values else 0.0
