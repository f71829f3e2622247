"""What is watched and changed of a script's training, in TensorFlow itself: small scripts as they are."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.processes

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

SCRIPTS: dict[str, str] = {}

SCRIPTS["fit"] = """\
class Slow(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None): print(1.5)
class Each(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None): print(2.5)
    def on_test_end(self, logs=None): print(3.5)
stop = tf.keras.callbacks.EarlyStopping("loss", patience=99)
m.fit(x, y, epochs=9, verbose=0, validation_split=0.5, callbacks=[Slow(), Each(), stop])
"""

SCRIPTS["plain"] = "make(run_eagerly=False).fit(x, y, epochs=99, batch_size=8, verbose=0)\n"
SCRIPTS["eager"] = "make(run_eagerly=True).fit(x, y, epochs=99, verbose=0)\n"
SCRIPTS["functions"] = """\
tf.config.run_functions_eagerly(True)
graph = tf.function(step)
for i in range(99): graph(x[:32], y[:32])
"""
SCRIPTS["tape"] = """\
for i in range(99):
    with tf.device("/CPU:0"): step(x[:32], y[:32])
    if i % 2 == 0: print(1.5)
"""
SCRIPTS["bare"] = """\
for i in range(99):
    with tf.GradientTape() as tape: loss = tf.reduce_mean((m(x[:32], training=True) - y[:32]) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, m.trainable_variables), m.trainable_variables))
"""
SCRIPTS["acts"] = """\
net, grown = tf.Variable(tf.ones((4, 1))), make()
for i in range(99):
    rows = x[:32] * np.float32(1 + i % 2)
    for row in rows: action = float(tf.reduce_sum(row[None] @ net)) + float(tf.reduce_sum(m(row[None])))
    b = tf.constant(action) * y[:32]
    with tf.GradientTape() as tape: loss = tf.reduce_mean((m(rows) - b) ** 2)
    grads = tape.gradient(loss, m.trainable_variables)
    opt.apply_gradients(zip(grads, m.trainable_variables))
"""
SCRIPTS["module"] = """\
net = tf.Variable(tf.ones((4, 1)))
for i in range(99):
    rows = x[:32] * np.float32(1 + i % 2)
    b = tf.matmul(rows, net)
    with tf.GradientTape() as tape: loss = tf.reduce_mean((tf.matmul(rows, net) - b) ** 2)
    opt.apply_gradients([(tape.gradient(loss, net), net)])
"""
SCRIPTS["nested"] = """\
def slope():
    with tf.GradientTape() as tape: tape.watch(points); height = m(points) ** 2
    return tape.gradient(height, points)
def flatten():
    with tf.GradientTape() as tape: loss = tf.reduce_mean(slope() ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, m.trainable_variables), m.trainable_variables))
points = tf.constant(x[:32])
for i in range(99): flatten(); print(6.5)
"""
SCRIPTS["two"] = """\
other, opt2 = make(), tf.keras.optimizers.Adam()
def both(a, b):
    with tf.GradientTape() as first, tf.GradientTape() as second:
        losses = [tf.reduce_mean((model(a) - b) ** 2) for model in (m, other)]
    grads = first.gradient(losses[0], m.trainable_variables)
    grads2 = second.gradient(losses[1], other.trainable_variables)
    opt.apply_gradients(zip(grads, m.trainable_variables))
    opt2.apply_gradients(zip(grads2, other.trainable_variables))
for i in range(99): both(x[:32], y[:32]); print(6.5)
"""
SCRIPTS["by hand"] = """\
def update(a, b):
    with tf.GradientTape() as tape: loss = tf.reduce_mean((m(a) - b) ** 2)
    for v, g in zip(m.trainable_variables, tape.gradient(loss, m.trainable_variables)): v.assign_sub(0.01 * g)
for i in range(99): update(x[:32], y[:32]); print(6.5)
"""
SCRIPTS["numbers"] = """\
@tf.function
def weighted(a, b, w): print(4.5); return step(a, b) * w
for i in range(99): weighted(x[:32], y[:32], 1.0 / (i + 1))
"""
SCRIPTS["draws"] = """\
@tf.function
def noisy(a, b): return step(a + tf.random.normal(a.shape), b)
for i in range(99): noisy(x[:32], y[:32])
"""
SCRIPTS["python"] = """\
def make(i): return np.ones(x[:32].shape, "float32")
def look(i): return tf.ensure_shape(tf.py_function(make, [i], tf.float32), x[:32].shape), y[:32]
for a, b in tf.data.Dataset.range(999).map(look): step(a, b)
"""
SCRIPTS["shapes"] = """\
@tf.function
def any_shape(a, b): print(4.5); return step(a, b)
for i in range(99): any_shape(x[:9 + i], y[:9 + i])
"""
SCRIPTS["anew"] = """\
opt.build(m.trainable_variables)
for i in range(99): tf.function(step)(x[:32], y[:32])
"""
SCRIPTS["dataset"] = """\
ds = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(4)
for a, b in ds: step(a, b)
"""
SCRIPTS["batches"] = """\
for i in range(99):
    m.fit(x[:32], y[:32], verbose=0)
    m.predict(x[:2], verbose=0)
    m.evaluate(x[:2], y[:2], verbose=0)
"""
SCRIPTS["folds"] = """\
for fold in range(99):
    print(float(make().fit(x[:128], y[:128], verbose=0).history["loss"][0]))
"""

TRIES: dict[str, list[str]] = {
    "fit": [
        "callbacks:Slow:batch:5",
        "callbacks:Each:epoch:2",
        "callbacks:Each,Slow",
        "validation:2",
    ],
    "plain": ["steps_per_execution:2", "batch:4", "mixed_precision"],
    "eager": ["eager:compile"],
    "functions": ["eager:functions"],
    "tape": ["eager:7", "statement:13:5", "placement"],
    "bare": ["eager:model", "convert"],
    "acts": [],
    "module": [],
    "nested": ["eager:14"],
    "two": ["eager:12"],
    "by hand": ["eager:11"],
    "numbers": ["retrace:weighted:number:w", "jit:11"],
    "draws": [],
    "python": [],
    "shapes": ["retrace:any_shape:shape"],
    "anew": ["retrace:step:anew"],
    "dataset": ["batch:11:8", "copies"],
    "batches": ["on_batch:fit", "on_batch:predict", "on_batch:evaluate"],
    "folds": ["reuse"],
}


DRIVER = """\
import json, sys
from pathlib import Path
from suite import codec
from suite.worker.why import server
from suite.worker.why.run import Place, Task
def send(record, **fields): print(json.dumps(codec.plain({"record": record, **fields})), flush=True)
for name, tasks in json.load(sys.stdin).items():
    place = Place(folder=Path(name).resolve(), script="train.py", seconds=0.0)
    server.serve(send, place, [Task(**task) for task in tasks], {"script": name})
"""
"""All scripts in one process, which imports TensorFlow once."""


def make_task(name: str, number: int) -> dict[str, Any]:
    intervention, _, target = name.partition(":")
    tries = [] if name == "base" else [{"intervention": intervention, "target": target}]
    identity = f"why.{name}/run={number}"
    return {"id": identity, "window": [4, 24, -1], "watch": not tries, "tries": tries}


@pytest.fixture(scope="module")
def runs(
    tensorflow_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    """By script and try (``base``: as it is) the evidence of its run, what was printed and what watched."""
    folder = tmp_path_factory.mktemp("scripts")
    tasks = {}
    for script, body in SCRIPTS.items():
        (folder / script).mkdir()
        (folder / script / "train.py").write_text(BEGIN + body)
        tasks[script] = [make_task(name, at) for at, name in enumerate(["base", *TRIES[script]], 1)]
    done = subprocess.run(
        [tensorflow_python, "-c", DRIVER],
        input=json.dumps(tasks),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={
            **os.environ,
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "CUDA_VISIBLE_DEVICES": "-1",
            "PYTHONPATH": str(ROOT),
        },
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, Any]] = {script: {} for script in SCRIPTS}
    facts: dict[str, Any] = {}
    for record in map(json.loads, done.stdout.splitlines()):
        facts = record.get("facts", facts)
        if record["record"] == "cell":
            notes = json.loads(facts[f"notes.{record['cell']['id']}"])
            found[facts["script"]][record["cell"]["case"]] = {**record["cell"], **notes}
    return found


EXACT = [
    *(("fit", name) for name in TRIES["fit"]),
    *(("tape", name) for name in TRIES["tape"][1:]),
    *((body, name) for body in ("shapes", "anew") for name in TRIES[body]),
    *(("batches", name) for name in TRIES["batches"][1:]),
    *(("bare", "convert"), ("dataset", "copies")),
]
ROUNDED = [
    *((body, TRIES[body][0]) for body in ("eager", "functions", "tape", "bare", "nested", "two")),
    *(("numbers", name) for name in TRIES["numbers"]),
    ("plain", "steps_per_execution:2"),
    # On some processors its sums have another order: 3 parts in 10¹² were seen.
    ("batches", "on_batch:fit"),
]
OTHERWISE = [("plain", "batch:4"), ("plain", "mixed_precision"), ("dataset", "batch:11:8")]


def find(runs: dict[str, Any], script: str, name: str) -> dict[str, Any]:
    """The evidence of a run with a change, which took effect."""
    cell: dict[str, Any] = runs[script][name]
    assert cell["outcome"] == "measured", cell["reason"]
    assert cell["evidence"]["applied"] > 0
    found: dict[str, Any] = cell["evidence"]
    return found


@pytest.mark.parametrize(
    ("script", "name", "tolerance"),
    [*((*each, 0.0) for each in EXACT), *((*each, 3e-5) for each in ROUNDED)],
)
def test_a_change_takes_effect_and_leaves_the_training_as_it_is(
    runs: dict[str, Any], script: str, name: str, tolerance: float
) -> None:
    base, changed = runs[script]["base"]["evidence"], find(runs, script, name)
    steps = [each for each in (3, 10) if f"norm.{each}" in changed]
    assert steps or name == "steps_per_execution:2"
    for each in steps:
        assert changed[f"norm.{each}"] == pytest.approx(base[f"norm.{each}"], rel=tolerance, abs=0)


@pytest.mark.parametrize(("script", "updates"), [("nested", 1), ("two", 2), ("by hand", 1)])
def test_a_step_is_an_update_in_a_graph_or_not(
    runs: dict[str, Any], script: str, updates: int
) -> None:
    for name in ("base", TRIES[script][0]):
        # The window's last step ends the run before its turn prints; without an optimizer the next turn does.
        assert 24 / updates - runs[script][name]["printed"].count(6.5) in {0, 1}


@pytest.mark.parametrize(("script", "name"), OTHERWISE)
def test_what_trains_otherwise_does_so(runs: dict[str, Any], script: str, name: str) -> None:
    base, changed = runs[script]["base"]["evidence"], find(runs, script, name)
    assert changed["norm.3"] != base["norm.3"]


@pytest.mark.parametrize(
    ("script", "name", "number", "counts"),
    [
        # 24 steps and some: the last ones of the window's last turn may or may not be in it.
        ("fit", "callbacks:Slow:batch:5", 1.5, (20, 5)),
        ("fit", "callbacks:Each,Slow", 1.5, (20, 0)),
        ("fit", "callbacks:Each:epoch:2", 2.5, (4, 2)),
        ("fit", "validation:2", 3.5, (4, 2)),
        ("tape", "statement:13:5", 1.5, (12, 3)),
        ("numbers", "retrace:weighted:number:w", 4.5, (24, 2)),
        ("shapes", "retrace:any_shape:shape", 4.5, (24, 3)),
    ],
)
def test_what_is_thinned_runs_more_rarely(
    runs: dict[str, Any], script: str, name: str, number: float, counts: tuple[int, int]
) -> None:
    before, after = counts
    assert runs[script]["base"]["printed"].count(number) >= before
    assert runs[script][name]["printed"].count(number) <= after


def test_a_model_that_is_trained_by_another_ones_functions_is_trained_as_before(
    runs: dict[str, Any],
) -> None:
    assert find(runs, "folds", "reuse")["norm.3"] == runs["folds"]["base"]["evidence"]["norm.3"]
    before, after = (runs["folds"][name]["printed"] for name in ("base", "reuse"))
    assert after[:5] == pytest.approx(before[:5], rel=3e-5)
    assert len(set(before[:5])) == 5


def test_callbacks_and_validation_are_seen_with_their_calls(runs: dict[str, Any]) -> None:
    seen = runs["fit"]["base"]["watched"]
    callbacks = {(each["name"], each["by_batch"]): each for each in seen["callbacks"]}
    assert {key: (each["line"], each["steers"]) for key, each in callbacks.items()} == {
        ("Slow", True): (12, False),
        ("Each", False): (14, False),
        ("EarlyStopping", False): (17, True),
    }
    assert callbacks["Slow", True]["method"] == "Slow.on_train_batch_end"
    assert callbacks["Slow", True]["calls"] > 15 > callbacks["Each", False]["calls"] > 1
    assert (seen["counts"]["epoch_steps"], seen["counts"]["batch"]) == (5, 32)
    assert seen["counts"]["validation_s"] > 0
    assert seen["lines"]["fit"] == 17
    assert seen["settings"]["run_eagerly"] == "False"


@pytest.mark.parametrize(
    ("script", "reason", "line"),
    [
        ("numbers", "number: w", 13),
        ("shapes", "shape", 11),
        ("anew", "anew", 7),
    ],
)
def test_retraces_are_seen_with_their_reason(
    runs: dict[str, Any], script: str, reason: str, line: int
) -> None:
    (seen,) = (each for each in runs[script]["base"]["watched"]["retraces"] if each["reason"])
    assert (seen["reason"], seen["line"]) == (reason, line)


def test_lines_of_what_could_be_changed_are_seen(runs: dict[str, Any]) -> None:
    watched = {script: found["base"]["watched"] for script, found in runs.items()}
    assert watched["nested"]["lines"]["tape.function"] == 14
    assert (watched["tape"]["clock"], watched["tape"]["lines"]["tape.function"]) == ("tape", 7)
    assert watched["tape"]["settings"]["device"] == "/CPU:0"
    assert "tape.function" not in watched["bare"]["lines"]
    assert watched["functions"]["settings"]["run_functions_eagerly"] == "True"
    assert watched["eager"]["settings"]["run_eagerly"] == "True"
    assert watched["numbers"]["lines"]["step.function"] == 11
    # Arrays that come in by a thread of TensorFlow's are no line's.
    lines = [line for each in watched.values() for line in each["lines"].values()]
    assert all(isinstance(line, int) for line in lines)
    random = {script for script, each in watched.items() if "random" in each["settings"]}
    assert random == {"draws"}
    assert watched["dataset"]["counts"]["batch:11"] == 4
    assert watched["folds"]["counts"]["train_functions"] > 4
    singles = watched["batches"]["counts"]
    assert min(singles[f"single.{method}"] for method in ("fit", "predict", "evaluate")) > 15
    statements = {each["line"]: each["is_step"] for each in watched["tape"]["statements"]}
    assert statements == {12: True, 13: False}
    # The line at which layers take longest is that of the loop, not that of the tape.
    assert watched["acts"]["lines"]["layer"] == 14
    # A network of no layers is no data, either.
    made = {each["line"]: each["makes"] for each in watched["module"]["statements"]}
    assert (made[13], made[14]) == (True, False)
