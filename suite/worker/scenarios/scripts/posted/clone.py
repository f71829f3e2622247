"""The script of asked.clone: network B cloned once under `tf.device`, device after device."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any


def run(halves: Iterable[str]) -> tuple[dict[str, float], dict[str, Any], Any]:
    """Clones on each of these devices in turn: the seconds and the clone of each, and what was cloned."""
    import tensorflow as tf

    model = tf.keras.Sequential(
        [
            tf.keras.Input((100,)),
            tf.keras.layers.Dense(128, activation="relu"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )

    seconds, clones = {}, {}
    for half in halves:
        with tf.device(half):
            start = time.perf_counter()
            clones[half] = tf.keras.models.clone_model(model)
            seconds[half] = time.perf_counter() - start

    return seconds, clones, model
