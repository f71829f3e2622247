"""asked.dataset: network B on a dataset of 100,000 examples, and its mistakes taken away one by one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from suite.cells.cell import Work
from suite.cells.scenario import Scenario
from suite.model import Check
from suite.worker.scenario.profiles import QUICK, STANDARD
from suite.worker.scenario.scenario import Prepared
from suite.worker.scenarios.asked.loops import Loop, bear_out, draw, link, make_trainer, prove
from suite.worker.scenarios.asked.scripts import dataset as script
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
from suite.worker.scenarios.mlp.networks import B, one_batch
from suite.worker.scenarios.mlp.train import plain_step
from suite.worker.scenarios.mlp.training import Trainer

BATCH = 32

EPOCH = Work(amount=float(B.examples), unit="example", steps=B.examples // BATCH)


@dataclass(frozen=True, kw_only=True)
class OverDataset(Loop):
    """A loop over the dataset.

    ``timed``: a whole epoch with its tracing, one with the step traced before, or single steps on a dataset
    that is there.
    """

    timed: Literal["tracing and epoch", "epoch", "step"] = "tracing and epoch"


STAGES = (
    Stage(SCRIPT, "everything as posted", profiles=STANDARD),
    Stage("trained", "a process that has trained before", {"process": "warm"}, "start-up"),
    Stage(
        "built",
        "the optimizer built before the first trace",
        {"optimizer": "built"},
        "start-up",
        telling,
    ),
    Stage("closure", "a closure instead of arguments", {"handed": False}, "overhead", telling),
    Stage("traced", "tracing no longer timed", {"timed": "epoch"}, "start-up"),
    Stage("placed", "the model made on the device timed", {"model": "placed"}, "fallback"),
    Stage("made", "the dataset made before the timer", {"timed": "step"}, "start-up", telling),
    Stage("float32", "float32 inputs instead of float64", {"bits": 32}, "transfer"),
    Stage("fetch", "the labels a column instead of a row", {"labels": "column"}, None, QUICK),
    Stage("no-fetch", "the loss no longer fetched every step", {"fetch": False}, "overhead", QUICK),
)

WATERFALL = Waterfall(
    case="dataset",
    title="100,000 examples from a dataset, the loss fetched at every step",
    posted=OverDataset(),
    stages=STAGES,
    warm="made",
)


def work(stage: str, on: On) -> Work:  # noqa: ARG001  the axes of the case
    """The examples of an epoch, or of one training step."""
    return one_batch(BATCH) if WATERFALL.settings(stage).timed == "step" else EPOCH


def prepare(*, device: str, stage: str, on: On) -> Prepared:
    """Training on the dataset: batched and prefetched, never shuffled, as asked.

    Where steps are timed it repeats without end, so that a call is a step and not an epoch of 3,125.
    """
    loop = WATERFALL.settings(stage)
    inputs, labels = draw(loop, B.examples)
    trainer = make_trainer(loop, placed(device, on))
    first = inputs[:BATCH], labels[:BATCH]

    def check(last: Any) -> Check:
        # Under the same device as the timed steps, or it would be another trace that is checked.
        return pin(lambda: trainer.check(last, *first), on)()  # type: ignore[no-any-return]

    if loop.timed == "step":
        batches = [iter(_pipeline(inputs, labels, endless=True))]
        step, close = _make_step(trainer, batches, fetch=loop.fetch), batches.clear
        warm_start = None
    else:
        step, close = _make_epoch(trainer, inputs, labels), lambda: None
        traced = _pipeline(*first, endless=False)
        warm_start = pin(lambda: [trainer.step(*batch) for batch in traced], on)
    return Prepared(
        step=pin(step, on),
        check=check,
        traces=trainer.traces,
        warm_start=warm_start if loop.timed == "epoch" else None,
        close=close,
    )


def _pipeline(inputs: Any, labels: Any, *, endless: bool) -> Any:
    import tensorflow as tf

    with tf.device("/CPU:0"):
        dataset = tf.data.Dataset.from_tensor_slices((inputs, labels))
        dataset = dataset.repeat() if endless else dataset
        return dataset.batch(BATCH, drop_remainder=endless).prefetch(tf.data.AUTOTUNE)


def _make_step(trainer: Trainer, batches: list[Any], *, fetch: bool) -> Callable[[], Any]:
    """A training step on the next batch."""

    def going_on() -> Any:
        return trainer.step(*next(batches[0]))

    def fetching() -> float:
        return float(going_on().numpy())

    return fetching if fetch else going_on


def _make_epoch(trainer: Trainer, inputs: Any, labels: Any) -> Callable[[], float]:
    """One epoch of a dataset that is made for it, the loss fetched at every step."""

    def epoch() -> float:
        loss = math.nan
        for batch in _pipeline(inputs, labels, endless=False):
            loss = float(trainer.step(*batch).numpy())
        return loss

    return epoch


post = by_half(script.run, partial(bear_out, steps=B.examples // BATCH))


SCENARIOS = tuple(
    Scenario(
        **WATERFALL.declare(stage, prepare, post),
        profiles=stage.profiles,
        question=f"What does a step of network B on a dataset take with {stage.new} (work on: {{on}})?",
        work=work,
        kin="training/B",
        proof=prove(WATERFALL),
        data="prefetched",
        dispatch="graph",
        links=link(WATERFALL, stage, {"compute": plain_step("B", BATCH)}),
    )
    for stage in STAGES
)
