"""The script of asked.dropout: ten layers of 128 with dropout by `Model.fit`, compiled by XLA, on the device
that TensorFlow chooses by itself.

What it does as people do: a model that knows its inputs when it sees them, NumPy's 64 bits, a metric, and the
progress bar.  Of its 20 epochs it makes the first 2; whoever posted it timed the whole of ``fit``.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np

EXAMPLES = 250_000
BATCH = 500
EPOCHS = 2


def run() -> tuple[list[float], list[float], Any]:
    """Trains: the seconds from one epoch's end to the next, the first from the call on; the losses of the
    epochs, and the model."""
    import tensorflow as tf

    inputs = np.random.normal(size=(EXAMPLES, 4))
    labels = np.random.choice([0.0, 1.0], size=EXAMPLES)

    model = tf.keras.Sequential()
    for _ in range(10):
        model.add(tf.keras.layers.Dense(128, activation="relu"))
        model.add(tf.keras.layers.Dropout(0.1))
    model.add(tf.keras.layers.Dense(1, activation="sigmoid"))

    model.compile(
        optimizer=tf.keras.optimizers.Adam(0.001),
        loss=tf.keras.losses.BinaryCrossentropy(label_smoothing=0.05),
        metrics=[tf.keras.metrics.AUC(name="auc")],
        jit_compile=True,
    )

    class Timer(tf.keras.callbacks.Callback):  # type: ignore[misc]
        """Notes when each epoch ends."""

        def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002  Keras's words
            self.ends: list[float] = []

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002
            self.ends.append(time.perf_counter())

    timer = Timer()
    start = time.perf_counter()
    history = model.fit(x=inputs, y=labels, batch_size=BATCH, epochs=EPOCHS, callbacks=[timer])

    ends = itertools.pairwise([start, *timer.ends])
    return [end - before for before, end in ends], history.history["loss"], model
