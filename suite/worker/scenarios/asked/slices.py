"""asked.slices: network B on 1,000 examples by slices of 10, and its mistakes taken away one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.scenario import Links, Ops, Scenario
from suite.model import Check
from suite.worker.scenario.posted import Printed, list_halves
from suite.worker.scenario.scenario import Prepared, Resident, WrongResult, lay
from suite.worker.scenarios.asked.handed import bear_out, make_trainer
from suite.worker.scenarios.asked.scripts import slices as script
from suite.worker.scenarios.asked.stages import (
    FIRST_STEP,
    FULL,
    PINNED,
    QUICK,
    SCRIPT,
    SMOKE,
    STANDARD,
    Stage,
    belongs,
    find,
    pin,
    placed,
    points,
    prepared,
    ways,
)
from suite.worker.scenarios.mlp import train
from suite.worker.scenarios.mlp.networks import B, build, examples
from suite.worker.scenarios.mlp.training import MATMUL_PROOF, TRAINING_PROOF, demand_finite

EXAMPLES = 1_000


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop over slices: what its timer holds, where its model and data are, and in which types.

    ``process``: a ``fresh`` one runs the script and nothing else; one is ``warm`` that has trained before.
    ``optimizer``: its variables are made by the first trace, or before.  ``handed``: model, optimizer and
    loss are arguments of the `tf.function`; or it closes over them.  ``labels``: of shape
    (n,) or (n, 1).
    ``model``: made outside of ``tf.device``, so that beside a GPU it lies there whichever device the
    loop then names; or made on the device that is timed.  ``bits`` of an input: NumPy's usual 64, or
    32.  ``fetch``: the loss is brought to Python by ``.numpy()`` at every step.
    """

    process: Literal["fresh", "warm"]
    optimizer: Literal["unbuilt", "built"]
    handed: bool
    labels: Literal["row", "column"]
    first_call: Literal["timed", "apart"]
    model: Literal["anywhere", "placed"]
    bits: Literal[64, 32]
    fetch: bool
    data: Literal["host", "device"]
    batch: int


POSTED = Loop(
    process="fresh",
    optimizer="unbuilt",
    handed=True,
    labels="row",
    first_call="timed",
    model="anywhere",
    bits=64,
    fetch=True,
    data="host",
    batch=10,
)
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
        one_shot=True,
        profiles=STANDARD,
        pinned=FULL,
    ),
    Stage("closure", "a closure instead of arguments", CLOSURE, "overhead", one_shot=True),
    Stage("naive", "the labels a column instead of a row", NAIVE, one_shot=True, profiles=SMOKE),
    Stage("traced", "tracing no longer timed", TRACED, "start-up", profiles=STANDARD, pinned=FULL),
    Stage("placed", "the model made on the device timed", PLACED, "fallback"),
    Stage(
        "float32",
        "float32 inputs instead of float64",
        FLOAT32,
        "transfer",
        profiles=STANDARD,
        pinned=FULL,
    ),
    Stage(
        "no-fetch",
        "the loss no longer fetched every step",
        NO_FETCH,
        "overhead",
        profiles=STANDARD,
        pinned=FULL,
    ),
    Stage(
        "device-data",
        "the data already on the device",
        DEVICE_DATA,
        "transfer",
        profiles=STANDARD,
        pinned=FULL,
    ),
    Stage("batch-512", "batch 512 instead of 10", BATCH_512, "overhead", profiles=QUICK),
)


def steps_of(loop: Loop) -> int:
    """Training steps in a call: all full slices of the examples."""
    return EXAMPLES // loop.batch


def work(stage: str, on: str) -> Work:  # noqa: ARG001  the axes of the case
    """Examples in a call: 100 steps of 10, or one step of 512."""
    loop = find(STAGES, stage)
    return Work(amount=float(steps_of(loop) * loop.batch), unit="example")


def _feed(
    loop: Loop, place: str
) -> tuple[Callable[[], Iterator[tuple[Any, Any]]], Resident | None]:
    """What gives the slices of one pass, one after the other: cut by the loop, or lying on the device;
    then also what lies there."""
    inputs, labels = examples(B, EXAMPLES)
    if loop.bits == 64:
        inputs = inputs.astype(np.float64)
    if loop.labels == "row":
        labels = labels[:, 0]
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


def prepare(*, device: str, stage: str, on: str) -> Prepared:
    """One pass over the examples, as the stage says.

    Up to ``naive`` it is cold in what its own timer holds: tracing this step, instantiating its graph.  It
    is not cold in what a process does once, which the start-up sequence has had: loading libraries, the
    first kernel, the first trace of any step.  Only the script is.
    """
    loop = find(STAGES, stage)
    place = placed(device, on)
    feed, there = _feed(loop, place)
    where = place if loop.model == "placed" else None
    trainer = make_trainer(
        build(B, where), where, handed=loop.handed, built=loop.optimizer == "built"
    )
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
        on=belongs(on),
        resident=there,
        enqueues=loop.data == "device" and not loop.fetch,
        traces=trainer.traces,
    )


def post(*, device: str, asked: Sequence[Mapping[str, Any]]) -> list[Printed]:
    """What the script prints, of each half that is asked for; on a GPU's arm it runs both."""
    run = script.run(list_halves(device))
    return [
        bear_out(run, device, cell["on"], steps=steps_of(POSTED), proof=proof_of(**cell))
        for cell in asked
    ]


def proof_of(stage: str, on: str) -> Ops:
    """Where the model lies elsewhere, the optimizer's updates are there, beside its variables."""
    there = find(STAGES, stage).model == "placed" or on == "arm"
    return TRAINING_PROOF if there else MATMUL_PROOF


WAY = ways("slices", "1,000 examples in slices of 10", STAGES)


def _link(stage: Stage[Loop]) -> Callable[..., Links]:
    """What a cold stage contains, and of the last one the plain step."""

    def find(on: str, **_: Param) -> Links:
        if stage.one_shot:
            return {"start": FIRST_STEP}
        last = stage is STAGES[-1] and on == "arm"
        return {"plain": train.plain_step("B", stage.settings.batch)} if last else {}

    return find


SCENARIOS = tuple(
    Scenario(
        family="asked",
        case="slices",
        about="Network B, 1,000 examples in slices of 10: as posted, then one mistake less at a time.",
        question=f"What does network B's loop over slices take with {stage.new} (work on: {{on}})?",
        axes=("stage", "on"),
        points=points(stage),
        work=work,
        **prepared(stage, "asked.slices", prepare, post),
        **PINNED,
        kin="training/B",
        one_shot=stage.one_shot,
        proof=proof_of,
        data=stage.settings.data,
        dispatch="graph",
        links=_link(stage),
        way=WAY,
    )
    for stage in STAGES
)
