"""How far an arm's rate comes along a sweep: its best, and how long it stays far below.  Pure."""

from __future__ import annotations

from collections.abc import Iterable

from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.numbers.crossover import Sweep
from suite.analysis.result.numbers import Reach, derive_rate

FAR_BELOW = 0.1
"""Under this share of its own best rate a device mostly waits: the size is too small for it."""


def find_reach(sweep: Sweep, cells: Iterable[CellSummary], arm: str) -> Reach | None:
    """The reach of an arm, from its valid numbers; None under two of them, or without work."""
    by_id = {one.cell.id: one.arms[arm] for one in cells}
    rates = []
    unit = ""
    for cell in sweep.cells:
        result = by_id[cell.id]
        if result.estimate is None or result.invalid:
            continue
        rate = derive_rate(result.work.amount, result.estimate.value)
        if rate is not None:
            rates.append((float(cell.params[sweep.axis]), rate))
            unit = result.work.unit
    if len(rates) < 2:
        return None
    best_at, best = max(rates, key=lambda one: one[1])
    short = None
    for size, rate in rates:
        if rate >= FAR_BELOW * best:
            break
        short = size
    return Reach(axis=sweep.axis, unit=unit, best=best, best_at=best_at, short_until=short)
