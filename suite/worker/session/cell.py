"""A cell that is asked for, and what becomes of it whichever way it is measured."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from suite.cells.cell import Cell
from suite.cells.scenario import Proof, Scenario
from suite.model import CellResult
from suite.worker.proof.placement import NotPlaced
from suite.worker.scenario.scenario import WrongResult


@dataclass(frozen=True, kw_only=True)
class Request:
    """One cell to run, with its K; None: find it (and mind the budget while doing so).

    ``usual_s`` is what a call took where K was found, if it is slow.
    """

    scenario: Scenario
    cell: Cell
    calls: int | None
    usual_s: float = 0.0

    @property
    def proof(self) -> Proof:
        """How the device of its work is shown."""
        return self.scenario.proof_of(self.cell.params)

    def place(self, device: str) -> str:
        """Where its work belongs on the arm of that device, such as ``GPU:0``."""
        return "CPU:0" if self.cell.device == "cpu" else device.lstrip("/")


@contextmanager
def book(spent_s: dict[str, float], kind: str) -> Iterator[None]:
    """Books the seconds inside the block on a kind, also when it raises."""
    began = time.perf_counter_ns()
    try:
        yield
    finally:
        spent_s[kind] = spent_s.get(kind, 0.0) + (time.perf_counter_ns() - began) / 1e9


def unbook(spent_s: dict[str, float], kind: str, seconds: float) -> None:
    """Takes seconds off a kind that are booked where they belong: those of a call that turned out to be a
    sample, or the warm-up."""
    spent_s[kind] = max(0.0, spent_s[kind] - seconds)


def fail(result: CellResult, reason: str) -> CellResult:
    """The result as a failed one: its numbers are gone, since nobody knows what they are of."""
    return replace(
        result,
        outcome="failed",
        reason=reason,
        first_call_s=None,
        calls_per_sample=None,
        warmup_status=None,
        warmup_s=[],
        samples_s=[],
        cpu_s=[],
        replaced_s=[],
        replaced_cpu_s=[],
        enqueue_fraction=None,
        check=None,
        peak_memory_bytes=None,
        labels=[],
        trace={},
    )


def record_once(result: CellResult, seconds: float, *, waits: str, **more: Any) -> CellResult:
    """The result of what happens once in a process and was timed there: these seconds are its one sample.

    ``waits`` says why nothing was enqueued; ``more`` are other fields.
    """
    return replace(
        result,
        outcome="measured",
        calls_per_sample=1,
        samples_s=[seconds],
        warmup_status="cold",
        absent={
            "first_call_s": "the sample is the first call",
            "enqueue_fraction": waits,
            "peak_memory_bytes": "not separable from what came before",
        },
        **more,
    )


LONGEST = 500
"""Characters of an error's end that a reason shows, besides its beginning."""


def explain(error: Exception) -> str:
    """Why a cell failed, from what it raised; the traceback of an error not of ours is printed."""
    if isinstance(error, NotPlaced):
        return f"placement not proven: {error}"
    if isinstance(error, WrongResult):
        return f"wrong result: {error}"
    traceback.print_exception(error, file=sys.stderr)
    words = " ".join(str(error).split())
    # TensorFlow begins with a long way to the operation, and says last what was wrong.
    text = words if len(words) <= LONGEST else f"{words[: LONGEST // 5]} … {words[-LONGEST:]}"
    return f"{type(error).__name__}: {text}"
