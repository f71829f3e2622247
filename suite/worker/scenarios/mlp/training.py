"""One training step of a network: how it runs, where it has to run, and whether it trains right.

Who is right where arms disagree is said by NumPy in float64.  Its losses are committed (``references.json``,
made by ``nox -s references``), since the widest networks take it minutes; tests/bench/references.py has the
arithmetic, and a test computes the others again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from suite.cells.scenario import Ops
from suite.model import Check
from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.mlp.networks import (
    MATMUL,
    Network,
    list_values,
    loss_of,
    make_optimizer,
    weights,
)

REFERENCES = Path(__file__).with_name("references.json")

LOSSES: dict[str, float] = json.loads(REFERENCES.read_text(encoding="utf-8"))
"""NumPy's losses of the seeded training runs, by `name_training`."""

CHECK_STEPS = 20
"""The check trains so many seeded steps on one batch: the loss has to fall."""

CHECK_TOLERANCE = 1e-3
"""The relative difference between arms that the loss after those steps may have at fp32: sums are
ordered differently on each device, and Adam's division magnifies that a little."""

MOST_LOSS = 10.0
"""Times the loss of whoever guesses: a step that is timed for long learns its batches, or knows nothing of
them, and is never so far off."""

TOLERANCES = {"fp32": CHECK_TOLERANCE, "tf32": 2e-3, "bf16": 2e-2}
"""The same by precision: some six times what rounding every operand did to A at batch 512
(docs/decisions/0014)."""

MATMUL_PROOF = Ops(groups=(MATMUL,), like=("*MatMul*",))

TRAINING_PROOF = Ops(
    groups=(MATMUL, ("BiasAddGrad", "ReluGrad"), ("AssignSubVariableOp", "ResourceApplyAdam")),
    like=MATMUL_PROOF.like,
)
"""Forward and backward products, a gradient, and Adam's update must run on the cell's device.  Keras
before 3.6 adds biases by a plain addition (tried: 3.3.3), whose gradient has no operation of its own."""


def name_training(network: Network, inputs: Any, labels: Any, steps: int) -> str:
    """The name of a training run among the references: of the network and of its data.

    Args:
        network: whose seeded weights it begins with.
        inputs: NumPy's, of shape (batch, inputs), as the first layer gets them.
        labels: NumPy's, of shape (batch, 1).
        steps: how many, all on this batch.
    """
    what = repr((network.inputs, network.layers, network.classes, network.learning_rate, steps))
    digest = hashlib.sha256(what.encode())
    # The labels tell the examples.  Of the inputs only how far they spread, which tells what was done to
    # them: maps in different libraries round their last bits differently.
    digest.update(np.asarray(labels, np.int64).tobytes())
    digest.update(f"{np.std(np.asarray(inputs, np.float64)):.2f}".encode())
    return f"{network.name}/{len(inputs)}/{steps}/{digest.hexdigest()[:12]}"


def demand_reference(
    network: Network, inputs: Any, labels: Any, *, steps: int, loss: float, tolerance: float
) -> None:
    """Holds the loss before the last of so many steps against NumPy's; arguments as `name_training`'s.

    A run that has no reference, as of a network that somebody is trying out, is not judged.

    Raises:
        WrongResult: it is off by more than the relative ``tolerance``.
    """
    expected = LOSSES.get(name_training(network, inputs, labels, steps))
    if expected is not None and not abs(loss - expected) <= tolerance * abs(expected):
        raise WrongResult(
            f"the loss is {loss:.6g} where NumPy's reference is {expected:.6g} (step {steps}; "
            f"{tolerance:g} of it is allowed)"
        )


class Trainer:
    """A model, its optimizer, and one training step: in a graph, eager, or compiled by XLA.

    ``before`` is put between the inputs and the model, inside the step.  Unless ``built``, the optimizer
    makes its variables in the first trace, which is then traced again.  ``handed``: the step's function
    closes over nothing, so that TensorFlow looks at model, optimizer and loss as arguments in each call.
    ``metric`` is a Keras metric that the step updates by its labels and answers.
    """

    def __init__(
        self,
        network: Network,
        model: Any,
        device: str | None,
        *,
        execution: str = "graph",
        before: Callable[[Any], Any] | None = None,
        built: bool = True,
        handed: bool = False,
        metric: Any = None,
    ) -> None:
        import tensorflow as tf

        self.network = network
        self.model = model
        self.execution = execution
        with tf.device(device):
            self.optimizer = make_optimizer(network)
            if built:
                self.optimizer.build(model.trainable_variables)
        loss = loss_of(network)
        optimizer = self.optimizer

        def differentiate(inputs: Any, labels: Any) -> tuple[Any, Any]:
            inputs = inputs if before is None else before(inputs)
            with tf.GradientTape() as tape:
                answers = model(inputs, training=True)
                value = loss(labels, answers)
            if metric is not None:
                metric.update_state(labels, answers)
            return value, tape.gradient(value, model.trainable_variables)

        def step(inputs: Any, labels: Any) -> Any:
            value, gradients = differentiate(inputs, labels)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return value

        # Explicit: XLA is chosen by a cell's id and never by TensorFlow.
        makers: dict[str, Callable[[], Any]] = {
            "graph": lambda: tf.function(step, jit_compile=False),
            "xla": lambda: tf.function(step, jit_compile=True),
            "eager": lambda: step,
        }
        self._differentiate = differentiate
        self.step = self._function = makers[execution]()
        if handed:
            self._function = _make_handed_step()
            self.step = partial(self._function, model, optimizer, loss)

    def tensors(self, value: Any, batch: Sequence[Any]) -> list[Any]:
        """What lies where a step ran that is not a graph, and gave this ``value``.

        Args:
            value: the step's loss.
            batch: inputs and labels on the device, for one more pass, untimed.
        """
        here = [value, *list_values(each for each in self.optimizer.variables if len(each.shape))]
        if self.execution == "eager":
            here += self._differentiate(*batch)[1]
        return here

    def traces(self) -> int:
        """How often the step has been traced so far."""
        if self.execution == "eager":
            return 0
        return int(self._function.experimental_get_tracing_count())

    def reset(self) -> None:
        """Back to the seeded weights and a fresh optimizer."""
        begin_again(self.network, self.model, self.optimizer)

    def check(
        self,
        last: Any,
        inputs: Any,
        labels: Any,
        **how: Any,
    ) -> Check:
        """As `check_training`, by the timed function; ``how`` is that function's, and ``last`` the loss of
        the last timed step.

        Raises:
            WrongResult: that is none that training has, or as `check_training`.
        """
        demand_usual(float(last), self.network)
        self.reset()
        return check_training(self.network, self.step, inputs, labels, **how)


def _make_handed_step() -> Any:
    """A training step as a graph that closes over nothing: model, optimizer and loss are its arguments."""
    import tensorflow as tf

    def step(model: Any, optimizer: Any, loss: Any, inputs: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            value = loss(labels, model(inputs, training=True))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return value

    return tf.function(step, jit_compile=False)


def begin_again(network: Network, model: Any, optimizer: Any) -> None:
    """Gives a model its network's seeded weights, and makes its optimizer a fresh one."""
    model.set_weights(weights(network))
    for variable in optimizer.variables:
        if variable is not optimizer._learning_rate:  # noqa: SLF001  Keras 3 lists it too
            variable.assign(np.zeros_like(variable.numpy()))


def check_training(
    network: Network,
    step: Callable[[Any, Any], Any],
    inputs: Any,
    labels: Any,
    *,
    steps: int = CHECK_STEPS,
    tolerance: float = CHECK_TOLERANCE,
    rows: Any = None,
    brief: bool = False,
) -> Check:
    """Trains so many steps on one batch, from the seeded weights that the model has; if ``brief``, one, whose
    loss shows data, weights and products, and nothing of how it trains.

    ``step`` gives the loss before it.  ``rows`` are NumPy's inputs as the first layer gets them; None: these.

    Raises:
        WrongResult: a loss is not finite, or it does not fall, or is not NumPy's.
    """
    steps = 1 if brief else steps
    losses = [float(step(inputs, labels)) for _ in range(steps)]
    demand_all_finite(losses)
    checked = Check(what=BRIEFLY) if brief else check_losses(losses, tolerance)
    batch = np.asarray(inputs if rows is None else rows), np.asarray(labels)
    demand_reference(network, *batch, steps=steps, loss=losses[-1], tolerance=tolerance)
    return checked


BRIEFLY = "the last timed loss is in range, the first of the seeded weights is NumPy's"


def demand_usual(loss: float, network: Network) -> None:
    """Raises WrongResult where the loss of the last timed step, or epoch, is none that training has."""
    if not 0 <= loss <= MOST_LOSS * math.log(network.classes):
        raise WrongResult(f"the loss of the last timed step is {loss}")


def demand_all_finite(losses: Sequence[float]) -> None:
    """Raises WrongResult where a loss is not a finite number."""
    if not all(math.isfinite(loss) for loss in losses):
        raise WrongResult(f"a loss is not finite: {losses}")


def check_losses(losses: list[float], tolerance: float = CHECK_TOLERANCE) -> Check:
    """The check of a training run: finite losses, the last one below the first.

    Raises:
        WrongResult: they are not so.
    """
    demand_all_finite(losses)
    if not losses[-1] < losses[0]:
        raise WrongResult(f"the loss did not fall: from {losses[0]:.6g} to {losses[-1]:.6g}")
    return Check(
        what=f"{len(losses)} seeded steps on one batch: the loss is finite and falls",
        value=losses[-1],
        tolerance=tolerance,
    )
