"""What is watched and changed of a script's data, in TensorFlow itself: three small scripts as they are."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.processes

BEGIN = """\
import numpy as np, tensorflow as tf
x = np.random.default_rng(0).normal(size=(320, 4)).astype("float32")
model = tf.keras.Sequential([tf.keras.layers.Input((4,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
"""

DATASET = """\
def twice(a): return a * 2
def flip(a): return a * np.random.choice([np.float32(-1), np.float32(1)])
def call(f, a):
    b = tf.numpy_function(f, [a], tf.float32); b.set_shape([4]); return b
ds = tf.data.Dataset.from_tensor_slices(x).shuffle(64)
ds = ds.map(lambda a: call(twice, a))
ds = ds.map(lambda a: a + tf.random.normal([4])).map(lambda a: call(flip, a))
ds = ds.map(lambda a: (a, tf.reduce_sum(a))).batch(32)
model.fit(ds, epochs=99, verbose=0)
"""

LOOP = """\
class Scaled(tf.keras.layers.Layer):
    def call(self, a):
        b = tf.numpy_function(scale, [a], tf.float32); b.set_shape(a.shape); return b
def scale(a): return a / np.abs(a).max()
def batches():
    for i in range(0, 320, 32): yield x[i:i + 32], x[i:i + 32].sum(1)
model = tf.keras.Sequential([tf.keras.layers.Input((4,)), Scaled(), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
for epoch in range(99):
    for i, (a, b) in enumerate(batches()):
        model.train_on_batch(a, b)
"""

SEQUENCE = """\
class Batches(tf.keras.utils.PyDataset):
    def __len__(self): return 10
    def __getitem__(self, i): return x[i * 32:i * 32 + 32], x[i * 32:i * 32 + 32].sum(1)
def examples():
    for row in x: yield row, row.sum()
spec = tf.TensorSpec((4,), tf.float32), tf.TensorSpec((), tf.float32)
held = tf.data.Dataset.from_generator(examples, output_signature=spec).batch(32)
model.fit(Batches(), epochs=99, verbose=0, validation_data=held)
"""

TRIES: dict[str, list[tuple[str, str]]] = {
    DATASET: [
        ("memory", ""),
        ("cache", "10.map,9.shuffle"),
        ("parallel", "10.map,11.map,11.map.2,12.map;12.batch"),
        ("python_data", ""),
        ("python_model", ""),
    ],
    LOOP: [("memory", "14"), ("python_model", ""), ("python_data", "")],
    SEQUENCE: [
        ("memory", ""),
        ("cache", "11.from_generator"),
        ("workers", ""),
    ],
}


@cache
def _run(python: Path, body: str) -> dict[str, Any]:
    """The evidence of each run of a script and what was watched, by intervention; ``base``: as it is."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(BEGIN + body)
        tasks = [
            {
                "id": f"why.{name}/run={number}",
                "window": [3, 50, -1],
                "watch": True,
                "tries": [] if name == "base" else [{"intervention": name, "target": target}],
            }
            for number, (name, target) in enumerate([("base", ""), *TRIES[body]], 1)
        ]
        words = (
            "why",
            "--script",
            "train.py",
            "--folder",
            folder,
            "--seconds",
            "0",
            "--runs",
            json.dumps(tasks),
        )
        done = subprocess.run(
            [python, "-m", "suite.worker", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": "-1"},
        )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    cells = {each["cell"]["case"]: each["cell"] for each in records if each["record"] == "cell"}
    notes = next(each["facts"] for each in reversed(records) if each["record"] == "facts")
    assert set(cells) == {"base", *(name for name, _ in TRIES[body])}, done.stderr[-2000:]
    found = {}
    for cell in cells.values():
        assert cell["outcome"] == "measured", cell["reason"]
        watched = json.loads(notes[f"notes.{cell['id']}"])["watched"]
        found[cell["case"]] = {**cell["evidence"], **watched}
    return found


Run = Callable[[str], dict[str, Any]]


@pytest.fixture
def run(tensorflow_python: Path) -> Run:
    return partial(_run, tensorflow_python)


def norms(found: dict[str, Any]) -> list[float]:
    return [found[f"norm.{steps}"] for steps in (3, 10, 20)]


def calls(found: dict[str, Any]) -> dict[str, tuple[str, int | None, bool, int]]:
    return {
        each["name"]: (each["kind"], each["line"], each["of_data"], each["calls"])
        for each in found["python_calls"]
    }


def test_the_chain_of_a_data_set_is_seen_and_what_is_random_in_it(run: Run) -> None:
    base = run(DATASET)["base"]
    assert [(stage["key"], stage["random"], stage["parallel"]) for stage in base["stages"]] == [
        ("9.from_tensor_slices", False, False),
        ("9.shuffle", True, False),
        ("10.map", False, False),
        ("11.map", True, False),
        ("11.map.2", True, False),
        ("12.map", False, False),
        ("12.batch", False, False),
    ]
    assert base["stages"][2]["bytes"] == 320 * 4 * 4
    assert {name: each[:3] for name, each in calls(base).items()} == {
        "twice": ("numpy_function", 5, True),
        "flip": ("numpy_function", 6, True),
    }


def test_python_in_the_model_and_around_the_step_is_told_from_that_of_the_data(run: Run) -> None:
    assert {name: each[:3] for name, each in calls(run(LOOP)["base"]).items()} == {
        "scale": ("numpy_function", 8, False),
        "enumerate": ("for", 14, True),
    }
    base = run(SEQUENCE)["base"]
    assert {name: each[:3] for name, each in calls(base).items()} == {
        "Batches": ("generator", 12, True),
        "examples": ("from_generator", 8, True),
    }
    assert base["settings"]["workers"] == "1 threads"


def test_a_cache_makes_each_element_once_and_leaves_the_training_as_it_is(run: Run) -> None:
    found = run(DATASET)
    assert calls(found["base"])["twice"][3] > 3 * 320
    assert calls(found["cache"])["twice"][3] <= 320 + 64
    assert calls(found["cache"])["flip"][3] > 3 * 320
    assert found["cache"]["applied"] == 1
    assert norms(found["cache"]) == norms(found["base"])


def test_maps_are_told_to_be_parallel(run: Run) -> None:
    found = run(DATASET)["parallel"]
    maps = [stage for stage in found["stages"] if stage["method"] == "map"]
    assert len(maps) == 4
    assert all(stage["parallel"] for stage in maps)
    assert found["applied"] == 5


@pytest.mark.parametrize(
    ("body", "function", "most"),
    [(DATASET, "twice", 52 * 32 + 64), (LOOP, "enumerate", 11), (SEQUENCE, "Batches", 2 * 11)],
)
def test_batches_from_memory_are_made_once(run: Run, body: str, function: str, most: int) -> None:
    found = run(body)["memory"]
    assert found["applied"] > 0
    assert calls(found)[function][3] <= most


def test_workers_make_the_same_batches_in_the_same_order(run: Run) -> None:
    found = run(SEQUENCE)
    assert found["workers"]["applied"] == 1
    assert found["workers"]["settings"]["workers"] == "4 threads"
    assert norms(found["workers"]) == norms(found["base"])


def test_functions_are_answered_from_memory_where_they_are_meant(run: Run) -> None:
    dataset, loop = run(DATASET), run(LOOP)
    # Each function is called 16 times, and its results stand for all others.
    told = calls(dataset["python_data"])
    assert dataset["python_data"]["applied"] == sum(each[3] - 16 for each in told.values())
    assert norms(dataset["python_data"]) != norms(dataset["base"])
    assert loop["python_model"]["applied"] == calls(loop["python_model"])["scale"][3] - 16
    # What did not take effect says so.
    assert dataset["python_model"]["applied"] == loop["python_data"]["applied"] == 0
    for found, name in ((dataset, "python_model"), (loop, "python_data")):
        assert norms(found[name]) == norms(found["base"])
