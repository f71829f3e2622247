"""asked.fit: network A by ``Model.fit``, epoch by epoch, until an epoch is like the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.links import Target, vary
from suite.cells.scenario import Links, Scenario, cross
from suite.cells.traits import LinkName
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, WrongResult
from suite.worker.scenarios.asked.stages import (
    ARMS_OF,
    ASKED,
    FIRST_STEP,
    FULL,
    PINNED,
    QUICK,
    Profiles,
    Stage,
    belongs,
    find,
    identify,
    pin,
    placed,
    ways,
)
from suite.worker.scenarios.mlp.networks import A, build, examples, loss_of, weights
from suite.worker.scenarios.mlp.reference import demand_reference
from suite.worker.scenarios.mlp.training import CHECK_TOLERANCE, TRAINING_PROOF


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Which epoch of a fresh model is timed: this one; None: those once warm, one after the other."""

    epoch: int | None


EPOCH_1 = Timed(epoch=1)
EPOCH_2 = replace(EPOCH_1, epoch=2)
EPOCH_3 = replace(EPOCH_2, epoch=3)
STEADY = replace(EPOCH_3, epoch=None)

STAGES = (
    Stage("epoch-1", "the first epoch of a fresh model", EPOCH_1, one_shot=True),
    Stage("epoch-2", "the second epoch", EPOCH_2, "start-up", one_shot=True),
    Stage("epoch-3", "the third epoch", EPOCH_3, "start-up", one_shot=True),
    Stage("steady", "an epoch once warm", STEADY, "start-up"),
)

ENDS = ("epoch-1", "steady")
"""The stages of the shorter profiles, and of the variants."""

VARIANTS = ((512, "on"), (512, "off"), (8, "on"))
"""Batch and prefetch: as asked first, of which every stage is measured; then one of the two otherwise."""


def work(batch: int, **_: Param) -> Work:
    """The examples of one epoch, the last partial batch included."""
    return Work(amount=float(A.examples), unit="example", steps=-(-A.examples // batch))


def prepare(*, device: str, stage: str, batch: int, prefetch: str, on: str) -> Prepared:
    """Network A by ``Model.fit`` on a shuffled dataset, one epoch a call.

    The first epoch holds what a fresh model costs: tracing, the optimizer's variables, the first
    iterator.  It is not the first fit of the process: what TensorFlow does once, the start-up sequence
    and the cells before have paid.  Epochs 2 and 3 are of a model as fresh, after untimed ones.
    """
    timed = find(STAGES, stage)
    inputs, labels = examples(A, A.examples)
    dataset = _pipeline(inputs, labels, batch, prefetch)
    steps = -(-A.examples // batch)
    untimed = (timed.epoch or 1) - 1
    epochs: list[float] = []

    model = pin(lambda: _compiled(placed(device, on)), on)()

    def fit() -> float:
        history = model.fit(dataset, epochs=1, verbose=0)
        epochs.append(float(history.history["loss"][-1]))
        return epochs[-1]

    step = pin(fit, on)

    def run_up() -> None:
        for _ in range(untimed):
            step()

    def loss() -> float:
        return float(model.evaluate(inputs, labels, batch_size=A.examples, verbose=0))

    def check(_: Any) -> Check:
        made = int(model.optimizer.iterations.numpy())
        if made != steps * len(epochs):
            raise WrongResult(f"{made} steps in {len(epochs)} epochs, expected {steps} each")
        if timed.epoch not in {None, len(epochs)}:
            raise WrongResult(f"{len(epochs)} epochs were made, the last of which was timed")
        if not np.all(np.isfinite(epochs)):
            raise WrongResult(f"an epoch's loss is not finite: {epochs}")
        after = pin(loss, on)()
        model.set_weights(weights(A))
        before = pin(loss, on)()
        if not after < before:
            raise WrongResult(f"training did not lower the loss: {before:.6g} before, {after:.6g}")
        demand_reference(A, inputs, labels, steps=1, loss=before, tolerance=CHECK_TOLERANCE)
        return Check(
            what=f"{steps} steps an epoch; losses finite, lower than of the seeded weights (value)",
            value=before,
            tolerance=CHECK_TOLERANCE,
        )

    return Prepared(
        step=step,
        check=check,
        proof=TRAINING_PROOF,
        on=belongs(on),
        run_up=run_up if untimed else None,
    )


def _pipeline(inputs: Any, labels: Any, batch: int, prefetch: str) -> Any:
    """One epoch, shuffled anew each time, as asked: a call is a whole one, the filling of the buffer
    included."""
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices((inputs, labels)).shuffle(A.examples, seed=0)
    dataset = dataset.batch(batch)
    return dataset.prefetch(tf.data.AUTOTUNE) if prefetch == "on" else dataset


def _compiled(device: str) -> Any:
    import tensorflow as tf

    model = build(A, device)
    optimizer = tf.keras.optimizers.Adam(A.learning_rate)
    model.compile(optimizer=optimizer, loss=loss_of(A), jit_compile=False)
    return model


def _profiles(stage: str, batch: int, prefetch: str) -> Profiles:
    return QUICK if stage in ENDS and (batch, prefetch) == VARIANTS[0] else FULL


def _is_measured(stage: str, batch: int, prefetch: str, **_: Param) -> bool:
    return stage in ENDS or (batch, prefetch) == VARIANTS[0]


def _cell_of(case: str, axes: Mapping[str, Any]) -> str | None:
    return identify(case, axes) if _is_measured(**axes) else None


WAY = ways(
    "fit",
    "Model.fit, its first epoch",
    STAGES,
    over=("batch", "prefetch"),
    cell_of=_cell_of,
)


def _link(stage: str, batch: int, prefetch: str, on: str) -> Links:  # noqa: ARG001  the axes of the case
    if stage != STAGES[-1].name:
        return {"start": FIRST_STEP}
    links: dict[LinkName, Target] = {"feed": vary(prefetch="on")}
    if on == "arm":
        links["prefetched"] = vary("prefetched", prefetch="on")
    return links


SCENARIOS = tuple(
    Scenario(
        family="asked",
        case="fit",
        about="Network A by Model.fit, its dataset shuffled: epochs 1 to 3 of a fresh model; warm ones.",
        question=f"What does Model.fit take for {stage.new}, at batch {{batch}}, "
        "prefetch {prefetch} (work on: {on})?",
        axes=("stage", "batch", "prefetch", "on"),
        points=tuple(
            point
            for batch, prefetch in VARIANTS
            if _is_measured(stage.name, batch, prefetch)
            for point in cross(
                stage=stage.name,
                batch=batch,
                prefetch=prefetch,
                on=tuple(ARMS_OF),
                **ASKED,
                profiles=_profiles(stage.name, batch, prefetch),
            )
        ),
        work=work,
        prepare=prepare,
        **PINNED,
        kin="training/A",
        larger=("batch",),
        one_shot=stage.one_shot,
        proof=TRAINING_PROOF,
        data=lambda prefetch, **_: "prefetched" if prefetch == "on" else "pipeline",
        dispatch="keras",
        priced=lambda stage, on, **_: (stage, on) == (STAGES[-1].name, "arm"),
        links=_link,
        way=WAY,
    )
    for stage in STAGES
)
