"""How long a size of a sweep will take, from the smaller ones that were measured before it."""

from __future__ import annotations

from suite.cells.cell import Cell

TRUSTED_S = 1e-3
"""A call that takes less than this is ruled by overhead: scaling it by work would foretell hours for
a size that takes milliseconds, so the next size is then simply tried."""

OVERHEAD_UNIT = "example"
"""Work in this unit is done in calls that have far more overhead of their own (an eager step or Keras's
loop: a tenth of a second), which one size alone can't tell from the work: the second is tried."""

Size = tuple[float, float, float]
"""What a size took: its work, and the seconds of a call and of the check."""


class Forecast:
    """What the smaller sizes of each sweep took, to predict the next one before daring it."""

    def __init__(self) -> None:
        self.sizes: dict[str, list[Size]] = {}

    def remember(self, cell: Cell, call_s: float, check_s: float) -> None:
        """Notes seconds per call, and of the check, of a size."""
        if cell.sweep is not None:
            smaller = [size for size in self.before(cell) if size[0] < cell.work.amount]
            self.sizes[cell.sweep_key] = [*smaller, (cell.work.amount, call_s, check_s)]

    def before(self, cell: Cell) -> list[Size]:
        """The sizes of the cell's sweep that were noted so far, ascending."""
        return [] if cell.sweep is None else self.sizes.get(cell.sweep_key, [])

    def predict(self, cell: Cell) -> tuple[float, float] | None:
        """Seconds per call, and of the check, from the one or two sizes before; None: unknown.

        Two sizes give a line over the work, whose foot is the overhead; it never falls.  One alone is
        scaled by work, which is right where arithmetic rules; see `TRUSTED_S` and `OVERHEAD_UNIT`.  A
        one-shot call also holds what a first time costs at any size, which can be half a second: there
        only what a size took beyond the least of all sizes so far is scaled.
        """
        before = self.before(cell)
        if not before or cell.work.amount <= before[-1][0]:
            return None
        amount, call_s, check_s = before[-1]
        ratio = cell.work.amount / amount
        if cell.one_shot:
            return _extend(before, ratio - 1)
        if call_s < TRUSTED_S:
            return None
        if len(before) == 1:
            return None if cell.work.unit == OVERHEAD_UNIT else (call_s * ratio, check_s * ratio)
        return _extend(before[-2:], (cell.work.amount - amount) / (amount - before[-2][0]))


def _extend(sizes: list[Size], step: float) -> tuple[float, float]:
    """What the last of these sizes took, and so many times what that is beyond the least of them."""
    _, call_s, check_s = sizes[-1]
    return (
        call_s + step * (call_s - min(call_s for _, call_s, _ in sizes)),
        check_s + step * (check_s - min(check_s for _, _, check_s in sizes)),
    )
