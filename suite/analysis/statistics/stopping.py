"""When a campaign knows enough to stop: a function of how wide the intervals are.

It sees no p-value and no verdict, so that looking does not choose the answer.  Or it looks at verdicts after
every block, at levels that pay for the looking (`find_share`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from suite.analysis.result.numbers import FEWEST, Estimate, Ratio
from suite.cells.traits import SEQUENTIAL
from suite.model import Campaign

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


def find_share(campaign: Campaign, block: int, *, early: bool) -> float | None:
    """What a look after this block may spend of every level, 0 to 1; None: levels are fixed, and one look at
    the planned end has all of them.

    Lan and DeMets 1983 (their third function): by block ``b`` of ``B`` at most ``b / B`` is spent, at looks
    after each block from the first that has intervals on.  A look's own part is a level of its own, so that
    the levels add up whatever the looks have in common: theirs assume normal scores, and here are t tests
    with two degrees of freedom.  Once no block can follow, which budgets and plans decide and no number, the
    rest is spent.  ``early``: of a profile whose levels are fixed, before its planned end.
    """
    sequential = campaign.profile in SEQUENTIAL
    if not (sequential or early):
        return None
    most = campaign.blocks
    if sequential:
        most = campaign.most_blocks or most
    over = block >= most or campaign.stopped is not None
    before = block - 1 if block > FEWEST else 0
    return max(0, (most if over else block) - before) / most
