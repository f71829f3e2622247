"""The forecast of a calibration: what the next size of a sweep will take, from the sizes before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from suite.cells.cell import Cell

TRUSTED_S = 1e-3
"""A call that takes less than this is ruled by overhead: scaling it by work would foretell hours for
a size that takes milliseconds, so the next size is then simply tried."""

OVERHEAD_UNIT = "example"
"""Work in this unit is done in calls that have far more overhead of their own (an eager step or Keras's
loop: a tenth of a second), which one size alone can't tell from the work: the second is tried."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a size of a sweep took: its work, and the seconds of a call and of the check."""

    amount: float
    call_s: float
    check_s: float


@dataclass(kw_only=True)
class Forecast:
    """What the smaller sizes of each sweep took, to predict the next one before daring it."""

    seen: dict[str, list[Seen]] = field(default_factory=dict)

    def remember(self, cell: Cell, call_s: float, check_s: float) -> None:
        """Notes seconds per call, and of the check, of a size."""
        if cell.sweep is not None:
            size = Seen(amount=cell.work.amount, call_s=call_s, check_s=check_s)
            smaller = [one for one in self.before(cell) if one.amount < size.amount]
            self.seen[_sweep_key(cell)] = [*smaller, size]

    def before(self, cell: Cell) -> list[Seen]:
        """The sizes of the cell's sweep that were noted so far, ascending."""
        return [] if cell.sweep is None else self.seen.get(_sweep_key(cell), [])

    def predict(self, cell: Cell) -> tuple[float, float] | None:
        """Seconds per call, and of the check, from the one or two sizes before; None: unknown.

        Two sizes give a line over the work, whose foot is the overhead; it never falls.  One alone is
        scaled by work, which is right where arithmetic rules; see `TRUSTED_S` and `OVERHEAD_UNIT`.  A
        one-shot call also holds what a first time costs at any size, which can be half a second: there
        only what a size took beyond the least of all sizes so far is scaled.
        """
        before = self.before(cell)
        if not before or cell.work.amount <= before[-1].amount:
            return None
        last = before[-1]
        if cell.one_shot:
            return _extend(before, cell.work.amount / last.amount - 1)
        if last.call_s < TRUSTED_S:
            return None
        if len(before) == 1:
            if cell.work.unit == OVERHEAD_UNIT:
                return None
            ratio = cell.work.amount / last.amount
            return last.call_s * ratio, last.check_s * ratio
        step = (cell.work.amount - last.amount) / (last.amount - before[-2].amount)
        return _extend(before[-2:], step)


def _extend(sizes: list[Seen], step: float) -> tuple[float, float]:
    """What the last of these sizes took, and so many times what that is beyond the least of them."""
    last = sizes[-1]
    return (
        last.call_s + step * (last.call_s - min(one.call_s for one in sizes)),
        last.check_s + step * (last.check_s - min(one.check_s for one in sizes)),
    )


def _sweep_key(cell: Cell) -> str:
    others = [f"{axis}={value}" for axis, value in cell.params.items() if axis != cell.sweep]
    return "/".join([cell.scenario, cell.case, *others])
