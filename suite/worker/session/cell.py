"""One cell, measured: prepared, called, proven, warmed up, sampled, traced and checked.

Accounts for every second by kind.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from suite.cells.cell import Cell
from suite.cells.scenario import Proof, Scenario
from suite.model import CellResult
from suite.worker.loop import counters, trace
from suite.worker.loop.measure import LEAST_SAMPLES, Loop, Timing
from suite.worker.proof.placement import Placement, prove, watch
from suite.worker.scenario.scenario import Nodes, Prepared

ASKED_ABOUT_BUDGETS = 4.0
"""Cells that people asked about have so many times the profile's budget."""

SHORT = 0.9
"""Samples that are shorter than this share of the floor are labelled: K came out too small."""

DISPATCH_BOUND = 0.9
"""On a GPU, a larger enqueue fraction than this means that the CPU could not keep it busy."""

CALLS_OF_A_CELL = 3 + LEAST_SAMPLES
"""The first call, the one that finds K, one of warm-up, and the samples."""

TRUSTED_S = 1e-3
"""A call that takes less than this is ruled by overhead: scaling it by work would foretell hours for
a size that takes milliseconds, so the next size is then simply tried."""

OVERHEAD_UNIT = "example"
"""Work in this unit is done in calls that have far more overhead of their own (an eager step or Keras's
loop: a tenth of a second), which one size alone can't tell from the work: the second is tried."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One cell to run, with its K; None: find it (and mind the budget while doing so)."""

    scenario: Scenario
    cell: Cell
    calls: int | None

    @property
    def proof(self) -> Proof:
        """How the device of its work is shown."""
        return self.scenario.proof_of(self.cell.params)

    def place(self, device: str) -> str:
        """Where its work belongs on the arm of that device, such as ``GPU:0``."""
        return "CPU:0" if self.cell.device == "cpu" else device.lstrip("/")


@dataclass(frozen=True, kw_only=True)
class Times:
    """The profile's times for a cell, in seconds."""

    warmup_s: float
    measure_s: float
    budget_s: float

    def budget_of(self, cell: Cell) -> float:
        """The budget of this cell, in seconds."""
        return self.budget_s * (ASKED_ABOUT_BUDGETS if cell.asked_about else 1.0)


@dataclass(frozen=True, kw_only=True)
class Size:
    """What a size of a sweep took: its work, and the seconds of a call and of the check."""

    amount: float
    call_s: float
    check_s: float


@dataclass(kw_only=True)
class Forecast:
    """What the smaller sizes of each sweep took, to predict the next one before daring it."""

    sizes: dict[str, list[Size]] = field(default_factory=dict)

    def remember(self, cell: Cell, call_s: float, check_s: float) -> None:
        """Notes seconds per call, and of the check, of a size."""
        if cell.sweep is not None:
            size = Size(amount=cell.work.amount, call_s=call_s, check_s=check_s)
            smaller = [other for other in self.before(cell) if other.amount < size.amount]
            self.sizes[_sweep_key(cell)] = [*smaller, size]

    def before(self, cell: Cell) -> list[Size]:
        """The sizes of the cell's sweep that were noted so far, ascending."""
        return [] if cell.sweep is None else self.sizes.get(_sweep_key(cell), [])

    def predict(self, cell: Cell) -> tuple[float, float] | None:
        """Seconds per call, and of the check, from the one or two sizes before; None: unknown.

        Two sizes give a line over the work, whose foot is the overhead; it never falls.  One alone is
        scaled by work, which is right where arithmetic rules; see `TRUSTED_S` and `OVERHEAD_UNIT`.  A
        one-shot call also holds what a first time costs at any size, which can be half a second: there
        only what a size took beyond the least of all sizes so far is scaled.
        """
        before = self.before(cell)
        if not before or cell.work.amount <= before[-1].amount:
            return None
        last = before[-1]
        if cell.one_shot:
            return _extend(before, cell.work.amount / last.amount - 1)
        if last.call_s < TRUSTED_S:
            return None
        if len(before) == 1:
            if cell.work.unit == OVERHEAD_UNIT:
                return None
            ratio = cell.work.amount / last.amount
            return last.call_s * ratio, last.check_s * ratio
        step = (cell.work.amount - last.amount) / (last.amount - before[-2].amount)
        return _extend(before[-2:], step)


def _extend(sizes: list[Size], step: float) -> tuple[float, float]:
    """What the last of these sizes took, and so many times what that is beyond the least of them."""
    last = sizes[-1]
    return (
        last.call_s + step * (last.call_s - min(size.call_s for size in sizes)),
        last.check_s + step * (last.check_s - min(size.check_s for size in sizes)),
    )


def _sweep_key(cell: Cell) -> str:
    others = [f"{axis}={value}" for axis, value in cell.params.items() if axis != cell.sweep]
    return "/".join([cell.scenario, cell.case, *others])


class OverBudget(Exception):
    """The cell would take longer than its budget; the text is the reason to print."""

    def __init__(self, cost_s: float, budget_s: float) -> None:
        super().__init__(
            f"would take {cost_s:.3g} s here; the profile's budget for this cell is {budget_s:g} s"
        )


@dataclass
class Account:
    """Where a cell's wall time went, in seconds by kind."""

    spent_s: dict[str, float] = field(default_factory=dict)

    def add(self, kind: str, seconds: float) -> None:
        """Books seconds on a kind."""
        self.spent_s[kind] = self.spent_s.get(kind, 0.0) + seconds

    @contextmanager
    def of(self, kind: str) -> Iterator[None]:
        """Books the time inside the block, also when it raises."""
        began = time.perf_counter_ns()
        try:
            yield
        finally:
            self.add(kind, (time.perf_counter_ns() - began) / 1e9)


@dataclass(frozen=True, kw_only=True)
class CellRun:
    """One request on one device with one loop; ``forecast`` is the session's, of all its cells."""

    request: Request
    loop: Loop
    device: str
    times: Times
    forecast: Forecast
    account: Account = field(default_factory=Account)

    @property
    def calibrating(self) -> bool:
        """Whether K is to be found, and the budget minded."""
        return self.request.calls is None

    @property
    def on_gpu(self) -> bool:
        """Whether the cell's work belongs on a GPU."""
        return self.request.place(self.device) == "GPU:0"

    def measure(self, result: CellResult, prepare: Callable[..., Prepared]) -> CellResult:
        """The result with all that was measured.

        Raises:
            OverBudget: it would take too long.
            Inapplicable, NotPlaced, WrongResult: as the scenario or its proof has it.
        """
        cell, account = self.request.cell, self.account
        if self.calibrating:
            self._refuse_hopeless()
        with account.of("prepare"):
            prepared = prepare(device=self.device, **cell.params)
        witnessed: dict[str, float | None] = {}
        try:
            with account.of("first_call"), watch() as nodes:
                if prepared.warm_start is not None:
                    prepared.warm_start()
                first, last = self.loop.sample(prepared.step, 1)
            with account.of("placement"):
                placement = self._prove(prepared, nodes, last)
            if cell.one_shot:
                status = "cold" if prepared.warm_start is None else "run-up"
                timing = Timing(samples_s=[first.seconds], warmup_status=status, last=last)
                calls = 1
            else:
                del last
                calls, timing, witnessed = self._time(prepared)
                if prepared.retraces:
                    self._prove_again(prepared)
            account.add("warmup", timing.warmup_wall_s)
            account.add("measure", timing.measure_wall_s)
            # Here, because the check of a training step trains another model.
            memory = _peak_memory() if self.on_gpu else None
            traced, untraced = self._trace(prepared, timing)
            with account.of("check"):
                check = prepared.check(timing.last)
        finally:
            prepared.close()
        if self.calibrating:
            call_s = statistics.median(timing.samples_s)
            self.forecast.remember(cell, call_s, account.spent_s["check"])
        enqueues = prepared.enqueues and self.on_gpu and not cell.one_shot
        absent = {"trace": untraced} if untraced else {}
        if not enqueues:
            blocks = "the step blocks" if self.on_gpu else "a CPU's step blocks"
            absent["enqueue_fraction"] = blocks
        if memory is None:
            absent["peak_memory_bytes"] = "TensorFlow does not count the CPU's memory"
        if prepared.warm_start is not None:
            absent["first_call_s"] = "calls that were not timed came before the sample"
        return replace(
            result,
            outcome="measured",
            first_call_s=first.seconds if prepared.warm_start is None else None,
            calls_per_sample=calls,
            warmup_status=timing.warmup_status,
            warmup_s=timing.warmup_s,
            samples_s=timing.samples_s,
            enqueue_fraction=timing.enqueue_fraction if enqueues else None,
            placement=placement.nodes,
            elsewhere=placement.elsewhere,
            check=check,
            peak_memory_bytes=memory,
            labels=self._label(timing, calls, enqueues=enqueues),
            evidence=witnessed,
            trace=traced,
            absent=absent,
        )

    def _time(self, prepared: Prepared) -> tuple[int, Timing, dict[str, float | None]]:
        """K, the warm-up and the samples, and what else was at work meanwhile."""
        with self.account.of("hygiene"):
            gc.collect()
        calls = self.request.calls or self._calibrate(prepared)
        before = counters.read()
        timing = self.loop.measure(
            prepared.step,
            calls,
            warmup_s=self.times.warmup_s,
            measure_s=self.times.measure_s,
            traces=prepared.traces,
        )
        return calls, timing, counters.compare(before, counters.read())

    def _label(self, timing: Timing, calls: int, *, enqueues: bool) -> list[str]:
        """What the worker itself has to say against a number."""
        labels = ["warm-up cap"] if timing.warmup_status == "cap" else []
        usual_s = statistics.median(timing.samples_s) * calls
        if not self.request.cell.one_shot and usual_s < SHORT * self.loop.floor_s:
            labels.append("short samples")
        if enqueues and timing.enqueue_fraction > DISPATCH_BOUND:
            labels.append("dispatch-bound")
        return labels

    def _trace(self, prepared: Prepared, timing: Timing) -> tuple[dict[str, float], str | None]:
        """What the GPU did in a few more calls, untimed, while calibrating; or nothing, and why."""
        if not self.calibrating or self.request.cell.one_shot or not self.on_gpu:
            return {}, None
        call_s = statistics.median(timing.samples_s)
        with self.account.of("trace"):
            try:
                return trace.trace(prepared.step, self.loop.fence, call_s), None
            except trace.NoTrace as reason:
                return {}, str(reason)

    def _refuse_hopeless(self) -> None:
        """Before anything of the cell is run: would the size before it, scaled, break the budget?"""
        cell = self.request.cell
        predicted = self.forecast.predict(cell)
        if predicted is None:
            return
        call_s, check_s = predicted
        cost = call_s * (1 if cell.one_shot else CALLS_OF_A_CELL) + check_s
        self._demand_budget(cost, call_s, check_s)

    def _calibrate(self, prepared: Prepared) -> int:
        """K; raises OverBudget where the cell, at the speed just seen, would break its budget."""
        with self.account.of("calibrate"):
            calls, call_s = self.loop.calibrate(prepared.step)
        predicted = self.forecast.predict(self.request.cell)
        check_s = predicted[1] if predicted else 0.0
        cost = (
            math.fsum(self.account.spent_s.values())
            + max(self.times.warmup_s, calls * call_s)
            + max(self.times.measure_s, LEAST_SAMPLES * calls * call_s)
            + check_s
        )
        self._demand_budget(cost, call_s, check_s)
        return calls

    def _demand_budget(self, cost: float, call_s: float, check_s: float) -> None:
        """Raises OverBudget where the cell would cost more; the next size is then predicted from these."""
        cell = self.request.cell
        budget = self.times.budget_of(cell)
        if cost > budget:
            self.forecast.remember(cell, call_s, check_s)
            raise OverBudget(cost, budget)

    def _prove(self, prepared: Prepared, nodes: Nodes, result: Any) -> Placement:
        return prove(
            self.request.proof,
            nodes,
            lambda: prepared.tensors(result),
            self.request.place(self.device),
            prepared.resident,
        )

    def _prove_again(self, prepared: Prepared) -> None:
        """That the graph of a later call is where that of the first one is.

        Raises:
            NotPlaced: it is not.
        """
        with self.account.of("placement"):
            with watch() as nodes:
                last = prepared.step()
            self._prove(prepared, nodes, last)


def _peak_memory() -> int:
    import tensorflow as tf

    return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])
