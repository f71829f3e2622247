"""asked.slices and asked.dataset: network B by a loop of one's own, and its mistakes taken away one by one.

Over 1,000 examples in slices of 10, and over a dataset of 100,000.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.scenario import Links
from suite.model import Check
from suite.worker.proof import placement
from suite.worker.scenario.scenario import Nodes, Prepared, Printed, Resident, WrongResult, lay
from suite.worker.scenarios.mlp.networks import B, build, examples, one_batch
from suite.worker.scenarios.mlp.train import plain_step
from suite.worker.scenarios.mlp.training import (
    Trainer,
    begin_again,
    check_training,
    demand_all_finite,
)
from suite.worker.scenarios.scripts.posted import dataset as dataset_script
from suite.worker.scenarios.scripts.posted import slices as slices_script
from suite.worker.scenarios.scripts.waterfall import (
    FIRST_STEP,
    On,
    Settings,
    Waterfall,
    by_half,
    pin,
    placed,
    read_waterfall,
)

EXAMPLES = 1_000
"""Of the loop over slices."""

BATCH = 32
"""Of the loop over a dataset."""

EPOCH = Work(amount=float(B.examples), unit="example", steps=B.examples // BATCH)

SLICES, DATASET = read_waterfall("slices"), read_waterfall("dataset")


def draw(settings: Settings, count: int) -> tuple[Any, Any]:
    """So many examples, in the types and shapes of a loop."""
    inputs, labels = examples(B, count)
    if settings.bits == 64:
        inputs = inputs.astype(np.float64)
    return inputs, labels[:, 0] if settings.labels == "row" else labels


def make_trainer(settings: Settings, place: str) -> Trainer:
    """Network B's trainer in a loop on that device: handed its parts in each call, or closing over them."""
    where = place if settings.model == "placed" else None
    built = settings.optimizer == "built"
    return Trainer(B, build(B, where), where, handed=settings.handed, built=built)


def count_steps(settings: Settings) -> int:
    """Training steps in a call of the loop over slices: all full ones of the examples."""
    return EXAMPLES // settings.batch


def slices_work(stage: str, **_: Param) -> Work:
    """Examples in a call: 100 steps of 10, or one step of 512."""
    settings = SLICES.settings(stage)
    return Work(amount=float(count_steps(settings) * settings.batch), unit="example")


def _feed(
    settings: Settings, place: str
) -> tuple[Callable[[], Iterator[tuple[Any, Any]]], Resident | None]:
    """What gives the slices of one pass, one after the other: cut by the loop, or lying on the device;
    then also what lies there."""
    inputs, labels = draw(settings, EXAMPLES)
    starts = range(0, count_steps(settings) * settings.batch, settings.batch)

    def cut() -> Iterator[tuple[Any, Any]]:
        for start in starts:
            rows = slice(start, start + settings.batch)
            yield inputs[rows], labels[rows]

    if settings.data == "host":
        return cut, None
    there = lay(place, *(array for batch in cut() for array in batch))
    pairs = list(zip(there.tensors[::2], there.tensors[1::2], strict=True))
    return pairs.__iter__, there


def prepare_slices(*, device: str, stage: str, on: On) -> Prepared:
    """One pass over the examples, as the stage says.

    Up to ``naive`` it is cold in what its own timer holds: tracing this step, instantiating its graph.  It
    is not cold in what a process does once, which the start-up sequence has had: loading libraries, the
    first kernel, the first trace of any step.  Only the script is.
    """
    settings = SLICES.settings(stage)
    place = placed(device, on)
    feed, there = _feed(settings, place)
    trainer = make_trainer(settings, place)
    steps = count_steps(settings)

    def fetching() -> list[float]:
        return [float(trainer.step(*batch).numpy()) for batch in feed()]

    def going_on() -> list[Any]:
        loss: Any = None
        for batch in feed():
            loss = trainer.step(*batch)
        return [loss]

    def check(losses: list[Any], *, brief: bool = False) -> Check:
        if settings.fetch and len(losses) != steps:
            raise WrongResult(f"{len(losses)} losses were fetched, not {steps}")
        made = int(trainer.optimizer.iterations.numpy())
        if made == 0 or made % steps:
            raise WrongResult(f"{made} steps were made, which is not a multiple of {steps}")
        # Under the same device as the timed steps, or it would be another trace that is checked.
        last = partial(trainer.check, losses[-1], *next(feed()), brief=brief)
        return pin(last, on)()  # type: ignore[no-any-return]

    return Prepared(
        step=pin(fetching if settings.fetch else going_on, on),
        check=check,
        brief=partial(check, brief=True),
        resident=there,
        enqueues=settings.data == "device" and not settings.fetch,
        traces=trainer.traces,
    )


def dataset_work(stage: str, **_: Param) -> Work:
    """The examples of an epoch, or of one training step."""
    return one_batch(BATCH) if DATASET.settings(stage).timed == "step" else EPOCH


def prepare_dataset(*, device: str, stage: str, on: On) -> Prepared:
    """Training on the dataset: batched and prefetched, never shuffled, as asked.

    Where steps are timed it repeats without end, so that a call is a step and not an epoch of 3,125.
    """
    settings = DATASET.settings(stage)
    inputs, labels = draw(settings, B.examples)
    trainer = make_trainer(settings, placed(device, on))
    first = inputs[:BATCH], labels[:BATCH]

    def check(last: Any, *, brief: bool = False) -> Check:
        # Under the same device as the timed steps, or it would be another trace that is checked.
        return pin(partial(trainer.check, last, *first, brief=brief), on)()  # type: ignore[no-any-return]

    briefly = partial(check, brief=True)

    if settings.timed == "step":
        batches = [iter(_pipeline(inputs, labels, endless=True))]

        def going_on() -> Any:
            return trainer.step(*next(batches[0]))

        def fetching() -> float:
            return float(going_on().numpy())

        step = pin(fetching if settings.fetch else going_on, on)
        return Prepared(
            step=step, check=check, brief=briefly, traces=trainer.traces, close=batches.clear
        )

    def epoch() -> float:
        loss = math.nan
        for batch in _pipeline(inputs, labels, endless=False):
            loss = float(trainer.step(*batch).numpy())
        return loss

    traced = _pipeline(*first, endless=False)
    warm_start = pin(lambda: [trainer.step(*batch) for batch in traced], on)
    return Prepared(
        step=pin(epoch, on),
        check=check,
        brief=briefly,
        traces=trainer.traces,
        warm_start=warm_start if settings.timed == "epoch" else None,
    )


def _pipeline(inputs: Any, labels: Any, *, endless: bool) -> Any:
    import tensorflow as tf

    with tf.device("/CPU:0"):
        dataset = tf.data.Dataset.from_tensor_slices((inputs, labels))
        dataset = dataset.repeat() if endless else dataset
        return dataset.batch(BATCH, drop_remainder=endless).prefetch(tf.data.AUTOTUNE)


def link(waterfall: Waterfall, fair: Links) -> Callable[..., Links]:
    """What a cold stage contains, and what the last one is compared with on the arm's device."""

    def find_links(stage: str, on: On) -> Links:
        if waterfall.is_cold(stage):
            return {"start": FIRST_STEP}
        return fair if (stage, on) == (waterfall.stages[-1].name, "arm") else {}

    return find_links


def bear_out(run: slices_script.Run, half: str, *, count: int, **_: Param) -> Printed:
    """One half of a script that trained by such a step, on so many examples."""
    import tensorflow as tf

    def again() -> Nodes:
        anew = tf.function(run.train_step.python_function)
        with placement.watch() as nodes, tf.device(half):
            anew(*run.arguments, *run.batch)
        return nodes

    def check() -> Check:
        losses, size = run.losses[half], len(run.batch[0])
        steps = count // size
        if len(losses) != steps:
            raise WrongResult(f"{len(losses)} losses were fetched, not {steps}")
        demand_all_finite(losses)
        model, optimizer, _ = run.arguments
        inputs, labels = draw(Settings(), count)
        begin_again(B, model, optimizer)
        # Under the script's device, or it would be another trace that is checked.
        with tf.device(half):
            trained = check_training(
                B, partial(run.train_step, *run.arguments), inputs[:size], labels[:size]
            )
        return replace(trained, what=f"{steps} losses were fetched, all finite; {trained.what}")

    return Printed(seconds=run.seconds[half], check=check, again=again, traces=run.traces[half])


SCENARIOS = (
    *SLICES.declare(
        prepare_slices,
        by_half(slices_script.run, partial(bear_out, count=EXAMPLES)),
        "What does network B's loop over slices take with {new} (work on: {on})?",
        work=slices_work,
        work_key="training/B",
        proof=SLICES.prove,
        data=lambda stage, **_: SLICES.settings(stage).data,
        dispatch="graph",
        links=link(SLICES, {"plain": plain_step("B", 512)}),
    ),
    *DATASET.declare(
        prepare_dataset,
        by_half(dataset_script.run, partial(bear_out, count=B.examples)),
        "What does a step of network B on a dataset take with {new} (work on: {on})?",
        work=dataset_work,
        work_key="training/B",
        proof=DATASET.prove,
        data="prefetched",
        dispatch="graph",
        links=link(DATASET, {"compute": plain_step("B", BATCH)}),
    ),
)
