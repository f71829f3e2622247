"""What a size of a sweep should take, foretold from the sizes below it, before it is dared."""

from __future__ import annotations

from dataclasses import dataclass, field

from suite.model import Cell

TRUSTED_S = 1e-3
"""A call that takes less than this is ruled by overhead: scaling it by work would foretell hours for
a size that takes milliseconds, so the next size is then simply tried."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """What one size took, in seconds a call and of the check, and the least that any took so far."""

    amount: float
    call_s: float
    check_s: float
    least_call_s: float
    least_check_s: float


@dataclass(kw_only=True)
class Forecast:
    """What the last size of each sweep took; ``seen`` is by all params but the sweep's own."""

    seen: dict[str, Size] = field(default_factory=dict)

    def remember(self, cell: Cell, call_s: float, check_s: float) -> None:
        """Notes seconds per call, and of the check, of a size."""
        if cell.sweep is not None:
            below = self.seen.get(_sweep_key(cell))
            self.seen[_sweep_key(cell)] = Size(
                amount=cell.work.amount,
                call_s=call_s,
                check_s=check_s,
                least_call_s=min(call_s, below.least_call_s) if below else call_s,
                least_check_s=min(check_s, below.least_check_s) if below else check_s,
            )

    def predict(self, cell: Cell) -> tuple[float, float] | None:
        """Seconds per call, and of the check, scaled by work from the size before; None: unknown.

        Scaling by work is right for sizes that arithmetic rules; see `TRUSTED_S` for the others.  A
        one-shot call also holds what a first time costs at any size, which can be half a second: so
        there only what a size took beyond the least of all sizes so far is scaled.
        """
        if cell.sweep is None or _sweep_key(cell) not in self.seen:
            return None
        size = self.seen[_sweep_key(cell)]
        ratio = cell.work.amount / size.amount
        if ratio <= 1:
            return None
        if cell.one_shot:
            return (
                size.call_s + (size.call_s - size.least_call_s) * (ratio - 1),
                size.check_s + (size.check_s - size.least_check_s) * (ratio - 1),
            )
        return None if size.call_s < TRUSTED_S else (size.call_s * ratio, size.check_s * ratio)


def _sweep_key(cell: Cell) -> str:
    others = [f"{axis}={value}" for axis, value in cell.params.items() if axis != cell.sweep]
    return "/".join([cell.scenario, cell.case, *others])
