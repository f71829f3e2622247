"""The two small networks that people ask about, their data, and one training step.

A: 128 → 256 relu → 128 relu → 1 sigmoid, binary cross-entropy, 10,000 examples.
B: 100 → 128 relu → 10 classes, sparse categorical cross-entropy, 1,000 or 100,000 examples.
Both with Adam.  Weights come from NumPy, so that every arm starts from the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.model import Check
from suite.worker.scenario import DATA_SEED, GraphProof, WrongResult

CHECK_STEPS = 20
"""The check trains so many seeded steps on one batch: the loss has to fall."""

CHECK_TOLERANCE = 1e-3
"""The relative difference between arms that the loss after those steps may have at fp32: sums are
ordered differently on each device, and Adam's division magnifies that a little."""

MATMUL = (
    "MatMul",
    "_FusedMatMul",
    "_MklMatMul",
    "_MklFusedMatMul",
    "_MklNativeMatMul",
    "_MklNativeFusedMatMul",
)
"""The names that a matrix product can have in an executed graph, plain, fused or by oneDNN."""

TRAINING_PROOF = GraphProof(
    groups=(MATMUL, ("BiasAddGrad",), ("AssignSubVariableOp", "ResourceApplyAdam"))
)
"""Forward and backward products, a gradient, and Adam's update must run on the cell's device."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A stack of dense layers: (units, activation) each; ``classes`` 2 means one sigmoid."""

    name: str
    inputs: int
    layers: tuple[tuple[int, str], ...]
    classes: int
    learning_rate: float
    examples: int


A = Network(
    name="A",
    inputs=128,
    layers=((256, "relu"), (128, "relu"), (1, "sigmoid")),
    classes=2,
    learning_rate=1e-3,
    examples=10_000,
)
B = Network(
    name="B",
    inputs=100,
    layers=((128, "relu"), (10, "softmax")),
    classes=10,
    learning_rate=1e-3,
    examples=100_000,
)
NETWORKS = {network.name: network for network in (A, B)}


def examples(network: Network, count: int) -> tuple[Any, Any]:
    """Seeded inputs, float32 of shape (count, inputs), and labels, int32 of shape (count, 1)."""
    source = np.random.default_rng([DATA_SEED, ord(network.name)])
    inputs = source.standard_normal((count, network.inputs), dtype=np.float32)
    labels = source.integers(0, network.classes, (count, 1), dtype=np.int32)
    return inputs, labels


def weights(network: Network) -> list[Any]:
    """Seeded Glorot-uniform kernels (Glorot & Bengio 2010, eq. 16) and zero biases, float32."""
    source = np.random.default_rng([DATA_SEED, 1, ord(network.name)])
    arrays: list[Any] = []
    fan_in = network.inputs
    for units, _ in network.layers:
        limit = math.sqrt(6.0 / (fan_in + units))
        arrays.append(source.uniform(-limit, limit, (fan_in, units)).astype(np.float32))
        arrays.append(np.zeros(units, dtype=np.float32))
        fan_in = units
    return arrays


def build(network: Network, device: str | None) -> Any:
    """The Keras model with its seeded weights on ``device``; None: wherever TensorFlow puts it."""
    import tensorflow as tf

    with tf.device(device):
        layers = [tf.keras.Input((network.inputs,))]
        layers += [
            tf.keras.layers.Dense(units, activation=activation)
            for units, activation in network.layers
        ]
        model = tf.keras.Sequential(layers)
        model.set_weights(weights(network))
    return model


def loss_of(network: Network) -> Any:
    """The Keras loss that fits the network's labels."""
    import tensorflow as tf

    if network.classes == 2:
        return tf.keras.losses.BinaryCrossentropy()
    return tf.keras.losses.SparseCategoricalCrossentropy()


class Trainer:
    """A model, its optimizer, and one training step as a `tf.function`."""

    def __init__(self, network: Network, model: Any, device: str | None) -> None:
        import tensorflow as tf

        self.network = network
        self.model = model
        with tf.device(device):
            self.optimizer = tf.keras.optimizers.Adam(network.learning_rate)
            self.optimizer.build(model.trainable_variables)
        loss = loss_of(network)
        optimizer = self.optimizer

        def step(inputs: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                value = loss(labels, model(inputs, training=True))
            gradients = tape.gradient(value, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return value

        # Explicit: XLA is chosen by a cell's id and never by TensorFlow.
        self.step: Callable[[Any, Any], Any] = tf.function(step, jit_compile=False)

    def traces(self) -> int:
        """How often the step has been traced so far."""
        return int(self.step.experimental_get_tracing_count())  # type: ignore[attr-defined]

    def reset(self) -> None:
        """Back to the seeded weights and a fresh optimizer."""
        self.model.set_weights(weights(self.network))
        for variable in self.optimizer.variables:
            if variable is not self.optimizer._learning_rate:  # noqa: SLF001  Keras lists it too
                variable.assign(np.zeros(variable.shape, dtype=variable.dtype))

    def check(self, inputs: Any, labels: Any) -> Check:
        """Trains `CHECK_STEPS` steps from the seeded weights on one batch, by the timed function.

        Raises:
            WrongResult: the loss is not finite or does not fall.
        """
        self.reset()
        losses = [float(self.step(inputs, labels)) for _ in range(CHECK_STEPS)]
        return check_losses(losses)


def demand_finite(loss: Any) -> None:
    """Raises WrongResult where the last timed step's loss is no finite number."""
    value = float(loss)
    if not math.isfinite(value):
        raise WrongResult(f"the loss of the last timed step is {value}")


def check_losses(losses: list[float]) -> Check:
    """The check of a training run: finite losses, the last one below the first.

    Raises:
        WrongResult: they are not so.
    """
    if not all(math.isfinite(loss) for loss in losses):
        raise WrongResult(f"a loss is not finite: {losses}")
    if not losses[-1] < losses[0]:
        raise WrongResult(f"the loss did not fall: from {losses[0]:.6g} to {losses[-1]:.6g}")
    return Check(
        what=f"{len(losses)} seeded steps on one batch: the loss is finite and falls",
        value=losses[-1],
        tolerance=CHECK_TOLERANCE,
    )
