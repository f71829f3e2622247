"""The script of asked.dataset: network B trained for one epoch on 100,000 examples, device after device.

As `slices`, but with a `tf.data` pipeline, which is made inside the timer: batches of 32, prefetched.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from suite.worker.scenarios.scripts.posted.slices import Run

EXAMPLES = 100_000
BATCH = 32


def run(halves: Iterable[str]) -> Run:
    """Trains on each of these devices in turn: 3,125 steps, timed as a whole."""
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
            dataset = tf.data.Dataset.from_tensor_slices((inputs, labels))
            dataset = dataset.batch(BATCH).prefetch(tf.data.AUTOTUNE)
            for x, y in dataset:
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
        batch=(x, y),
    )
