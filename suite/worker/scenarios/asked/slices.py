"""asked.slices: network B on 1,000 examples by slices of 10, and its mistakes taken away one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from suite.cells.cell import Work
from suite.cells.scenario import Scenario
from suite.model import Check
from suite.worker.scenario.choices import LARGER_BATCH
from suite.worker.scenario.profiles import QUICK, SMOKE
from suite.worker.scenario.scenario import Prepared, Resident, WrongResult, lay
from suite.worker.scenarios.asked.loops import Loop, bear_out, draw, link, make_trainer, prove
from suite.worker.scenarios.asked.scripts import slices as script
from suite.worker.scenarios.asked.stages import (
    SCRIPT,
    On,
    Stage,
    Waterfall,
    by_half,
    pin,
    placed,
    telling,
)
from suite.worker.scenarios.mlp.train import plain_step

EXAMPLES = 1_000


@dataclass(frozen=True, kw_only=True)
class OverSlices(Loop):
    """A loop over slices: also where its data are."""

    first_call: Literal["timed", "apart"] = "timed"
    data: Literal["host", "device"] = "host"
    batch: int = 10


STAGES = (
    Stage(SCRIPT, "everything as posted", profiles=SMOKE),
    Stage("trained", "a process that has trained before", {"process": "warm"}, "start-up"),
    Stage(
        "built",
        "the optimizer built before the first trace",
        {"optimizer": "built"},
        "start-up",
        telling,
    ),
    Stage("closure", "a closure instead of arguments", {"handed": False}, "overhead"),
    Stage("naive", "the labels a column instead of a row", {"labels": "column"}, None, SMOKE),
    Stage("traced", "tracing no longer timed", {"first_call": "apart"}, "start-up", telling),
    Stage("placed", "the model made on the device timed", {"model": "placed"}, "fallback"),
    Stage("float32", "float32 inputs instead of float64", {"bits": 32}, "transfer", telling),
    Stage(
        "no-fetch", "the loss no longer fetched every step", {"fetch": False}, "overhead", telling
    ),
    Stage("device-data", "the data already on the device", {"data": "device"}, "transfer", telling),
    Stage(
        *("batch-512", "batch 512 instead of 10", {"batch": 512}, "overhead", QUICK),
        like=LARGER_BATCH,
    ),
)

WATERFALL = Waterfall(
    case="slices",
    title="1,000 examples in slices of 10",
    posted=OverSlices(),
    stages=STAGES,
    warm="traced",
)


def steps_of(loop: OverSlices) -> int:
    """Training steps in a call: all full slices of the examples."""
    return EXAMPLES // loop.batch


def work(stage: str, on: On) -> Work:  # noqa: ARG001  the axes of the case
    """Examples in a call: 100 steps of 10, or one step of 512."""
    loop = WATERFALL.settings(stage)
    return Work(amount=float(steps_of(loop) * loop.batch), unit="example")


def _feed(
    loop: OverSlices, place: str
) -> tuple[Callable[[], Iterator[tuple[Any, Any]]], Resident | None]:
    """What gives the slices of one pass, one after the other: cut by the loop, or lying on the device;
    then also what lies there."""
    inputs, labels = draw(loop, EXAMPLES)
    starts = range(0, steps_of(loop) * loop.batch, loop.batch)

    def cut() -> Iterator[tuple[Any, Any]]:
        for start in starts:
            rows = slice(start, start + loop.batch)
            yield inputs[rows], labels[rows]

    if loop.data == "host":
        return cut, None
    there = lay(place, *(array for batch in cut() for array in batch))
    pairs = list(zip(there.tensors[::2], there.tensors[1::2], strict=True))
    return pairs.__iter__, there


def prepare(*, device: str, stage: str, on: On) -> Prepared:
    """One pass over the examples, as the stage says.

    Up to ``naive`` it is cold in what its own timer holds: tracing this step, instantiating its graph.  It
    is not cold in what a process does once, which the start-up sequence has had: loading libraries, the
    first kernel, the first trace of any step.  Only the script is.
    """
    loop = WATERFALL.settings(stage)
    place = placed(device, on)
    feed, there = _feed(loop, place)
    trainer = make_trainer(loop, place)
    steps = steps_of(loop)

    def fetching() -> list[float]:
        return [float(trainer.step(*batch).numpy()) for batch in feed()]

    def going_on() -> list[Any]:
        loss: Any = None
        for batch in feed():
            loss = trainer.step(*batch)
        return [loss]

    def check(losses: list[Any]) -> Check:
        if loop.fetch and len(losses) != steps:
            raise WrongResult(f"{len(losses)} losses were fetched, not {steps}")
        made = int(trainer.optimizer.iterations.numpy())
        if made == 0 or made % steps:
            raise WrongResult(f"{made} steps were made, which is no multiple of {steps}")
        # Under the same device as the timed steps, or it would be another trace that is checked.
        return pin(lambda: trainer.check(losses[-1], *next(feed())), on)()  # type: ignore[no-any-return]

    return Prepared(
        step=pin(fetching if loop.fetch else going_on, on),
        check=check,
        resident=there,
        enqueues=loop.data == "device" and not loop.fetch,
        traces=trainer.traces,
    )


post = by_half(script.run, partial(bear_out, steps=steps_of(WATERFALL.posted)))


SCENARIOS = tuple(
    Scenario(
        **WATERFALL.declare(stage, prepare, post),
        profiles=stage.profiles,
        question=f"What does network B's loop over slices take with {stage.new} (work on: {{on}})?",
        work=work,
        kin="training/B",
        proof=prove(WATERFALL),
        data=WATERFALL.settings(stage.name).data,
        dispatch="graph",
        links=link(WATERFALL, stage, {"plain": plain_step("B", 512)}),
    )
    for stage in STAGES
)
