"""How long engines and processes are waited for, in seconds: the one place for it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

KNOCK_S = 10.0
"""A connection: whoever listens takes it at once."""

ASK_S = 10.0
"""An answer that takes no work: what a container wrote, to kill it."""

WORK_S = 60.0
"""An answer that does: lists, containers and volumes made and removed, also with much data in them, on a
disk that is busy; the start of a container, with its GPU; how a container is, which an engine that was
killed tells when it has stopped all that it finds."""

SILENT_S = 1800.0
"""From one word to the next of something that takes long: a build unpacks gigabytes without a word."""

PROBE_S = 120.0
"""A trivial container, from its start to its last word."""

HUNG_S = 5.0
"""The removal of a container whose start hangs: the engine can't until that ends."""

AWAY_S = 60.0
AWAY_EVERY_S = 1.0
"""An engine that has gone in the middle of a campaign, and how often to look: one that is restarted
comes back."""

LEAVE_S = 10.0
"""Everything that is cleaned up where a person or an error breaks off, in all: what an engine that hangs
can't remove is left, and told."""

GRACE_S = 10.0
"""From the end of the worker's output to the end of its process: releasing a GPU takes seconds."""

UNREAD_GRACE_S = 2.0
"""The same where its output was not read to the end."""

KILLED_S = 60.0
"""From a kill to the end: a driver that hangs keeps its process for a while."""

READER_S = 5.0
"""The thread that reads a worker's output, once that has ended."""

EXAMINED_S = 8.0
"""Each answer of an engine, or a registry that it asks, to the doctor, who gives up after a minute."""


class Patience:
    """How long an engine is waited for: ``most_s`` for each answer, and once somebody wants to leave,
    `LEAVE_S` for all."""

    def __init__(self, most_s: float | None = None) -> None:
        self._most_s = math.inf if most_s is None else most_s
        self._until = math.inf

    def hurry(self) -> None:
        """Somebody wants to leave, and asks for nothing more afterwards."""
        self._until = min(self._until, time.monotonic() + LEAVE_S)

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Around what is done as if somebody wanted to leave, who may come back."""
        before = self._until
        self.hurry()
        try:
            yield
        finally:
            self._until = before

    def allow(self, seconds: float) -> float:
        """What there is of so many seconds.

        Raises:
            TimeoutError: nothing.
        """
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("it was waited for as long as can be, and is not asked any more")
        return min(seconds, self._most_s, left_s)
