"""What a look at a campaign before its end may spend of the chance of error."""

from __future__ import annotations

from suite.analysis.result.numbers import FEWEST
from suite.cells.traits import SEQUENTIAL
from suite.model import Campaign


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
    most = campaign.most_blocks or campaign.blocks
    over = block >= most or campaign.stopped is not None
    before = block - 1 if block > FEWEST else 0
    return max(0, (most if over else block) - before) / most
