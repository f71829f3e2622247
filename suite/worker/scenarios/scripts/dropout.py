"""asked.dropout: network C by ``Model.fit`` with XLA, and the same steps without what is around them.

A script that its author timed on a CPU and two GPUs, so that it has published times to stand beside
(``suite/analysis/documents/elsewhere.toml``).  It names no device: a GPU's arm has no half for the CPU.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.scenario import cross
from suite.cells.traits import Data
from suite.model import Check
from suite.worker.scenario.scenario import DATA_SEED, Prepared, Printed, Resident, WrongResult, lay
from suite.worker.scenarios.mlp.networks import C, build, examples, list_values, loss_of, one_batch
from suite.worker.scenarios.mlp.training import (
    BRIEFLY,
    CHECK_STEPS,
    CHECK_TOLERANCE,
    Trainer,
    check_losses,
    demand_reference,
    demand_usual,
)
from suite.worker.scenarios.scripts.posted import dropout as script
from suite.worker.scenarios.scripts.waterfall import FIRST_STEP, SCRIPT, On, read_waterfall

WATERFALL = read_waterfall("dropout", make_points=lambda stage: cross(stage=stage.name, on="arm"))

STEPS = script.EXAMPLES // script.BATCH
EPOCH = Work(amount=float(script.EXAMPLES), unit="example", steps=STEPS)

GUESS, NEAR = math.log(2), 0.02
"""The loss of whoever guesses, and how near to it an epoch's has to be: nobody can do better on labels that
are drawn by lot, and whoever does worse has not trained but diverged."""


ALIKE = 3
"""Steps whose losses would be the same twice without dropout; of one step they can be by chance, once in some
thousand times."""

FAR = np.float32(1000.0)
"""Times so much the inputs that NumPy is asked about: to inputs near 0 ten layers of seeded weights answer
nearly 1/2, whose loss other weights would have as well."""


def count_batch(stage: str) -> int:
    """The examples of a step."""
    return script.BATCH * WATERFALL.settings(stage).at_once


def work(stage: str, **_: Param) -> Work:
    """The examples of an epoch, or of one training step."""
    return EPOCH if stage in WATERFALL.printed else one_batch(count_batch(stage))


def prepare(*, device: str, stage: str, on: On) -> Prepared:  # noqa: ARG001  the arm's alone
    """One training step, compiled by XLA, in a loop of one's own.

    On batches that NumPy shuffles anew in every epoch, as Keras does; or on one that lies on the device.
    """
    import tensorflow as tf

    settings = WATERFALL.settings(stage)
    batch = count_batch(stage)
    inputs, labels = examples(C, C.examples)
    labels = labels.astype(np.float32)
    with tf.device(device):
        metric = tf.keras.metrics.AUC(name="auc") if settings.metric else None
    trainer = Trainer(C, build(C, device), device, execution="xla", metric=metric)
    first = lay(device, inputs[:batch], labels[:batch])
    there: Resident | None = None
    batches: Iterator[Sequence[Any]] = shuffle(inputs, labels, batch)
    if settings.data == "device":
        there, batches = first, itertools.repeat(first.tensors)
    return Prepared(
        step=lambda: trainer.step(*next(batches)),
        check=lambda last: check_steps(trainer, last, inputs[:batch]),
        brief=lambda last: check_steps(trainer, last, inputs[:batch], brief=True),
        tensors=lambda loss: trainer.tensors(loss, first.tensors),
        resident=there,
        enqueues=there is not None,
        traces=trainer.traces,
    )


def shuffle(inputs: Any, labels: Any, batch: int) -> Iterator[tuple[Any, Any]]:
    """Batches without end, in another order in every epoch."""
    draw = np.random.default_rng(DATA_SEED)
    while True:
        order = draw.permutation(len(inputs))
        for start in range(0, len(inputs), batch):
            rows = order[start : start + batch]
            yield inputs[rows], labels[rows]


def teach(inputs: Any) -> Any:
    """Labels that can be learned, which the script's can't: whether the first input is positive."""
    return (inputs[:, :1] > 0).astype(np.float32)


def check_steps(trainer: Trainer, last: Any, inputs: Any, *, brief: bool = False) -> Check:
    """Whether the timed function trains network C, with dropout; ``brief``: without training it again.

    What is dropped is drawn by each device in its own way, so that losses of training steps can't be
    compared.  So what NumPy is asked about is the loss of the seeded weights, with nothing dropped.

    Raises:
        WrongResult: a loss is not finite, that one is not NumPy's, steps do not lower it, or the same steps
            have the same losses twice, so that nothing was dropped.
    """
    demand_usual(float(last), C)
    labels = teach(inputs)
    entropy = loss_of(replace(C, smoothing=0.0))

    def find_loss(of: Any = inputs) -> float:
        return float(entropy(labels, trainer.model(of, training=False)))

    trainer.reset()
    before, value = find_loss(), find_loss(FAR * inputs)
    demand_reference(C, FAR * inputs, labels, steps=1, loss=value, tolerance=CHECK_TOLERANCE)
    if brief:
        return Check(what=BRIEFLY)
    once = [float(trainer.step(inputs, labels)) for _ in range(ALIKE)]
    trainer.reset()
    losses = [float(trainer.step(inputs, labels)) for _ in range(CHECK_STEPS)]
    check_losses(losses)
    if losses[:ALIKE] == once:
        raise WrongResult(f"the same steps have the same losses twice, {once}: no dropout")
    if not (after := find_loss()) < before:
        raise WrongResult(f"training did not lower the loss: {before:.6g} before, {after:.6g}")
    return Check(
        what=f"{CHECK_STEPS} seeded steps: losses finite and falling; of the seeded weights (value)",
        value=value,
        tolerance=CHECK_TOLERANCE,
    )


def post(*, device: str, asked: Sequence[Mapping[str, Any]]) -> list[Printed]:  # noqa: ARG001
    """What the script prints of its epochs; where it trains is TensorFlow's own choice."""
    seconds, losses, model = script.run()

    def check() -> Check:
        made = int(model.optimizer.iterations.numpy())
        if made != STEPS * script.EPOCHS or len(losses) != script.EPOCHS:
            raise WrongResult(f"{made} steps in {len(losses)} epochs, expected {STEPS} each")
        if not all(abs(loss / GUESS - 1) <= NEAR for loss in losses):
            raise WrongResult(f"the losses are {losses} where guessing has {GUESS:.6g}")
        return Check(what=f"{made} steps; losses of labels that nobody can tell: ln 2")

    def tensors() -> list[Any]:
        return list_values(model.trainable_variables)

    epochs = [WATERFALL.settings(cell["stage"]).epoch for cell in asked]
    return [Printed(seconds=seconds[epoch - 1], check=check, tensors=tensors) for epoch in epochs]


def place_data(stage: str, **_: Param) -> Data:
    """Where a step's inputs lie: Keras makes a pipeline of arrays, which runs ahead."""
    return "prefetched" if stage in WATERFALL.printed else WATERFALL.settings(stage).data


SCENARIOS = WATERFALL.declare(
    prepare,
    post,
    "What does network C by fit and XLA take with {new} (work on: {on})?",
    work=work,
    work_key="training/C",
    proof="results",
    data=place_data,
    dispatch=lambda stage, **_: "keras" if stage in WATERFALL.printed else "xla",
    links=lambda stage, **_: {"start": FIRST_STEP} if stage == SCRIPT else {},
)
