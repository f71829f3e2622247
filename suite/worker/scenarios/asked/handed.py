"""A training step whose `tf.function` is handed model, optimizer and loss, as in many scripts; and such a
script's two halves."""

from __future__ import annotations

from functools import partial
from typing import Any

from suite.cells.scenario import Ops
from suite.model import Check
from suite.worker.proof import placement
from suite.worker.scenario.posted import Nodes, Printed, find_half
from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.asked.scripts.slices import Run
from suite.worker.scenarios.asked.stages import belongs
from suite.worker.scenarios.mlp.networks import B, Network, loss_of
from suite.worker.scenarios.mlp.training import Trainer, demand_all_finite


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

    def traces(self) -> int:
        """How often the step has been traced so far."""
        return int(self._function.experimental_get_tracing_count())


def make_trainer(model: Any, device: str | None, *, handed: bool, built: bool) -> Trainer:
    """Network B's trainer on ``device``: handed its parts in each call, or closing over them."""
    if handed:
        return HandedTrainer(B, model, device, built=built)
    return Trainer(B, model, device, built=built)


def bear_out(run: Run, device: str, on: str, *, steps: int, proof: Ops) -> Printed:
    """One half of a script that trained by such a step, so many times."""
    import tensorflow as tf

    half = find_half(device, on)

    def again() -> Nodes:
        anew = tf.function(run.train_step.python_function)
        with placement.watch() as seen, tf.device(half):
            anew(*run.arguments, *run.batch)
        return seen.nodes

    def check() -> Check:
        losses = run.losses[half]
        if len(losses) != steps:
            raise WrongResult(f"{len(losses)} losses were fetched, not {steps}")
        demand_all_finite(losses)
        return Check(what=f"{steps} losses were fetched, all of them finite")

    return Printed(
        seconds=run.seconds[half],
        proof=proof,
        on=belongs(on),
        check=check,
        again=again,
        traces=run.traces[half],
    )
