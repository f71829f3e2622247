"""A device with its clock, and as much of TensorFlow as the worker's own logic touches."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SECOND = 1_000_000_000
"""Nanoseconds."""


@dataclass
class FakeDevice:
    """A device with a queue, and the clock of the processor that feeds it, in whole nanoseconds.

    A step hands its work over (``enqueue_ns`` of the processor's time) and queues ``call_ns`` of
    the device's; only the fence moves the clock through what is queued, plus ``fence_ns`` of its
    own.  The first call queues ``first_ns`` more.  Set-up leaves ``left_ns`` queued.  ``jitter`` is
    the standard deviation of a call's time as a share of it; ``drift`` makes every call that much
    slower than the one before.  ``waits`` tells for how many nanoseconds a call, by its number, waits for a
    processor, which is computing all the rest of the time.
    """

    call_ns: int = 1_000_000
    enqueue_ns: int = 0
    fence_ns: int = 0
    first_ns: int = 0
    left_ns: int = 0
    jitter: float = 0.0
    drift: float = 0.0
    waits: Callable[[int], int] = lambda _: 0
    now_ns: int = 10**15
    waited_ns: int = 0
    queued_ns: int = 0
    calls: int = 0

    def __post_init__(self) -> None:
        self.queued_ns = self.left_ns
        self._draw = random.Random(0)

    def clock(self) -> int:
        """This instant."""
        return self.now_ns

    def cpu_clock(self) -> int:
        """The processor's time that was used so far."""
        return self.now_ns - self.waited_ns

    def fence(self) -> None:
        """Waits for the queue."""
        self.now_ns += self.queued_ns + self.fence_ns
        self.queued_ns = 0

    def step(self) -> int:
        """One call; its result is its number."""
        self.calls += 1
        waits = self.waits(self.calls)
        self.now_ns += self.enqueue_ns + waits
        self.waited_ns += waits
        takes: float = self.call_ns
        if self.drift:
            takes *= (1.0 + self.drift) ** (self.calls - 1)
        if self.jitter:
            takes *= max(0.0, self._draw.gauss(1.0, self.jitter))
        self.queued_ns += round(takes) + (self.first_ns if self.calls == 1 else 0)
        return self.calls

    def leave_work(self, nanoseconds: int) -> None:
        """What a set-up does that nobody waited for."""
        self.queued_ns += nanoseconds


def install(monkeypatch: pytest.MonkeyPatch, **names: Any) -> ModuleType:
    """Puts a module of these names where ``import tensorflow`` looks."""
    module = ModuleType("tensorflow")
    for name, value in names.items():
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    return module


@dataclass(eq=False)
class Scopes:
    """``tf.device``, and which one is named now."""

    scopes: list[str | None] = field(default_factory=lambda: [None])

    @contextmanager
    def device(self, name: str | None) -> Iterator[None]:
        self.scopes.append(name)
        yield
        self.scopes.pop()


class FakeTensorFlow:
    """The few names of TensorFlow that the worker's own logic calls.

    ``nodes`` are what a watched first call is seen to execute: (operation, device, name).
    """

    def __init__(self, nodes: Sequence[tuple[str, str, str]] = ()) -> None:
        self.nodes = list(nodes)
        self.sessions_cleared = 0
        self.statistics_reset = 0
        self.watching = False
        self.peak_bytes = 12_345
        self.tf32: list[bool] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> FakeTensorFlow:
        """Puts it where ``import tensorflow`` looks, for the length of a test."""
        for name, module in self.modules().items():
            monkeypatch.setitem(sys.modules, name, module)
        return self

    def modules(self) -> dict[str, ModuleType]:
        """Modules by the name that they are imported by."""
        names = ("tensorflow", "tensorflow.python", "tensorflow.python.eager")
        found = {name: ModuleType(name) for name in names}
        root: Any = found["tensorflow"]
        root.keras = SimpleNamespace(backend=SimpleNamespace(clear_session=self._clear_session))
        root.config = SimpleNamespace(
            experimental=SimpleNamespace(
                get_memory_info=lambda device: {"peak": self.peak_bytes, "current": 1},
                reset_memory_stats=self._reset_statistics,
                enable_tensor_float_32_execution=self.tf32.append,
            )
        )
        root.test = SimpleNamespace(experimental=SimpleNamespace(sync_devices=lambda: None))
        eager: Any = found["tensorflow.python.eager"]
        eager.context = SimpleNamespace(context=lambda: self)
        return found

    def enable_graph_collection(self) -> None:
        self.watching = True

    def disable_graph_collection(self) -> None:
        self.watching = False

    def export_run_metadata(self) -> Any:
        nodes = [
            SimpleNamespace(op=operation, device=device, name=name)
            for operation, device, name in self.nodes
        ]
        graph = SimpleNamespace(partition_graphs=[SimpleNamespace(node=nodes)])
        return SimpleNamespace(function_graphs=[graph])

    def _clear_session(self) -> None:
        self.sessions_cleared += 1

    def _reset_statistics(self, device: str) -> None:
        self.statistics_reset += 1
