"""The small networks that people ask about: their data, their weights and their Keras models.

A: 128 → 256 relu → 128 relu → 1 sigmoid, binary cross-entropy, 10,000 examples.
B: 100 → 128 relu → 10 classes, sparse categorical cross-entropy, 1,000 or 100,000 examples.
C: 4 → ten times 128 relu with dropout → 1 sigmoid, smoothed binary cross-entropy, 250,000 examples.
All with Adam.  Weights come from NumPy, so that every arm starts from the same bits.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.worker.scenario.scenario import DATA_SEED

MATMUL = (
    "MatMul",
    "_FusedMatMul",
    "_MklMatMul",
    "_MklFusedMatMul",
    "_MklNativeMatMul",
    "_MklNativeFusedMatMul",
)
"""The names that a matrix product can have in an executed graph, plain, fused or by oneDNN."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A stack of dense layers: (units, activation) each; ``classes`` 2 means one sigmoid.

    ``name``, one letter, seeds its data and weights.  ``dropout`` is the rate behind each hidden layer,
    ``smoothing`` that of the labels of a sigmoid.
    """

    name: str
    inputs: int
    layers: tuple[tuple[int, str], ...]
    classes: int
    learning_rate: float
    examples: int
    dropout: float = 0.0
    smoothing: float = 0.0

    @property
    def kernels(self) -> list[tuple[int, int]]:
        """The shape of every layer's kernel: inputs, units."""
        units = [units for units, _ in self.layers]
        return list(zip([self.inputs, *units], units, strict=False))

    @property
    def example_bytes(self) -> int:
        """Bytes of an example: its float32 inputs and an int64 label."""
        return self.inputs * 4 + 8


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

C = Network(
    name="C",
    inputs=4,
    layers=((128, "relu"),) * 10 + ((1, "sigmoid"),),
    classes=2,
    learning_rate=1e-3,
    examples=250_000,
    dropout=0.1,
    smoothing=0.05,
)
"""Of one script alone."""

DEEP = Network(
    name="D",
    inputs=128,
    layers=((128, "relu"),) * 49 + ((10, "softmax"),),
    classes=10,
    learning_rate=1e-3,
    examples=1_000,
)
"""50 layers: not trained here, but built, which takes time by the layer."""


KEPT_BYTES = 64 * 1024**2
"""A process keeps so much of the data that its cells drew, whatever they did with it: that of A and B, which
most of them have in common, takes 46 MB."""

_kept: dict[tuple[str, int, int, int], tuple[Any, Any]] = {}


def examples(network: Network, count: int) -> tuple[Any, Any]:
    """Seeded inputs, float32 of shape (count, inputs), and labels, int64 of shape (count, 1).  They can't be
    written to, since the cells of a process share them.

    Not int32: TensorFlow keeps int32 in the host's memory even where a GPU is named, so that no cell
    could have its labels on the device.  And the same wherever the data lies, so that cells which
    differ in that differ in nothing else.
    """
    key = (network.name, network.inputs, network.classes, count)
    if key in _kept:
        return _kept[key]
    source = np.random.default_rng([DATA_SEED, ord(network.name)])
    inputs = source.standard_normal((count, network.inputs), dtype=np.float32)
    # Drawn as int32, which they once were: NumPy draws other numbers for another type.
    labels = source.integers(0, network.classes, (count, 1), dtype=np.int32)
    drawn = inputs, labels.astype(np.int64)
    for array in drawn:
        array.flags.writeable = False
    # What was drawn first goes first.
    while _kept and _count_bytes(*_kept.values(), drawn) > KEPT_BYTES:
        del _kept[next(iter(_kept))]
    if _count_bytes(drawn) <= KEPT_BYTES:
        _kept[key] = drawn
    return drawn


def _count_bytes(*sets: tuple[Any, Any]) -> int:
    return sum(array.nbytes for arrays in sets for array in arrays)


def one_batch(batch: int, **_: Param) -> Work:
    """So many examples, trained on in one step or answered."""
    return Work(amount=float(batch), unit="example", steps=1)


STRIP = 128
"""Rows of a kernel that are drawn together."""


def weights(network: Network) -> list[Any]:
    """Seeded Glorot-uniform kernels (Glorot & Bengio 2010, eq. 16) and zero biases, float32."""
    source = np.random.default_rng([DATA_SEED, 1, ord(network.name)])
    arrays: list[Any] = []
    for fan_in, units in network.kernels:
        limit = math.sqrt(6.0 / (fan_in + units))
        kernel = np.empty((fan_in, units), dtype=np.float32)
        # By strips: NumPy draws in float64, and fresh memory for all of it takes longer than the drawing.
        for strip in np.array_split(kernel, -(-fan_in // STRIP)):
            strip[:] = source.uniform(-limit, limit, strip.shape)
        arrays += [kernel, np.zeros(units, dtype=np.float32)]
    return arrays


def build(network: Network, device: str | None, *, precision: str = "fp32") -> Any:
    """The Keras model with its seeded weights on ``device``; None: wherever TensorFlow puts it."""
    import tensorflow as tf

    with tf.device(device):
        layers = _list_layers(network, precision)
        model = tf.keras.Sequential([tf.keras.Input((network.inputs,)), *layers])
        model.set_weights(weights(network))
    return model


def _list_layers(network: Network, precision: str) -> list[Any]:
    """As ``bf16`` in Keras's mixed precision: products in bfloat16; variables, the last activation and so the
    loss in float32, as its guide has it.
    """
    import tensorflow as tf

    *hidden, (units, activation) = network.layers
    if precision != "bf16":
        layers = []
        for count, each in hidden:
            layers.append(tf.keras.layers.Dense(count, activation=each))
            if network.dropout:
                layers.append(tf.keras.layers.Dropout(network.dropout))
        return [*layers, tf.keras.layers.Dense(units, activation=activation)]
    mixed = "mixed_bfloat16"
    return [
        *(tf.keras.layers.Dense(count, activation=each, dtype=mixed) for count, each in hidden),
        tf.keras.layers.Dense(units, dtype=mixed),
        tf.keras.layers.Activation(activation, dtype="float32"),
    ]


REDUCTION = "sum_over_batch_size"
"""A batch's loss is the mean of its examples'."""


def loss_of(network: Network) -> Any:
    """The Keras loss that fits the network's labels."""
    import tensorflow as tf

    losses = tf.keras.losses
    if network.classes == 2:
        return losses.BinaryCrossentropy(label_smoothing=network.smoothing, reduction=REDUCTION)
    return losses.SparseCategoricalCrossentropy(reduction=REDUCTION)


ADAM: dict[str, Any] = {"beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7}
"""Adam's constants: Keras's defaults, said so that every version of it has them."""


def make_optimizer(network: Network) -> Any:
    """Adam at the network's learning rate.

    Keras 2 compiles its updates by XLA beside a GPU, unless it is told not to; Keras 3 leaves that to whoever
    makes the step, and has no word for it.
    """
    import tensorflow as tf

    adam = tf.keras.optimizers.Adam
    has_word = "jit_compile" in inspect.signature(adam).parameters
    own: dict[str, Any] = {"jit_compile": False} if has_word else {}
    return adam(network.learning_rate, **ADAM, **own)


def list_values(variables: Iterable[Any]) -> list[Any]:
    """TensorFlow's tensors or variables of Keras's; Keras 2's are TensorFlow's own, whose value is a call."""
    values = [variable.value for variable in variables]
    return [value() if callable(value) else value for value in values]
