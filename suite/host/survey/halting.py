"""An engine whose run can be stopped from another thread.

Campaigns that run at the same time each have a thread and an engine of this kind; Ctrl-C, or trouble
in one of them, must end the others as it would end a single one.
"""

from __future__ import annotations

import threading
from typing import Any

from suite.host.engine import Engine, Job, Running


class Halted(Exception):
    """The engine was halted; the run that this comes from has been stopped."""


class HaltingEngine:
    """Another engine (see ``engine.Engine``), with a `halt` that any thread may call.

    It runs one job after the other, as a campaign does.
    """

    def __init__(self, inner: Engine) -> None:
        self._inner = inner
        self._halted = threading.Event()
        self._newest: HaltingRun | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def halt(self) -> None:
        """Stops what runs and starts nothing more; whoever listens to a run hears `Halted`."""
        self._halted.set()
        if self._newest is not None:
            self._newest.stop()

    def start(self, job: Job) -> HaltingRun:
        """See ``engine.Engine``.

        Raises:
            Halted: the engine was halted.
        """
        if self._halted.is_set():
            raise Halted
        self._newest = run = HaltingRun(self._inner.start(job), self._halted)
        if self._halted.is_set():
            # Halted while it was being started: whoever did it has not seen this run.
            run.stop()
        return run


class HaltingRun:
    """A run (see ``engine.Running``) that ends with `Halted` once its engine is halted."""

    def __init__(self, inner: Running, halted: threading.Event) -> None:
        self._inner = inner
        self._halted = halted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def next_line(self, timeout_s: float) -> str | None:
        """See ``engine.Running``.

        Raises:
            Halted: the engine was halted, before this was asked or meanwhile.
        """
        line = None if self._halted.is_set() else self._inner.next_line(timeout_s)
        if self._halted.is_set():
            raise Halted
        return line
