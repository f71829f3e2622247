"""An engine whose runs can be stopped from another thread, all of them at once.

Campaigns that run at the same time each have a thread and an engine of this kind; Ctrl-C, or trouble
in one of them, must end the others as it would end a single one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime

from suite.host.engine import Card, Ending, Engine, GpuRequest, Job, Running, Say, Volume
from suite.model import Image, Isolation, Scalar


class Halted(Exception):
    """The engine was halted; the run that this comes from has been stopped."""


class HaltingRun:
    """A run (see ``engine.Running``) that ends with `Halted` once its engine is halted."""

    def __init__(self, inner: Running, halted: threading.Event, ended: Callable[[], None]) -> None:
        self._inner = inner
        self._halted = halted
        self._ended = ended

    @property
    def id(self) -> str:
        """See ``engine.Running``."""
        return self._inner.id

    @property
    def process_id(self) -> int | None:
        """See ``engine.Running``."""
        return self._inner.process_id

    @property
    def started(self) -> datetime:
        """See ``engine.Running``."""
        return self._inner.started

    def next_line(self, timeout_s: float) -> str | None:
        """See ``engine.Running``.

        Raises:
            Halted: the engine was halted, before this was asked or meanwhile.
        """
        line = None if self._halted.is_set() else self._inner.next_line(timeout_s)
        if self._halted.is_set():
            raise Halted
        return line

    def stop(self) -> None:
        """See ``engine.Running``."""
        self._inner.stop()

    def close(self) -> Ending:
        """See ``engine.Running``."""
        try:
            return self._inner.close()
        finally:
            self._ended()


class HaltingEngine:
    """Another engine (see ``engine.Engine``), with a `halt` that any thread may call."""

    def __init__(self, inner: Engine) -> None:
        self._inner = inner
        self._halted = threading.Event()
        self._lock = threading.Lock()
        self._running: dict[str, Running] = {}

    def halt(self) -> None:
        """Stops what runs and starts nothing more; whoever listens to a run hears `Halted`."""
        with self._lock:
            self._halted.set()
            running = list(self._running.values())
        for run in running:
            run.stop()

    @property
    def name(self) -> str:
        """See ``engine.Engine``."""
        return self._inner.name

    @property
    def isolation(self) -> Isolation:
        """See ``engine.Engine``."""
        return self._inner.isolation

    @property
    def is_here(self) -> bool | None:
        """See ``engine.Engine``."""
        return self._inner.is_here

    def describe(self) -> dict[str, Scalar]:
        """See ``engine.Engine``."""
        return self._inner.describe()

    def cpus(self) -> tuple[int, ...]:
        """See ``engine.Engine``."""
        return self._inner.cpus()

    @property
    def binds_cpus(self) -> bool:
        """See ``engine.Engine``."""
        return self._inner.binds_cpus

    def memory_bytes(self) -> int | None:
        """See ``engine.Engine``."""
        return self._inner.memory_bytes()

    def settle_custom(self, progress: Say) -> str | None:
        """See ``engine.Engine``."""
        return self._inner.settle_custom(progress)

    def provide(self, name: str, progress: Say) -> Image:
        """See ``engine.Engine``."""
        return self._inner.provide(name, progress)

    def find_gpu(self, wanted: str) -> GpuRequest:
        """See ``engine.Engine``."""
        return self._inner.find_gpu(wanted)

    def list_gpus(self) -> tuple[Card, ...]:
        """See ``engine.Engine``."""
        return self._inner.list_gpus()

    def start(self, job: Job) -> HaltingRun:
        """See ``engine.Engine``.

        Raises:
            Halted: the engine was halted.
        """
        if self._halted.is_set():
            raise Halted
        run = self._inner.start(job)
        with self._lock:
            self._running[run.id] = run
        if self._halted.is_set():
            # Halted while it was being started: whoever did it has not seen this run.
            run.stop()
        return HaltingRun(run, self._halted, lambda: self._forget(run.id))

    def _forget(self, identity: str) -> None:
        with self._lock:
            self._running.pop(identity, None)

    def remove_volume(self, volume: Volume) -> None:
        """See ``engine.Engine``."""
        self._inner.remove_volume(volume)

    def sweep_leftovers(self) -> int:
        """See ``engine.Engine``."""
        return self._inner.sweep_leftovers()
