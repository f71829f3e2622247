"""mlp.loop: Keras's own training loop, `Model.fit`, around the step that ``mlp.train`` measures bare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from suite.cells.cell import Work
from suite.cells.scenario import Scenario, cross, vary
from suite.cells.traits import FULL, STANDARD
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, WrongResult
from suite.worker.scenarios.mlp import train
from suite.worker.scenarios.mlp.networks import A, build, examples, loss_of, weights
from suite.worker.scenarios.mlp.training import (
    CHECK_TOLERANCE,
    TRAINING_PROOF,
    demand_reference,
    demand_usual,
)

BATCHES = (32, 512)
STEPS_PER_EXECUTION = (1, 32)
"""Steps in one call of Keras's training function: its default, and what is advised for small steps."""


def count_steps(batch: int) -> int:
    """The steps of an epoch of network A's examples; the last, partial batch is dropped."""
    return A.examples // batch


def work(batch: int, steps_per_execution: int) -> Work:
    """The examples of one epoch in whole batches."""
    steps = count_steps(batch)
    return Work(
        amount=float(steps * batch),
        unit="example",
        steps=steps,
        launches=max(1.0, steps / steps_per_execution),
    )


def prepare(*, device: str, batch: int, steps_per_execution: int) -> Prepared:
    """An epoch of ``Model.fit`` a call: network A, a dataset shuffled, batched and prefetched.

    A dataset and not arrays, so that the input is that of ``mlp.train`` with ``data=dataset``; but
    shuffled anew every epoch, which begins with filling the buffer: that belongs to an epoch.
    """
    import tensorflow as tf

    inputs, labels = examples(A, A.examples)
    dataset = (
        tf.data.Dataset.from_tensor_slices((inputs, labels))
        .shuffle(A.examples, seed=0)
        .batch(batch, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    model = build(A, device)
    with tf.device(device):
        optimizer = tf.keras.optimizers.Adam(A.learning_rate)
        optimizer.build(model.trainable_variables)
    model.compile(
        optimizer=optimizer,
        loss=loss_of(A),
        steps_per_execution=steps_per_execution,
        jit_compile=False,
    )
    epochs: list[float] = []

    def step() -> float:
        # The dataset shuffles; Keras says that it can't, unless it is told not to.
        history = model.fit(dataset, epochs=1, shuffle=False, verbose=0)
        epochs.append(float(history.history["loss"][-1]))
        return epochs[-1]

    steps = count_steps(batch)
    return Prepared(
        step=step,
        check=lambda _: check_epochs(
            model, epochs, steps, lambda: find_loss(model, inputs, labels)
        ),
        brief=lambda _: count_epochs(model, epochs, steps),
    )


def find_loss(model: Any, inputs: Any, labels: Any) -> float:
    """The loss of all these examples."""
    return float(model.evaluate(inputs, labels, batch_size=len(inputs), verbose=0))


def count_epochs(model: Any, epochs: Sequence[float], steps: int) -> Check:
    """Whether Keras's loop made epochs of so many steps, whose losses are some that network A can have.

    Raises:
        WrongResult: it did not.
    """
    made = int(model.optimizer.iterations.numpy())
    if made != steps * len(epochs):
        raise WrongResult(f"{made} steps in {len(epochs)} epochs, expected {steps} each")
    if not np.all(np.isfinite(epochs)):
        raise WrongResult(f"an epoch's loss is not finite: {epochs}")
    demand_usual(epochs[-1], A)
    return Check(what=f"{steps} steps an epoch; losses finite, the last in range")


def check_epochs(
    model: Any, epochs: Sequence[float], steps: int, loss: Callable[[], float]
) -> Check:
    """Whether Keras's loop trained network A: epochs of so many steps, finite losses, and the ``loss`` of all
    examples lower than that of the seeded weights, which is NumPy's.

    Raises:
        WrongResult: it did not.
    """
    count_epochs(model, epochs, steps)
    after = loss()
    model.set_weights(weights(A))
    before = loss()
    if not after < before:
        raise WrongResult(f"training did not lower the loss: {before:.6g} before, {after:.6g}")
    every = examples(A, A.examples)
    demand_reference(A, *every, steps=1, loss=before, tolerance=CHECK_TOLERANCE)
    return Check(
        what=f"{steps} steps an epoch; losses finite, lower than of the seeded weights (value)",
        value=before,
        tolerance=CHECK_TOLERANCE,
    )


LOOP = Scenario(
    family="mlp",
    case="loop",
    question="What does an epoch of Model.fit take at batch {batch}, "
    "{steps_per_execution} steps an execution?",
    points=cross(batch=BATCHES, steps_per_execution=STEPS_PER_EXECUTION),
    # Keras's own loop is told from what an epoch takes once by two batches.
    profiles=lambda steps_per_execution, **_: STANDARD if steps_per_execution == 1 else FULL,
    work=work,
    prepare=prepare,
    work_key="training/A",
    larger=("batch",),
    proof=TRAINING_PROOF,
    data="prefetched",
    dispatch="keras",
    priced=True,
    links=lambda batch, steps_per_execution: {
        "fewer": vary(steps_per_execution=STEPS_PER_EXECUTION[-1]),
        **({"own-loop": train.fed_step("A", batch)} if steps_per_execution == 1 else {}),
    },
    choices={"batch": "larger_batch", "steps_per_execution": "more_steps"},
)
