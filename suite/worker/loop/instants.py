"""The instants of this process: its clock of the day is read once, when this is first imported.

So a clock that is set while a cell is measured, as on a cloud machine's first boot, moves no instant against
another.
"""

from __future__ import annotations

from datetime import datetime

from suite.kernel.clock import Span

_PROCESS = Span()


def now() -> datetime:
    """This instant, in UTC."""
    return _PROCESS.at()


def tell(instant: float) -> float:
    """The instant that ``time.monotonic`` gave, in seconds since 1970 (UTC)."""
    return _PROCESS.at(instant).timestamp()
