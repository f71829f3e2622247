"""asked: the asker's own situation, and the way from it to a fair number.

Written anew after the questions; not one line is theirs.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from suite.model import Check, Param, ProfileName, Work
from suite.worker.scenario import GraphProof, Point, Prepared, Scenario, WrongResult
from suite.worker.scenarios.networks import (
    CHECK_TOLERANCE,
    MATMUL,
    TRAINING_PROOF,
    A,
    B,
    Trainer,
    build,
    demand_finite,
    examples,
    loss_of,
    weights,
)

NAIVE_STEPS = 100
NAIVE_BATCH = 10
FAIR_BATCH = 512
FIT_BATCH = 512

EVERYWHERE: tuple[ProfileName, ...] = ("smoke", "quick", "standard", "full")
MEASURED: tuple[ProfileName, ...] = ("quick", "standard", "full")


def slices_work(stage: str, on: str) -> Work:  # noqa: ARG001  the axes of the case
    """Examples in a call: the naive pass is 100 steps of 10; the fair one is a step of 512."""
    count = NAIVE_STEPS * NAIVE_BATCH if stage == "naive" else FAIR_BATCH
    return Work(amount=float(count), unit="example")


def prepare_slices(*, device: str, stage: str, on: str) -> Prepared:
    """Network B on 1,000 examples: as asked (``naive``), or with all that misled taken away."""
    import tensorflow as tf

    place = "/CPU:0" if on == "cpu" else device
    if stage == "batch-512":
        inputs, labels = examples(B, FAIR_BATCH)
        trainer = Trainer(B, build(B, place), place)
        with tf.device(place):
            batch = tf.constant(inputs), tf.constant(labels)

        def fair() -> Any:
            with tf.device(place):
                return trainer.step(*batch)

        def check_fair(last: Any) -> Check:
            demand_finite(last)
            with tf.device(place):
                return trainer.check(*batch)

        return Prepared(
            step=fair if on == "cpu" else lambda: trainer.step(*batch),
            check=check_fair,
            proof=TRAINING_PROOF,
            on="cpu" if on == "cpu" else "arm",
            enqueues=True,
            traces=trainer.traces,
        )
    if stage != "naive":
        raise ValueError(f"no such stage: {stage}")
    inputs, labels = examples(B, NAIVE_STEPS * NAIVE_BATCH)
    inputs, labels = inputs.astype(np.float64), labels.astype(np.int64)
    # As asked: the model is made outside of tf.device, so on a GPU machine it lies on the GPU,
    # whichever device the loop then names.
    trainer = Trainer(B, build(B, None), None)

    def naive() -> list[float]:
        losses = []
        with tf.device(place):
            for start in range(0, len(inputs), NAIVE_BATCH):
                rows = slice(start, start + NAIVE_BATCH)
                losses.append(float(trainer.step(inputs[rows], labels[rows]).numpy()))
        return losses

    def check(losses: list[float]) -> Check:
        if len(losses) != NAIVE_STEPS:
            raise WrongResult(f"{len(losses)} steps were made, not {NAIVE_STEPS}")
        with tf.device(place):
            return trainer.check(inputs[:NAIVE_BATCH], labels[:NAIVE_BATCH])

    return Prepared(
        step=naive,
        check=check,
        # The optimizer's updates follow the variables; the arithmetic follows tf.device.
        proof=GraphProof(groups=(MATMUL,)),
        on="cpu" if on == "cpu" else "arm",
        traces=trainer.traces,
    )


def fit_work(**_: Param) -> Work:
    """The examples of one epoch, the last partial batch included."""
    return Work(amount=float(A.examples), unit="example")


def prepare_fit(*, device: str, stage: str, batch: int, prefetch: str, on: str) -> Prepared:
    """Network A by ``Model.fit`` on a shuffled dataset, one epoch a call."""
    import tensorflow as tf

    if stage not in {"epoch-1", "steady"}:
        raise ValueError(f"no such stage: {stage}")
    place = "/CPU:0" if on == "cpu" else device
    inputs, labels = examples(A, A.examples)
    dataset = tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(A.examples, seed=0)
    dataset = dataset.batch(batch)
    if prefetch == "on":
        dataset = dataset.prefetch(tf.data.AUTOTUNE)
    steps = -(-A.examples // batch)
    epochs: list[float] = []
    # On the arm's own device the asker names none; on the CPU beside a GPU they must.
    scope = (lambda: tf.device("/CPU:0")) if on == "cpu" else contextlib.nullcontext
    with scope():
        model = build(A, place)
        model.compile(
            optimizer=tf.keras.optimizers.Adam(A.learning_rate),
            loss=loss_of(A),
            jit_compile=False,
        )

    def step() -> float:
        with scope():
            history = model.fit(dataset, epochs=1, verbose=0)
        epochs.append(float(history.history["loss"][-1]))
        return epochs[-1]

    def check(_: Any) -> Check:
        made = int(model.optimizer.iterations.numpy())
        if made != steps * len(epochs):
            raise WrongResult(f"{made} steps in {len(epochs)} epochs, expected {steps} each")
        if not np.all(np.isfinite(epochs)):
            raise WrongResult(f"an epoch's loss is not finite: {epochs}")

        def loss() -> float:
            with scope():
                return float(model.evaluate(inputs, labels, batch_size=A.examples, verbose=0))

        after = loss()
        model.set_weights(weights(A))
        before = loss()
        if not after < before:
            raise WrongResult(f"training did not lower the loss: {before:.6g} before, {after:.6g}")
        return Check(
            what=f"{steps} steps an epoch; losses finite, lower than of the seeded weights (value)",
            value=before,
            tolerance=CHECK_TOLERANCE,
        )

    return Prepared(
        step=step, check=check, proof=TRAINING_PROOF, on="cpu" if on == "cpu" else "arm"
    )


ON: tuple[tuple[str, tuple[str, ...]], ...] = (("arm", ()), ("cpu", ("cuda",)))
"""Where the work is pinned; ``cpu`` has a meaning only beside a visible GPU, on the CUDA arm."""

SLICES_NAIVE, SLICES_FAIR = (
    Scenario(
        family="asked",
        case="slices",
        about="Network B, 1,000 examples in slices of 10: naive as asked, and made fair.",
        question=question,
        axes=("stage", "on"),
        points=tuple(
            Point(params={"stage": stage, "on": on}, profiles=profiles, arms=arms, asked_about=True)
            for on, arms in ON
        ),
        work=slices_work,
        prepare=prepare_slices,
        one_shot=one_shot,
    )
    for stage, one_shot, profiles, question in (
        (
            "naive",
            True,
            EVERYWHERE,
            (
                "What does the naive script see: float64, tracing inside the timer, a fetch at "
                "every step (work on: {on})?"
            ),
        ),
        (
            "batch-512",
            False,
            MEASURED,
            "What is left of it with every mistake taken away, at batch 512 (work on: {on})?",
        ),
    )
)

FIT_FIRST, FIT_STEADY = (
    Scenario(
        family="asked",
        case="fit",
        about="Network A by Model.fit on a shuffled dataset: the first epoch, and a steady one.",
        question=question,
        axes=("stage", "batch", "prefetch", "on"),
        points=tuple(
            Point(
                params={"stage": stage, "batch": FIT_BATCH, "prefetch": "on", "on": on},
                profiles=MEASURED,
                arms=arms,
                asked_about=True,
            )
            for on, arms in ON
        ),
        work=fit_work,
        prepare=prepare_fit,
        one_shot=one_shot,
    )
    for stage, one_shot, question in (
        ("epoch-1", True, "What does Model.fit's first epoch take (work on: {on})?"),
        ("steady", False, "What does an epoch of Model.fit take once warm (work on: {on})?"),
    )
)
