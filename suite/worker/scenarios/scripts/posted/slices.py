"""The script of asked.slices: network B trained on 1,000 examples, in slices of 10, device after device.

What it does as people do: NumPy's 64 bits, a model made outside of `tf.device`, an optimizer that has built
nothing yet, model, optimizer and loss handed to the `tf.function`, and the loss fetched at every step.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

EXAMPLES = 1_000
BATCH = 10


@dataclass(frozen=True, kw_only=True)
class Run:
    """The seconds and losses of each half, its own traces, and what it was done with."""

    seconds: dict[str, float]
    losses: dict[str, list[float]]
    traces: dict[str, int]
    train_step: Any
    arguments: tuple[Any, ...]
    batch: tuple[Any, Any]


def run(halves: Iterable[str]) -> Run:
    """Trains on each of these devices in turn: 100 steps, timed as a whole."""
    import tensorflow as tf

    inputs = np.random.random((EXAMPLES, 100))
    labels = np.random.randint(0, 10, EXAMPLES)

    model = tf.keras.Sequential(
        [
            tf.keras.Input((100,)),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )
    optimizer = tf.keras.optimizers.Adam(learning_rate=0.001)
    # Keras 2 compiles updates with XLA beside a GPU, which the CPU's half can't run; Keras 3 does not.
    optimizer.jit_compile = False
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy()

    @tf.function  # type: ignore[untyped-decorator]
    def train_step(model: Any, optimizer: Any, loss_function: Any, x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_function(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    seconds: dict[str, float] = {}
    losses: dict[str, list[float]] = {}
    traces: dict[str, int] = {}
    for half in halves:
        losses[half] = []
        with tf.device(half):
            start = time.perf_counter()
            for i in range(0, EXAMPLES, BATCH):
                x, y = inputs[i : i + BATCH], labels[i : i + BATCH]
                loss = train_step(model, optimizer, loss_function, x, y)
                losses[half].append(loss.numpy())
            seconds[half] = time.perf_counter() - start
        traces[half] = train_step.experimental_get_tracing_count() - sum(traces.values())

    return Run(
        seconds=seconds,
        losses=losses,
        traces=traces,
        train_step=train_step,
        arguments=(model, optimizer, loss_function),
        batch=(inputs[:BATCH], labels[:BATCH]),
    )
