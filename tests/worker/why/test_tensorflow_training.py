"""What is watched and changed of a script's training, in TensorFlow itself: small scripts as they are."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PYTHONS = sorted(ROOT.glob(".venv/arms/cpu-*/bin/python"))

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        not PYTHONS, reason="no environment with TensorFlow: .venv/arms/cpu-* is empty"
    ),
]

BEGIN = """\
import numpy as np, tensorflow as tf
x = np.random.default_rng(0).normal(size=(320, 4)).astype("float32"); y = x.sum(1, keepdims=True)
def make(**more):
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
    model.compile("adam", "mse", **more); return model
opt, m = tf.keras.optimizers.Adam(), make()
def step(a, b):
    with tf.GradientTape() as tape: loss = tf.reduce_mean((m(a, training=True) - b) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, m.trainable_variables), m.trainable_variables))
    return loss
"""

FIT = """\
class Slow(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None): print(1.5)
class Each(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): print(2.5)
    def on_test_end(self, logs=None): print(3.5)
stop = tf.keras.callbacks.EarlyStopping("loss", patience=99)
m.fit(x, y, epochs=9, verbose=0, validation_split=0.5, callbacks=[Slow(), Each(), stop])
"""

PLAIN = "make(run_eagerly=False).fit(x, y, epochs=99, batch_size=8, verbose=0)\n"
EAGER = "make(run_eagerly=True).fit(x, y, epochs=99, verbose=0)\n"
FUNCTIONS = """\
tf.config.run_functions_eagerly(True)
graph = tf.function(step)
for i in range(99): graph(x[:32], y[:32])
"""
TAPE = """\
for i in range(99):
    with tf.device("/CPU:0"): step(x[:32], y[:32])
    if i % 2 == 0: print(1.5)
"""
BARE = """\
for i in range(99):
    with tf.GradientTape() as tape: loss = tf.reduce_mean((m(x[:32], training=True) - y[:32]) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, m.trainable_variables), m.trainable_variables))
"""
NUMBERS = """\
@tf.function
def weighted(a, b, w): print(4.5); return step(a, b) * w
for i in range(99): weighted(x[:32], y[:32], 1.0 / (i + 1))
"""
SHAPES = """\
@tf.function
def any_shape(a, b): print(4.5); return step(a, b)
for i in range(99): any_shape(x[:9 + i], y[:9 + i])
"""
ANEW = """\
opt.build(m.trainable_variables)
for i in range(99): tf.function(step)(x[:32], y[:32])
"""
DATASET = """\
ds = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(4)
for a, b in ds: step(a, b)
"""
BATCHES = """\
for i in range(99):
    m.fit(x[:32], y[:32], verbose=0)
    m.predict(x[:2], verbose=0)
    m.evaluate(x[:2], y[:2], verbose=0)
"""
FOLDS = """\
for fold in range(99): make().fit(x[:128], y[:128], verbose=0)
"""

TRIES: dict[str, list[str]] = {
    FIT: [
        "callbacks@Slow:batch:5",
        "callbacks@Each:epoch:2",
        "callbacks@Each,Slow",
        "validation@2",
    ],
    PLAIN: ["steps_per_execution@2", "jit@True", "batch@4", "mixed_precision"],
    EAGER: ["eager@compile"],
    FUNCTIONS: ["eager@functions"],
    TAPE: ["eager@7", "statement@13:5", "placement"],
    BARE: ["eager@model", "convert"],
    NUMBERS: ["retrace@weighted:number:w", "jit@11"],
    SHAPES: ["retrace@any_shape:shape"],
    ANEW: ["retrace@step:anew"],
    DATASET: ["batch@11:8", "copies@/CPU:0"],
    BATCHES: ["on_batch@fit", "on_batch@predict", "on_batch@evaluate"],
    FOLDS: ["reuse"],
}


@cache
def run(body: str) -> dict[str, dict[str, Any]]:
    """The evidence of each run of a script, what it printed and what was watched, by try; ``base``: as it is."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(BEGIN + body)
        tasks = []
        for number, name in enumerate(["base", *TRIES[body]], 1):
            intervention, _, target = name.partition("@")
            change = {"intervention": intervention, "target": target}
            tasks.append(
                {
                    "id": f"why.{name}/run={number}",
                    "window": [4, 24, -1],
                    "watch": name == "base",
                    "tries": [] if name == "base" else [change],
                }
            )
        words = ("why", "--script", "train.py", "--folder", folder, "--runs", json.dumps(tasks))
        done = subprocess.run(
            [PYTHONS[0], "-m", "suite.worker", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"},
        )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    cells = {each["cell"]["case"]: each["cell"] for each in records if each["record"] == "cell"}
    facts = next(each["facts"] for each in reversed(records) if each["record"] == "facts")
    assert set(cells) == {"base", *TRIES[body]}, done.stderr[-2000:]
    found = {}
    for name, cell in cells.items():
        assert cell["outcome"] == "measured", (name, cell["reason"])
        notes = json.loads(facts[f"notes.{cell['id']}"])
        found[name] = {**cell["evidence"], "printed": notes["printed"], "watched": notes["watched"]}
    return found


def watched(body: str) -> dict[str, Any]:
    seen: dict[str, Any] = run(body)["base"]["watched"]
    return seen


EXACT = [
    *((FIT, name) for name in TRIES[FIT]),
    *((TAPE, name) for name in TRIES[TAPE][1:]),
    *((body, name) for body in (SHAPES, ANEW, BATCHES) for name in TRIES[body]),
    *((BARE, "convert"), (DATASET, "copies@/CPU:0")),
]
ROUNDED = [
    *((body, TRIES[body][0]) for body in (EAGER, FUNCTIONS, TAPE, BARE, FOLDS)),
    *((NUMBERS, name) for name in TRIES[NUMBERS]),
    *((PLAIN, name) for name in TRIES[PLAIN][:2]),
]
OTHERWISE = [(PLAIN, "batch@4"), (PLAIN, "mixed_precision"), (DATASET, "batch@11:8")]


@pytest.mark.parametrize(
    ("body", "name", "tolerance"),
    [*((*each, 0.0) for each in EXACT), *((*each, 3e-5) for each in ROUNDED)],
)
def test_a_change_takes_effect_and_leaves_the_training_as_it_is(
    body: str, name: str, tolerance: float
) -> None:
    base, changed = run(body)["base"], run(body)[name]
    assert changed["applied"] > 0
    steps = [each for each in (3, 10) if f"norm.{each}" in changed]
    assert steps or name == "steps_per_execution@2"
    for each in steps:
        assert changed[f"norm.{each}"] == pytest.approx(base[f"norm.{each}"], rel=tolerance, abs=0)


@pytest.mark.parametrize(("body", "name"), OTHERWISE)
def test_what_trains_otherwise_does_so(body: str, name: str) -> None:
    base, changed = run(body)["base"], run(body)[name]
    assert changed["applied"] > 0
    assert changed["norm.3"] != base["norm.3"]


@pytest.mark.parametrize(
    ("body", "name", "number", "before", "after"),
    [
        # 24 steps and some: the last ones of the window's last turn may or may not be in it.
        (FIT, "callbacks@Slow:batch:5", 1.5, 20, 5),
        (FIT, "callbacks@Each,Slow", 1.5, 20, 0),
        (FIT, "callbacks@Each:epoch:2", 2.5, 4, 2),
        (FIT, "validation@2", 3.5, 4, 2),
        (TAPE, "statement@13:5", 1.5, 12, 3),
        (NUMBERS, "retrace@weighted:number:w", 4.5, 24, 2),
        (SHAPES, "retrace@any_shape:shape", 4.5, 24, 3),
    ],
)
def test_what_is_thinned_runs_more_rarely(
    body: str, name: str, number: float, before: int, after: int
) -> None:
    runs = run(body)
    assert runs["base"]["printed"].count(number) >= before
    assert runs[name]["printed"].count(number) <= after


def test_callbacks_and_validation_are_seen_with_their_calls() -> None:
    seen = watched(FIT)
    callbacks = {(each["name"], each["by_batch"]): each for each in seen["callbacks"]}
    assert {key: (each["line"], each["steers"]) for key, each in callbacks.items()} == {
        ("Slow", True): (12, False),
        ("Each", False): (14, False),
        ("EarlyStopping", False): (17, True),
    }
    assert callbacks["Slow", True]["method"] == "on_train_batch_end"
    assert callbacks["Slow", True]["calls"] > 15 > callbacks["Each", False]["calls"] > 1
    assert (seen["counts"]["epoch_steps"], seen["counts"]["batch"]) == (5, 32)
    assert seen["counts"]["validation_s"] > 0
    assert seen["lines"]["fit"] == 17
    assert seen["settings"]["run_eagerly"] == "False"


@pytest.mark.parametrize(
    ("body", "reason", "line"),
    [
        (NUMBERS, "number: w is ", 13),
        (SHAPES, "shape: a is ", 11),
        (ANEW, "anew: ", 7),
    ],
)
def test_retraces_are_seen_with_their_reason(body: str, reason: str, line: int) -> None:
    (seen,) = (each for each in watched(body)["retraces"] if each["reason"])
    assert seen["reason"].startswith(reason)
    assert (seen["line"], seen["traces"] > 20) == (line, True)


def test_lines_of_what_could_be_changed_are_seen() -> None:
    assert (watched(TAPE)["clock"], watched(TAPE)["lines"]["tape.function"]) == ("tape", 7)
    assert watched(TAPE)["settings"]["device"] == "/CPU:0"
    assert "tape.function" not in watched(BARE)["lines"]
    assert watched(FUNCTIONS)["settings"]["run_functions_eagerly"] == "True"
    assert watched(EAGER)["settings"]["run_eagerly"] == "True"
    assert watched(NUMBERS)["lines"]["step.function"] == 11
    assert watched(DATASET)["counts"]["batch@11"] == 4
    assert watched(FOLDS)["counts"]["train_functions"] > 4
    singles = watched(BATCHES)["counts"]
    assert min(singles[f"single.{method}"] for method in ("fit", "predict", "evaluate")) > 15
    statements = {each["line"]: each["is_step"] for each in watched(TAPE)["statements"]}
    assert statements == {12: True, 13: False}
