"""asked.slices: network B on 1,000 examples by slices of 10, and its mistakes taken away one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from suite.cells.cell import Work
from suite.cells.scenario import Links, Scenario
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, Resident, WrongResult, lay
from suite.worker.scenarios.asked.loops import Loop, bear_out, draw, link, make_trainer, prove
from suite.worker.scenarios.asked.scripts import slices as script
from suite.worker.scenarios.asked.stages import (
    QUICK,
    SCRIPT,
    SMOKE,
    TELLING,
    On,
    Stage,
    declare,
    find,
    pin,
    placed,
    points,
    ways,
)
from suite.worker.scenarios.mlp.train import plain_step
from suite.worker.scenarios.mlp.training import demand_finite

EXAMPLES = 1_000


@dataclass(frozen=True, kw_only=True)
class OverSlices(Loop):
    """A loop over slices: also where its data are."""

    first_call: Literal["timed", "apart"] = "timed"
    data: Literal["host", "device"] = "host"
    batch: int = 10


POSTED = OverSlices()
WARM = replace(POSTED, process="warm")
BUILT = replace(WARM, optimizer="built")
CLOSURE = replace(BUILT, handed=False)
NAIVE = replace(CLOSURE, labels="column")
TRACED = replace(NAIVE, first_call="apart")
PLACED = replace(TRACED, model="placed")
FLOAT32 = replace(PLACED, bits=32)
NO_FETCH = replace(FLOAT32, fetch=False)
DEVICE_DATA = replace(NO_FETCH, data="device")
BATCH_512 = replace(DEVICE_DATA, batch=512)

STAGES = (
    Stage(SCRIPT, "everything as posted", POSTED, one_shot=True, profiles=SMOKE),
    Stage("trained", "a process that has trained before", WARM, "start-up", one_shot=True),
    Stage(
        *("built", "the optimizer built before the first trace", BUILT, "start-up"),
        **TELLING,
        one_shot=True,
    ),
    Stage("closure", "a closure instead of arguments", CLOSURE, "overhead", one_shot=True),
    Stage("naive", "the labels a column instead of a row", NAIVE, one_shot=True, profiles=SMOKE),
    Stage("traced", "tracing no longer timed", TRACED, "start-up", **TELLING),
    Stage("placed", "the model made on the device timed", PLACED, "fallback"),
    Stage("float32", "float32 inputs instead of float64", FLOAT32, "transfer", **TELLING),
    Stage("no-fetch", "the loss no longer fetched every step", NO_FETCH, "overhead", **TELLING),
    Stage("device-data", "the data already on the device", DEVICE_DATA, "transfer", **TELLING),
    Stage("batch-512", "batch 512 instead of 10", BATCH_512, "overhead", profiles=QUICK),
)


def steps_of(loop: OverSlices) -> int:
    """Training steps in a call: all full slices of the examples."""
    return EXAMPLES // loop.batch


def work(stage: str, on: On) -> Work:  # noqa: ARG001  the axes of the case
    """Examples in a call: 100 steps of 10, or one step of 512."""
    loop = find(STAGES, stage)
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
    loop = find(STAGES, stage)
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
        demand_finite(losses[-1])
        # Under the same device as the timed steps, or it would be another trace that is checked.
        return pin(lambda: trainer.check(*next(feed())), on)()  # type: ignore[no-any-return]

    return Prepared(
        step=pin(fetching if loop.fetch else going_on, on),
        check=check,
        proof=proof_of(stage, on),
        on=on,
        resident=there,
        enqueues=loop.data == "device" and not loop.fetch,
        traces=trainer.traces,
    )


proof_of = prove(STAGES)

post = bear_out(script.run, steps=steps_of(POSTED), proof_of=proof_of)

WAY = ways("slices", "1,000 examples in slices of 10", STAGES)

FAIR: Links = {"plain": plain_step("B", BATCH_512.batch)}


SCENARIOS = tuple(
    Scenario(
        **declare("slices", stage, prepare, post),
        about="Network B, 1,000 examples in slices of 10: as posted, then one mistake less at a time.",
        question=f"What does network B's loop over slices take with {stage.new} (work on: {{on}})?",
        axes=("stage", "on"),
        points=points(stage),
        work=work,
        kin="training/B",
        proof=proof_of,
        data=stage.settings.data,
        dispatch="graph",
        links=link(stage, FAIR if stage is STAGES[-1] else {}),
        way=WAY,
    )
    for stage in STAGES
)
