"""The script of asked.fit: network A by `Model.fit`, three epochs in one call, device after device.

Its numbers are those of the progress bar, which is on: the time of each epoch.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

EXAMPLES = 10_000
BATCH = 512
EPOCHS = 3


def run(
    halves: Iterable[str],
) -> tuple[dict[str, list[float]], dict[str, list[float]], Any, Any]:
    """Trains on each of these devices in turn: the seconds and losses of each, epoch by epoch, and what it
    was done with: the model and the dataset."""
    import tensorflow as tf

    inputs = np.random.random((EXAMPLES, 128)).astype("float32")
    labels = np.random.randint(0, 2, (EXAMPLES, 1))
    dataset = tf.data.Dataset.from_tensor_slices((inputs, labels))
    dataset = dataset.shuffle(EXAMPLES).batch(BATCH).prefetch(tf.data.AUTOTUNE)

    model = tf.keras.Sequential(
        [
            tf.keras.Input((128,)),
            tf.keras.layers.Dense(256, activation="relu"),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    # Beside a GPU Keras 3 compiles steps with XLA, Keras 2 updates; that of the question compiled nothing.
    # What is compiled can't read weights of another device, so that the CPU's half would fail.
    model.compile(optimizer="adam", loss="binary_crossentropy", jit_compile=False)
    model.optimizer.jit_compile = False

    class Timer(tf.keras.callbacks.Callback):  # type: ignore[misc]
        """Keeps what the progress bar shows."""

        def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002  Keras's words
            self.seconds: list[float] = []

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.start = time.perf_counter()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.seconds.append(time.perf_counter() - self.start)

    seconds, losses = {}, {}
    for half in halves:
        timer = Timer()
        with tf.device(half):
            history = model.fit(dataset, epochs=EPOCHS, callbacks=[timer])
        seconds[half] = timer.seconds
        losses[half] = history.history["loss"]

    return seconds, losses, model, dataset
