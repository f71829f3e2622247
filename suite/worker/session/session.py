"""The session of one worker: what becomes of each cell, whatever goes wrong in it; and tidy after it."""

from __future__ import annotations

import gc
import sys
import traceback
from dataclasses import replace
from typing import Any

from suite.clock import now
from suite.model import CellResult, make_pending
from suite.worker.loop.measure import Loop
from suite.worker.proof.placement import NotPlaced
from suite.worker.scenario.scenario import Inapplicable, WrongResult
from suite.worker.session.cell import CellRun, Forecast, OverBudget, Request, Times


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


class Runner:
    """Runs requests on one device with one loop."""

    def __init__(self, loop: Loop, device: str, times: Times, stages: dict[str, float]) -> None:
        self.loop = loop
        self.device = device
        self.times = times
        self.stages = stages
        self.forecast = Forecast()
        # TensorFlow's and Keras's hundred thousands of lasting objects need not be looked through
        # after every cell: that took longer than many a cell's warm-up.
        gc.collect()
        gc.freeze()

    def run(self, request: Request) -> CellResult:
        """The outcome of one cell; never raises for what the cell itself does wrong."""
        cell = request.cell
        run = CellRun(
            request=request,
            loop=self.loop,
            device=self.device,
            times=self.times,
            forecast=self.forecast,
        )
        result = replace(make_pending(cell), started=now())
        prepare = request.scenario.prepare
        if prepare is None:
            # A stage of the start-up sequence, which has been run already.
            took_s = self.stages[request.scenario.startup or str(cell.params["stage"])]
            result = record_once(result, took_s, waits="a start-up stage blocks")
            absent = {**result.absent, "check": "nothing is computed that could be wrong"}
            return replace(result, absent=absent, ended=now())
        try:
            result = run.measure(result, prepare)
        except (Inapplicable, OverBudget) as reason:
            result = replace(result, outcome="skipped", reason=str(reason))
        except Exception as error:  # noqa: BLE001  whatever a cell raises is this cell's outcome
            result = replace(result, outcome="failed", reason=explain(error))
        with run.account.of("hygiene"):
            self._clear()
        return replace(result, ended=now(), spent_s=run.account.spent_s)

    def _clear(self) -> None:
        """Leaves nothing of a cell to the next one."""
        import tensorflow as tf

        tf.keras.backend.clear_session()
        gc.collect()
        if self.device == "/GPU:0":
            tf.config.experimental.reset_memory_stats("GPU:0")
