"""What the two loops that train network B have alike, as many scripts have them: what each stage sets, their
training step, and their script's two halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from suite.cells.cell import Param
from suite.cells.scenario import Links, Ops
from suite.model import Check
from suite.worker.proof import placement
from suite.worker.scenario.posted import Nodes, Printed
from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.asked.scripts.slices import Run
from suite.worker.scenarios.asked.stages import FIRST_STEP, On, Stage, Waterfall
from suite.worker.scenarios.mlp.networks import B, Network, build, examples, loss_of
from suite.worker.scenarios.mlp.training import (
    MATMUL_PROOF,
    TRAINING_PROOF,
    Trainer,
    demand_all_finite,
)


@dataclass(frozen=True, kw_only=True)
class Loop:
    """A loop that trains: what its timer holds, where its model is, and in which types its data are; by
    default as posted.

    ``process``: a ``fresh`` one runs the script and nothing else; one is ``warm`` that has trained before.
    ``optimizer``: its variables are made by the first trace, or before.  ``handed``: model, optimizer and
    loss are arguments of the `tf.function`; or it closes over them.  ``labels``: of shape
    (n,) or (n, 1).
    ``model``: made outside of ``tf.device``, so that beside a GPU it lies there whichever device the
    loop then names; or made on the device that is timed.  ``bits`` of an input: NumPy's usual 64, or
    32.  ``fetch``: the loss is brought to Python by ``.numpy()`` at every step.
    """

    process: Literal["fresh", "warm"] = "fresh"
    optimizer: Literal["unbuilt", "built"] = "unbuilt"
    handed: bool = True
    labels: Literal["row", "column"] = "row"
    model: Literal["anywhere", "placed"] = "anywhere"
    bits: Literal[64, 32] = 64
    fetch: bool = True


def draw(loop: Loop, count: int) -> tuple[Any, Any]:
    """So many examples, in the types and shapes of a loop."""
    inputs, labels = examples(B, count)
    if loop.bits == 64:
        inputs = inputs.astype(np.float64)
    return inputs, labels[:, 0] if loop.labels == "row" else labels


class HandedTrainer(Trainer):
    """A `Trainer` whose function closes over nothing: TensorFlow looks at every argument in each call."""

    def __init__(self, network: Network, model: Any, device: str | None, *, built: bool) -> None:
        import tensorflow as tf

        super().__init__(network, model, device, built=built)

        def step(model: Any, optimizer: Any, loss: Any, inputs: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(labels, model(inputs, training=True))
            gradients = tape.gradient(value, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return value

        self._function = tf.function(step, jit_compile=False)
        self.step = partial(self._function, model, self.optimizer, loss_of(network))


def make_trainer(loop: Loop, place: str) -> Trainer:
    """Network B's trainer in a loop on that device: handed its parts in each call, or closing over them."""
    where = place if loop.model == "placed" else None
    kind = HandedTrainer if loop.handed else Trainer
    return kind(B, build(B, where), where, built=loop.optimizer == "built")


def prove(waterfall: Waterfall[Any]) -> Callable[..., Ops]:
    """What gives the proof of a cell that trains: where its model lies elsewhere, the optimizer's updates are
    there, beside its variables."""

    def proof_of(stage: str, on: On, **_: Param) -> Ops:
        there = waterfall.settings(stage).model == "placed" or on == "arm"
        return TRAINING_PROOF if there else MATMUL_PROOF

    return proof_of


def link(waterfall: Waterfall[Any], stage: Stage, fair: Links) -> Callable[..., Links]:
    """What a cold stage contains, and what the last one is compared with on the arm's device."""

    def find_links(on: On, **_: Param) -> Links:
        if waterfall.is_cold(stage):
            return {"start": FIRST_STEP}
        return fair if on == "arm" and stage is waterfall.stages[-1] else {}

    return find_links


def bear_out(run: Run, half: str, *, steps: int, **_: Param) -> Printed:
    """One half of a script that trained by such a step, so many times."""
    import tensorflow as tf

    def again() -> Nodes:
        anew = tf.function(run.train_step.python_function)
        with placement.watch() as seen, tf.device(half):
            anew(*run.arguments, *run.batch)
        return seen

    def check() -> Check:
        losses = run.losses[half]
        if len(losses) != steps:
            raise WrongResult(f"{len(losses)} losses were fetched, not {steps}")
        demand_all_finite(losses)
        return Check(what=f"{steps} losses were fetched, all of them finite")

    return Printed(seconds=run.seconds[half], check=check, again=again, traces=run.traces[half])
