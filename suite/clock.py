"""The instants of something under way: the clock of the day is read once, and the monotonic one from then
on, so that a clock that is set, as on a cloud machine's first boot, moves no instant against another."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone


class Span:
    """From ``started`` (UTC) on."""

    def __init__(self) -> None:
        self.started = datetime.now(timezone.utc)
        self._began = time.monotonic()

    def at(self, instant: float | None = None) -> datetime:
        """The instant that ``time.monotonic`` gave; None: this one."""
        seconds = (time.monotonic() if instant is None else instant) - self._began
        return self.started + timedelta(seconds=seconds)

    def jump_s(self) -> float:
        """By how many seconds the clock of the day was set meanwhile."""
        return (datetime.now(timezone.utc) - self.at()).total_seconds()


PROCESS = Span()
"""From the first import of this module on."""


def now() -> datetime:
    """This instant of the process, in UTC."""
    return PROCESS.at()


def to_timestamp(instant: float) -> float:
    """The instant that ``time.monotonic`` gave, in seconds since 1970 (UTC)."""
    return PROCESS.at(instant).timestamp()
