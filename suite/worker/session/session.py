"""The session of one worker: its cells one after the other, whatever goes wrong in one, and tidy after it.

A cell is prepared, called, proven, warmed up, sampled, traced and checked; every second is accounted for by
kind.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from suite.cells.cell import Cell
from suite.cells.traits import LEAST_SAMPLES, LONG_BUDGETS, is_slow
from suite.clock import now
from suite.model import FIRST_CALL, CellResult, Check, make_pending
from suite.worker.loop import counters, trace
from suite.worker.loop.disturbed import MOST
from suite.worker.loop.measure import Loop, Sample, Timing
from suite.worker.proof.placement import Placement, prove, watch
from suite.worker.scenario import allocator
from suite.worker.scenario.scenario import Inapplicable, Nodes, Prepared
from suite.worker.session.cell import Request, book, explain, record_once, unbook
from suite.worker.session.forecast import Forecast

SHORT = 0.9
"""Samples that are shorter than this share of the floor are labelled: K came out too small."""

DISPATCH_BOUND = 0.9
"""On a GPU, a larger enqueue fraction than this means that the CPU could not keep it busy."""


@dataclass(kw_only=True)
class Runner:
    """Runs requests on one device with one loop, in the profile's times for a cell.

    ``rest_s``: when all is ready, a cell waits for so long before it is warmed up, so that what was done to
    get it ready is forgotten.  ``brief``: the cells' checks have held before.  ``stages`` are the seconds of
    the start-up sequence.
    """

    loop: Loop
    device: str
    warmup_s: float
    measure_s: float
    budget_s: float
    rest_s: float = 0.0
    brief: bool = False
    stages: dict[str, float] = field(default_factory=dict)
    forecast: Forecast = field(default_factory=Forecast)

    def __post_init__(self) -> None:
        _collect()

    def run(self, request: Request) -> CellResult:
        """The outcome of one cell; never raises for what the cell itself does wrong."""
        result = replace(make_pending(request.cell), started=now())
        prepare = request.scenario.prepare
        if prepare is None:
            # A stage of the start-up sequence, which has been run already.
            took_s = self.stages[request.scenario.startup or str(request.cell.params["stage"])]
            result = record_once(result, took_s, waits="a start-up stage blocks")
            absent = {**result.absent, "check": "nothing is computed that could be wrong"}
            return replace(result, absent=absent, ended=now())
        spent_s: dict[str, float] = {}
        try:
            result = self._measure(request, result, prepare, spent_s)
        except Inapplicable as reason:
            result = replace(result, outcome="skipped", reason=str(reason))
        except Exception as error:  # noqa: BLE001  whatever a cell raises is this cell's outcome
            result = replace(result, outcome="failed", reason=explain(error))
        with book(spent_s, "hygiene"):
            self._clear()
        return replace(result, ended=now(), spent_s=spent_s)

    def _measure(
        self,
        request: Request,
        result: CellResult,
        prepare: Callable[..., Prepared],
        spent_s: dict[str, float],
    ) -> CellResult:
        """The result with all that was measured; the seconds go to ``spent_s`` by kind, also when it raises.

        Raises:
            Inapplicable: it would take too long, or as the scenario has it.
            NotPlaced, WrongResult: as the scenario or its proof has it.
        """
        cell, calibrating = request.cell, request.calls is None
        on_gpu = request.place(self.device) == "GPU:0"
        if calibrating:
            self._refuse_hopeless(cell)
        with book(spent_s, "prepare"):
            prepared = prepare(device=self.device, **cell.params)
        witnessed: dict[str, float | None] = {}
        try:
            with book(spent_s, "first_call"), watch() as nodes:
                if prepared.warm_start is not None:
                    prepared.warm_start()
                first, last = self.loop.sample(prepared.step, 1)
            with book(spent_s, "placement"):
                placement = self._prove(request, prepared, nodes, last)
            if cell.one_shot:
                status = "cold" if prepared.warm_start is None else "run-up"
                timing = Timing(
                    samples_s=[first.seconds],
                    cpu_s=[first.cpu_s],
                    warmup_status=status,
                    last=last,
                    measure_wall_s=first.seconds,
                )
            else:
                del last
                timing, witnessed = self._time(request, prepared, spent_s)
                if prepared.retraces:
                    self._prove_again(request, prepared, spent_s)
            warmed_s = first.seconds if timing.warmup_status == FIRST_CALL else 0.0
            if cell.one_shot or warmed_s:
                unbook(spent_s, "first_call", first.seconds)
            spent_s["warmup"] = warmed_s + timing.warmup_wall_s
            spent_s["measure"] = timing.measure_wall_s
            call_s = statistics.median(timing.samples_s)
            # Here, because the check of a training step trains another model.
            memory = _peak_memory() if on_gpu else None
            traced, untraced = self._trace(request, prepared, call_s, spent_s)
            with book(spent_s, "check"):
                check = self._check(prepared, timing.last)
        finally:
            prepared.close()
        if calibrating:
            self.forecast.remember(cell, call_s, spent_s["check"])
        enqueues = prepared.enqueues and on_gpu and not cell.one_shot
        absent = {"trace": untraced} if untraced else {}
        if not enqueues:
            absent["enqueue_fraction"] = "the step blocks" if on_gpu else "a CPU's step blocks"
        if memory is None:
            absent["peak_memory_bytes"] = "TensorFlow does not count the CPU's memory"
        if prepared.warm_start is not None:
            absent["first_call_s"] = "calls that were not timed came before the sample"
        return replace(
            result,
            outcome="measured",
            first_call_s=first.seconds if prepared.warm_start is None else None,
            calls_per_sample=timing.calls,
            warmup_status=timing.warmup_status,
            warmup_s=timing.warmup_s,
            samples_s=timing.samples_s,
            cpu_s=timing.cpu_s,
            replaced_s=timing.replaced_s,
            replaced_cpu_s=timing.replaced_cpu_s,
            enqueue_fraction=timing.enqueue_fraction if enqueues else None,
            placement=placement.nodes,
            elsewhere=placement.elsewhere,
            check=check,
            peak_memory_bytes=memory,
            labels=self._label(
                timing, call_s * timing.calls, one_shot=cell.one_shot, enqueues=enqueues
            ),
            evidence=witnessed,
            trace=traced,
            absent=absent,
        )

    def _time(
        self, request: Request, prepared: Prepared, spent_s: dict[str, float]
    ) -> tuple[Timing, dict[str, float | None]]:
        """The warm-up and the samples, and what else was at work meanwhile."""
        with book(spent_s, "hygiene"):
            gc.collect()
        calls, usual_s = request.calls, request.usual_s
        finds = calls is None
        before = counters.read()
        if calls is None:
            calls, sample, last = self._calibrate(request.cell, prepared, spent_s)
            usual_s = sample.seconds
            if usual_s > self.measure_s:
                # One sample is all, and there it is.
                unbook(spent_s, "calibrate", usual_s)
                timing = Timing(
                    calls=calls,
                    samples_s=[usual_s],
                    cpu_s=[sample.cpu_s],
                    enqueue_fraction=sample.enqueue_fraction,
                    warmup_status=FIRST_CALL,
                    last=last,
                    measure_wall_s=usual_s,
                )
                return timing, counters.compare(before, counters.read())
            del last
        if self.rest_s:
            with book(spent_s, "rest"):
                time.sleep(self.rest_s)
        before = counters.read()
        timing = self.loop.measure(
            prepared.step,
            calls,
            warmup_s=self.warmup_s,
            measure_s=self.measure_s,
            usual_s=usual_s,
            traces=prepared.traces,
            # What is kept going is a course, in which each sample has its place.
            computes=request.place(self.device) == "CPU:0" and request.cell.role != "sustained",
            finds=finds,
        )
        return timing, counters.compare(before, counters.read())

    def _label(
        self, timing: Timing, usual_s: float, *, one_shot: bool, enqueues: bool
    ) -> list[str]:
        """What the worker itself has to say against a number, whose samples usually take ``usual_s``."""
        labels = ["warm-up cap"] if timing.warmup_status == "cap" else []
        if not one_shot and usual_s < SHORT * self.loop.floor_s:
            labels.append("short samples")
        if timing.disturbed > MOST:
            labels.append("disturbed")
        if enqueues and timing.enqueue_fraction > DISPATCH_BOUND:
            labels.append("dispatch-bound")
        return labels

    def _trace(
        self, request: Request, prepared: Prepared, call_s: float, spent_s: dict[str, float]
    ) -> tuple[dict[str, float], str | None]:
        """What the GPU did in a few more calls, untimed, while calibrating; or nothing, and why."""
        on_gpu = request.place(self.device) == "GPU:0"
        if request.calls is not None or request.cell.one_shot or not on_gpu:
            return {}, None
        with book(spent_s, "trace"):
            try:
                return trace.trace(prepared.step, self.loop.fence, call_s), None
            except trace.NoTrace as reason:
                return {}, str(reason)

    def _refuse_hopeless(self, cell: Cell) -> None:
        """Before anything of the cell is run: would the size before it, scaled, break the budget?"""
        predicted = self.forecast.predict(cell)
        if predicted is not None:
            call_s, check_s = predicted
            cost = call_s * self._count_calls(cell, call_s) + check_s
            self._demand_budget(cell, cost, call_s, check_s)

    def _count_calls(self, cell: Cell, call_s: float) -> int:
        """The calls of a cell at least: the first, the one that finds K, one of warm-up, and the samples;
        a slow cell's first is its warm-up, and beyond the measuring time its second is the sample."""
        if cell.one_shot:
            return 1
        if call_s > self.measure_s:
            return 2
        return 2 + (not is_slow(call_s, self.warmup_s)) + LEAST_SAMPLES

    def _calibrate(
        self, cell: Cell, prepared: Prepared, spent_s: dict[str, float]
    ) -> tuple[int, Sample, Any]:
        """K, the sample that found it and its result; raises Inapplicable where the cell, at the speed just
        seen, would break its budget."""
        with book(spent_s, "calibrate"):
            calls, sample, last = self.loop.calibrate(prepared.step)
        call_s, sample_s = sample.seconds, sample.seconds * calls
        predicted = self.forecast.predict(cell)
        check_s = predicted[1] if predicted else 0.0
        cost = math.fsum(spent_s.values()) + check_s
        if not is_slow(call_s, self.warmup_s):
            cost += max(self.warmup_s, sample_s)
        if call_s <= self.measure_s:
            cost += max(self.measure_s, LEAST_SAMPLES * sample_s)
        self._demand_budget(cell, cost, call_s, check_s)
        return calls, sample, last

    def _check(self, prepared: Prepared, last: Any) -> Check:
        """Raises WrongResult where the result of the last timed call is not what it has to be."""
        if self.brief and prepared.brief is not None:
            return replace(prepared.brief(last), brief=True)
        return prepared.check(last)

    def _demand_budget(self, cell: Cell, cost_s: float, call_s: float, check_s: float) -> None:
        """Raises Inapplicable where the cell would cost more; the next size is then predicted from these."""
        budget_s = self.budget_s * (LONG_BUDGETS if cell.long_budget else 1.0)
        if cost_s > budget_s:
            self.forecast.remember(cell, call_s, check_s)
            raise over_budget(cost_s, budget_s)

    def _prove(self, request: Request, prepared: Prepared, nodes: Nodes, result: Any) -> Placement:
        return prove(
            request.proof,
            nodes,
            lambda: prepared.tensors(result),
            request.place(self.device),
            prepared.resident,
        )

    def _prove_again(self, request: Request, prepared: Prepared, spent_s: dict[str, float]) -> None:
        """Raises NotPlaced unless the graph of a later call is where that of the first one is."""
        with book(spent_s, "placement"):
            with watch() as nodes:
                last = prepared.step()
            self._prove(request, prepared, nodes, last)

    def _clear(self) -> None:
        """Leaves nothing of a cell to the next one."""
        import tensorflow as tf

        tf.keras.backend.clear_session()
        _collect()
        allocator.hold_still()
        if self.device == "/GPU:0":
            tf.config.experimental.reset_memory_stats("GPU:0")


def _collect() -> None:
    """Frees what nobody holds; what is left need not be looked through again.

    TensorFlow's and Keras's hundred thousands of lasting objects, and those thousands that each model leaves
    with them: that took longer than many a cell's warm-up.
    """
    gc.collect()
    gc.freeze()


def over_budget(cost_s: float, budget_s: float) -> Inapplicable:
    """Why a cell is skipped that would cost more than its budget, both in seconds."""
    return Inapplicable(
        f"would take {cost_s:.3g} s here; the profile's budget for this cell is {budget_s:g} s"
    )


def _peak_memory() -> int:
    import tensorflow as tf

    return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
