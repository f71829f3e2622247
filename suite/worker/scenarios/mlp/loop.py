"""mlp.loop: Keras's own training loop, `Model.fit`, around the step that ``mlp.train`` measures bare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from suite.cells.cell import Work
from suite.cells.scenario import Scenario, cell, cross, vary
from suite.cells.traits import FULL, STANDARD
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, WrongResult
from suite.worker.scenarios.mlp import train
from suite.worker.scenarios.mlp.networks import A, build, examples, loss_of, make_optimizer
from suite.worker.scenarios.mlp.training import (
    CHECK_TOLERANCE,
    TRAINING_PROOF,
    begin_again,
    demand_reference,
    demand_usual,
)

BATCHES = (32, 512)
STEPS_PER_EXECUTION = (1, 32)
"""Steps in one call of Keras's training function: its default, and what is advised for small steps."""

SEEDED_STEPS = STEPS_PER_EXECUTION[-1]
"""The check has ``fit`` make so many seeded steps on one batch: a whole call of that function."""

PREFETCHED = 2
"""Batches that are ready, at most."""


def count_steps(batch: int) -> int:
    """The steps of an epoch: whole calls of that function, and one at least.  Where the data end within one,
    Keras 3.0 to 3.6 make a step too many of it, and lose its loss."""
    most = STEPS_PER_EXECUTION[-1]
    return max(1, A.examples // (batch * most)) * most


def work(batch: int, steps_per_execution: int) -> Work:
    """The examples of one epoch, some of them twice where it takes more than there are."""
    return _count_work(batch, count_steps(batch), steps_per_execution)


def short_work(batch: int, steps: int) -> Work:
    """The examples of an epoch of so many steps."""
    return _count_work(batch, steps, 1)


def _count_work(batch: int, steps: int, steps_per_execution: int) -> Work:
    return Work(
        amount=float(steps * batch),
        unit="example",
        steps=steps,
        launches=steps / steps_per_execution,
    )


def prepare(*, device: str, batch: int, steps_per_execution: int) -> Prepared:
    """An epoch of ``Model.fit`` a call, of as many whole executions as the examples give."""
    return _prepare_epoch(device, batch, count_steps(batch), steps_per_execution)


def prepare_short(*, device: str, batch: int, steps: int) -> Prepared:
    """An epoch of ``Model.fit`` a call, of so many steps."""
    return _prepare_epoch(device, batch, steps, 1)


def _prepare_epoch(device: str, batch: int, steps: int, steps_per_execution: int) -> Prepared:
    """Network A, a dataset shuffled, batched and prefetched.

    A dataset and not arrays, so that the input is that of ``mlp.train`` with ``data=dataset``; but
    shuffled anew every epoch, which begins with filling the buffer: that belongs to an epoch.  It doesn't
    tune itself.
    """
    import tensorflow as tf

    inputs, labels = examples(A, A.examples)
    # Whoever ends the iterator of a dataset that tunes itself may wait for the thread that does, until 70,
    # 150 or 310 ms after its beginning (docs/decisions/0075).
    options = tf.data.Options()
    options.autotune.enabled = False
    dataset = (
        tf.data.Dataset.from_tensor_slices((inputs, labels))
        .shuffle(A.examples, seed=0)
        .repeat()
        .batch(batch, drop_remainder=True)
        .take(steps)
        .prefetch(PREFETCHED)
        .with_options(options)
    )
    model = build(A, device)
    with tf.device(device):
        optimizer = make_optimizer(A)
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

    return Prepared(
        step=step,
        check=lambda _: check_epochs(model, epochs, steps, batch),
        brief=lambda _: count_epochs(model, epochs, steps),
    )


def repeat_first(batch: int) -> Any:
    """The first batch, `SEEDED_STEPS` times over."""
    import tensorflow as tf

    first = tuple(array[:batch] for array in examples(A, A.examples))
    dataset = tf.data.Dataset.from_tensor_slices(first).batch(batch, drop_remainder=True)
    return dataset.repeat(SEEDED_STEPS)


def find_loss(model: Any, batch: int) -> float:
    """A compiled model's loss of the first batch."""
    return float(model.evaluate(repeat_first(batch), verbose=0))


def train_seeded(model: Any, batch: int) -> tuple[float, float]:
    """Has ``fit`` make `SEEDED_STEPS` steps from the seeded weights on the first batch; its loss before and
    after.

    Raises:
        WrongResult: one of them is not NumPy's.
    """
    begin_again(A, model, model.optimizer)
    before = find_loss(model, batch)
    model.fit(repeat_first(batch), shuffle=False, verbose=0)
    after = find_loss(model, batch)
    first = [array[:batch] for array in examples(A, A.examples)]
    # A reference is of the loss before the last of its steps.
    for steps, loss in ((1, before), (SEEDED_STEPS + 1, after)):
        demand_reference(A, *first, steps=steps, loss=loss, tolerance=CHECK_TOLERANCE)
    return before, after


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


def check_epochs(model: Any, epochs: Sequence[float], steps: int, batch: int) -> Check:
    """Whether Keras's loop trained network A: epochs of so many steps, finite losses, that of the first batch
    lower than with the seeded weights; and seeded steps by it end at NumPy's loss.

    Raises:
        WrongResult: it did not.
    """
    count_epochs(model, epochs, steps)
    trained = find_loss(model, batch)
    before, after = train_seeded(model, batch)
    if not trained < before:
        raise WrongResult(f"training did not lower the loss: {before:.6g} before, {trained:.6g}")
    return Check(
        what=f"{steps} steps an epoch; losses finite and lower than before; that after {SEEDED_STEPS} seeded "
        "steps is NumPy's (value)",
        value=after,
        tolerance=CHECK_TOLERANCE,
    )


USUAL, SHORT = BATCHES[0], 32
"""The batch whose epoch is also measured with so few steps, which tells Keras's own loop from what an epoch
takes once."""

SHORTER = cell("mlp.loop_short", f"with {SHORT} steps an epoch", batch=USUAL, steps=SHORT)

LOOP = Scenario(
    family="mlp",
    case="loop",
    question="What does an epoch of Model.fit take at batch {batch}, "
    "{steps_per_execution} steps an execution?",
    points=cross(batch=BATCHES, steps_per_execution=STEPS_PER_EXECUTION),
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
        **({"shorter": SHORTER} if (batch, steps_per_execution) == (USUAL, 1) else {}),
    },
    choices={"batch": "larger_batch", "steps_per_execution": "more_steps"},
)

SHORT_LOOP = Scenario(
    family="mlp",
    case="loop_short",
    question="What does an epoch of Model.fit of {steps} steps take at batch {batch}?",
    points=cross(batch=USUAL, steps=SHORT),
    profiles=STANDARD,
    work=short_work,
    prepare=prepare_short,
    role="overhead",
    work_key="training/A",
    proof=TRAINING_PROOF,
    data="prefetched",
    dispatch="keras",
)
