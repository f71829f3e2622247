"""The small networks that people ask about, their data, and one training step.

A: 128 → 256 relu → 128 relu → 1 sigmoid, binary cross-entropy, 10,000 examples.
B: 100 → 128 relu → 10 classes, sparse categorical cross-entropy, 1,000 or 100,000 examples.
Both with Adam.  Weights come from NumPy, so that every arm starts from the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from suite.model import Check
from suite.worker.scenario.scenario import DATA_SEED, GraphProof, TensorProof, WrongResult

CHECK_STEPS = 20
"""The check trains so many seeded steps on one batch: the loss has to fall."""

CHECK_TOLERANCE = 1e-3
"""The relative difference between arms that the loss after those steps may have at fp32: sums are
ordered differently on each device, and Adam's division magnifies that a little."""

TOLERANCES = {"fp32": CHECK_TOLERANCE, "tf32": 2e-3, "bf16": 2e-2}
"""The same by precision: some six times what rounding every operand did to A at batch 512
(docs/decisions/0014)."""

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
    groups=(MATMUL, ("BiasAddGrad", "ReluGrad"), ("AssignSubVariableOp", "ResourceApplyAdam"))
)
"""Forward and backward products, a gradient, and Adam's update must run on the cell's device.  Keras
before 3.6 adds biases by a plain addition (tried: 3.3.3), whose gradient has no operation of its own."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A stack of dense layers: (units, activation) each; ``classes`` 2 means one sigmoid.

    ``name``, one letter, seeds its data and weights.
    """

    name: str
    inputs: int
    layers: tuple[tuple[int, str], ...]
    classes: int
    learning_rate: float
    examples: int

    @property
    def kernels(self) -> list[tuple[int, int]]:
        """The shape of every layer's kernel: inputs, units."""
        units = [units for units, _ in self.layers]
        return list(zip([self.inputs, *units], units, strict=False))


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

DEEP = Network(
    name="D",
    inputs=128,
    layers=((128, "relu"),) * 49 + ((10, "softmax"),),
    classes=10,
    learning_rate=1e-3,
    examples=1_000,
)
"""50 layers: not trained here, but built, which takes time by the layer."""


def widen(width: int) -> Network:
    """Network A with both hidden layers of a width.

    The learning rate falls as the width grows, or the first steps of a wide network overshoot and
    the check, whose loss has to fall, would see that instead of a fault.
    """
    hidden = ((width, "relu"), (width, "relu"))
    rate = A.learning_rate * min(1.0, 256 / width)
    return replace(A, layers=(*hidden, A.layers[-1]), learning_rate=rate)


def count_flop(network: Network, batch: int) -> float:
    """The floating-point operations of a training step's products.

    Each kernel once forward, once for its own gradient, and once for its input's gradient, which the
    first one needs none of; biases, activations, the loss and Adam are not counted.
    """
    sizes = [before * units for before, units in network.kernels]
    return 2.0 * batch * (3 * sum(sizes) - sizes[0])


def examples(network: Network, count: int) -> tuple[Any, Any]:
    """Seeded inputs, float32 of shape (count, inputs), and labels, int64 of shape (count, 1).

    Not int32: TensorFlow keeps int32 in the host's memory even where a GPU is named, so that no cell
    could have its labels on the device.  And the same wherever the data lies, so that cells which
    differ in that differ in nothing else.
    """
    source = np.random.default_rng([DATA_SEED, ord(network.name)])
    inputs = source.standard_normal((count, network.inputs), dtype=np.float32)
    # Drawn as int32, which they once were: NumPy draws other numbers for another type.
    labels = source.integers(0, network.classes, (count, 1), dtype=np.int32)
    return inputs, labels.astype(np.int64)


def weights(network: Network) -> list[Any]:
    """Seeded Glorot-uniform kernels (Glorot & Bengio 2010, eq. 16) and zero biases, float32."""
    source = np.random.default_rng([DATA_SEED, 1, ord(network.name)])
    arrays: list[Any] = []
    for fan_in, units in network.kernels:
        limit = math.sqrt(6.0 / (fan_in + units))
        arrays.append(source.uniform(-limit, limit, (fan_in, units)).astype(np.float32))
        arrays.append(np.zeros(units, dtype=np.float32))
    return arrays


def build(network: Network, device: str | None, *, precision: str = "fp32") -> Any:
    """The Keras model with its seeded weights on ``device``; None: wherever TensorFlow puts it."""
    import tensorflow as tf

    with tf.device(device):
        layers = _mixed_layers(network) if precision == "bf16" else _layers(network)
        model = tf.keras.Sequential([tf.keras.Input((network.inputs,)), *layers])
        model.set_weights(weights(network))
    return model


def _layers(network: Network) -> list[Any]:
    import tensorflow as tf

    return [
        tf.keras.layers.Dense(units, activation=activation) for units, activation in network.layers
    ]


def _mixed_layers(network: Network) -> list[Any]:
    """Keras's mixed precision: products in bfloat16; variables, the last activation and so the loss
    in float32, as its guide has it.
    """
    import tensorflow as tf

    *hidden, (units, activation) = network.layers
    mixed = "mixed_bfloat16"
    return [
        *(tf.keras.layers.Dense(count, activation=each, dtype=mixed) for count, each in hidden),
        tf.keras.layers.Dense(units, dtype=mixed),
        tf.keras.layers.Activation(activation, dtype="float32"),
    ]


def loss_of(network: Network) -> Any:
    """The Keras loss that fits the network's labels."""
    import tensorflow as tf

    if network.classes == 2:
        return tf.keras.losses.BinaryCrossentropy()
    return tf.keras.losses.SparseCategoricalCrossentropy()


class Trainer:
    """A model, its optimizer, and one training step: in a graph, eager, or compiled by XLA.

    ``before`` is put between the inputs and the model, inside the step.
    """

    def __init__(
        self,
        network: Network,
        model: Any,
        device: str | None,
        *,
        execution: str = "graph",
        before: Callable[[Any], Any] | None = None,
    ) -> None:
        import tensorflow as tf

        self.network = network
        self.model = model
        self.execution = execution
        with tf.device(device):
            self.optimizer = tf.keras.optimizers.Adam(network.learning_rate)
            self.optimizer.build(model.trainable_variables)
        loss = loss_of(network)
        optimizer = self.optimizer

        def differentiate(inputs: Any, labels: Any) -> tuple[Any, Any]:
            inputs = inputs if before is None else before(inputs)
            with tf.GradientTape() as tape:
                value = loss(labels, model(inputs, training=True))
            return value, tape.gradient(value, model.trainable_variables)

        def step(inputs: Any, labels: Any) -> Any:
            value, gradients = differentiate(inputs, labels)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return value

        # Explicit: XLA is chosen by a cell's id and never by TensorFlow.
        makers: dict[str, Callable[[], Callable[[Any, Any], Any]]] = {
            "graph": lambda: tf.function(step, jit_compile=False),
            "xla": lambda: tf.function(step, jit_compile=True),
            "eager": lambda: step,
        }
        self._differentiate = differentiate
        self.step = makers[execution]()

    def proof(self, batch: Sequence[Any]) -> GraphProof | TensorProof:
        """How to prove where the step ran.

        Args:
            batch: inputs and labels on the device, for one more pass, untimed.
        """
        if self.execution == "graph":
            return TRAINING_PROOF

        def tensors(value: Any) -> list[Any]:
            here = [value, *(one.value for one in self.optimizer.variables if len(one.shape))]
            if self.execution == "eager":
                here += self._differentiate(*batch)[1]
            return here

        return TensorProof(tensors=tensors)

    def traces(self) -> int:
        """How often the step has been traced so far."""
        if self.execution == "eager":
            return 0
        return int(self.step.experimental_get_tracing_count())  # type: ignore[attr-defined]

    def reset(self) -> None:
        """Back to the seeded weights and a fresh optimizer."""
        self.model.set_weights(weights(self.network))
        for variable in self.optimizer.variables:
            if variable is not self.optimizer._learning_rate:  # noqa: SLF001  Keras lists it too
                variable.assign(np.zeros(variable.shape, dtype=variable.dtype))

    def check(
        self,
        inputs: Any,
        labels: Any,
        *,
        steps: int = CHECK_STEPS,
        tolerance: float = CHECK_TOLERANCE,
        rows: Any = None,
    ) -> Check:
        """Trains so many steps from the seeded weights on one batch, by the timed function.

        ``rows`` are NumPy's inputs as the first layer gets them; None: these.

        Raises:
            WrongResult: the loss is not finite, does not fall, or is not NumPy's.
        """
        from suite.worker.scenarios.mlp.reference import demand_reference

        self.reset()
        losses = [float(self.step(inputs, labels)) for _ in range(steps)]
        found = check_losses(losses, tolerance)
        seen = np.asarray(inputs if rows is None else rows), np.asarray(labels)
        demand_reference(self.network, *seen, steps=steps, loss=losses[-1], tolerance=tolerance)
        return found


def demand_finite(loss: Any) -> None:
    """Raises WrongResult where the last timed step's loss is no finite number."""
    value = float(loss)
    if not math.isfinite(value):
        raise WrongResult(f"the loss of the last timed step is {value}")


def check_losses(losses: list[float], tolerance: float = CHECK_TOLERANCE) -> Check:
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
        tolerance=tolerance,
    )
