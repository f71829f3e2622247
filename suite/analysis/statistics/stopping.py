"""When a campaign knows enough to stop: a function of how wide the intervals are.

It sees no p-value and no verdict, so that looking does not choose the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from suite.analysis.result.numbers import Estimate, Ratio

HALF_WIDTH = 0.02
"""A value whose 95 % CI reaches no further to either side is known well enough."""

CLEAR = 1.5
"""A ratio whose whole interval lies beyond this has nothing more to say to a reader."""

SHARE = 0.95
"""So many of the cells have to be known well enough."""


@dataclass(frozen=True, kw_only=True)
class Precision:
    """How many of the cells that have numbers are known well enough; ``enough``: stop here."""

    precise: int
    cells: int

    @property
    def enough(self) -> bool:
        """Whether 95 % of the cells are known well enough; never where there is no cell."""
        return self.cells > 0 and self.precise >= SHARE * self.cells


def is_precise(estimates: Sequence[Estimate], ratios: Iterable[Ratio]) -> bool:
    """Whether a cell is known well enough: every arm's value within 2 %, or every ratio clear.

    Fixed-width stopping (Chow and Robbins 1965) with looks so few that coverage stays nominal:
    tests/bench measures it.
    """
    ratios = list(ratios)
    clear = bool(ratios) and all(map(_is_clear, ratios))
    return clear or (bool(estimates) and all(map(_is_narrow, estimates)))


def assess(cells: Iterable[tuple[Sequence[Estimate], Sequence[Ratio]]]) -> Precision:
    """The precision so far, from each cell's estimates by arm and ratios against the first arm.

    Cells without any number have nothing to learn from more blocks and do not count.
    """
    precise = [is_precise(estimates, ratios) for estimates, ratios in cells if estimates]
    return Precision(precise=sum(precise), cells=len(precise))


def _is_narrow(estimate: Estimate) -> bool:
    if estimate.low is None or estimate.high is None:
        return False
    return max(estimate.high / estimate.value, estimate.value / estimate.low) - 1 <= HALF_WIDTH


def _is_clear(ratio: Ratio) -> bool:
    if ratio.low is None or ratio.high is None:
        return False
    return ratio.low > CLEAR or ratio.high < 1 / CLEAR
