"""What changes made by hand give to the scripts of tests/why/scripts: the truth that `make why` is held to.

    python -m tests.why.truth [NAME …] [--pairs 3] [--write]

Its clock is its own: a script as it stands and the same with the text of a fix put in run in turns, each in
a process forked from one that has imported TensorFlow; the batches of ``fit`` and ``train_on_batch`` are
counted, or passes over the line that the table names, and what lies between two counts is timed: by CPU
seconds of the process and by wall time.  ``--write`` puts what was measured into truth.toml.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, NoReturn

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

SCRIPTS = Path(__file__).parent / "scripts"
TABLE = SCRIPTS / "truth.toml"
LIMIT_S = 240
NORMS = (3, 10, 20)
"""After how many steps the norms of all weights are compared."""


def read_table() -> dict[str, dict[str, Any]]:
    """The table, each fix with what it has of its script's: ``step``, ``window``, ``scale``."""
    table = tomllib.loads(TABLE.read_text())
    for name, entry in table.items():
        entry["name"] = name
        entry["text"] = (SCRIPTS / f"{name}.py").read_text()
        for fix in entry.get("fix", []):
            fix["text"] = edited(entry["text"], fix["edits"])
            fix["window"] = fix.get("window", entry["window"])
            fix["step"] = fix.get("step", entry.get("step"))
    return table


def edited(text: str, edits: list[list[str]]) -> str:
    for old, new in edits:
        if old not in text:
            raise ValueError(f"{old!r} is not in the script")
        text = text.replace(old, new)
    return text


def lines_of(entry: dict[str, Any]) -> list[int]:
    """The lines of the script, from 1, that may be named for its cause."""
    lines = entry["text"].splitlines()
    return [
        number for number, line in enumerate(lines, 1) if any(part in line for part in entry["at"])
    ]


# --- A run, in its own process -------------------------------------------------------------------------


class Clock:
    """Counts steps, and at the window's end sends what the steps took and ends the process."""

    def __init__(self, window: list[int], out: int) -> None:
        self.begin, self.end = window
        self.out = out
        self.steps = 0
        self.began: tuple[int, float, float] | None = None
        self.norms: dict[int, float] = {}
        self.variables: dict[int, Any] = {}

    def step(self, count: int = 1) -> None:
        self.steps += count
        wall, cpu = time.perf_counter(), time.process_time()
        if self.began and self.steps >= self.end:
            steps = self.steps - self.began[0]
            self.send(
                wall=(wall - self.began[1]) / steps,
                cpu=(cpu - self.began[2]) / steps,
                norms=self.norms,
            )
        for at in NORMS:
            if self.steps == at:
                squares = [
                    float((v.numpy().astype(float) ** 2).sum()) for v in self.variables.values()
                ]
                self.norms[at] = sum(squares) ** 0.5
        if self.began is None:
            if self.steps >= self.begin:
                self.began = (self.steps, time.perf_counter(), time.process_time())
        else:  # what the norms took is not the script's
            self.began = (
                self.began[0],
                self.began[1] + time.perf_counter() - wall,
                self.began[2] + time.process_time() - cpu,
            )

    def send(self, **what: Any) -> NoReturn:
        os.write(self.out, json.dumps(what).encode())
        os._exit(0)


def as_python(text: str) -> str:
    """A converted notebook without what only a notebook understands; no weights from the network."""
    text = re.sub(r"^%time +", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(%|!|get_ipython\(\)).*$", "pass", text, flags=re.MULTILINE)
    return text.replace('weights="imagenet"', "weights=None")


def run(text: str, name: str, window: list[int], step: str | None, out: int) -> NoReturn:
    import keras
    import numpy as np

    clock = Clock(window, out)
    text = as_python(text)
    if step is not None:
        if text.count(f"{step}\n") != 1:
            raise ValueError(f"{name}: not once in the script: {step!r}")
        indent = step[: len(step) - len(step.lstrip())]
        text = text.replace(f"{step}\n", f"{step}\n{indent}__step__()\n")
    else:
        from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
        from keras.src.callbacks.callback_list import CallbackList

        batch_end, on_batch = CallbackList.on_train_batch_end, TensorFlowTrainer.train_on_batch
        batch_begin = CallbackList.on_train_batch_begin
        first = [0]

        def begun(self: Any, batch: int, logs: Any = None) -> None:
            first[0] = batch
            batch_begin(self, batch, logs)

        def ended(self: Any, batch: int, logs: Any = None) -> None:
            batch_end(self, batch, logs)
            clock.step(batch - first[0] + 1)

        def trained(self: Any, *args: Any, **options: Any) -> Any:
            result = on_batch(self, *args, **options)
            clock.step()
            return result

        CallbackList.on_train_batch_begin = begun
        CallbackList.on_train_batch_end = ended
        TensorFlowTrainer.train_on_batch = trained

    from keras.src.optimizers.base_optimizer import BaseOptimizer

    build = BaseOptimizer.build

    def built(self: Any, variables: Any) -> None:
        clock.variables.update({id(v): v for v in variables})
        build(self, variables)

    BaseOptimizer.build = built
    random = np.random.default_rng(0)

    def images(*shape: int) -> Any:
        def part(count: int) -> tuple[Any, Any]:
            return random.integers(0, 255, (count, *shape), np.uint8), random.integers(0, 10, count)

        return part(60_000 if len(shape) == 2 else 50_000), part(10_000)

    keras.datasets.mnist.load_data = lambda: images(28, 28)
    keras.datasets.cifar10.load_data = lambda: images(32, 32, 3)
    keras.utils.set_random_seed(1)
    sys.argv = [f"{name}.py"]
    space = {"__name__": "__main__", "__file__": f"{name}.py", "__step__": clock.step}
    Path(f"{name}.py").write_text(text)  # tf.function reads the source
    exec(compile(text, f"{name}.py", "exec"), space)  # noqa: S102 - scripts of this folder
    raise RuntimeError(f"the script ended after {clock.steps} steps, before the window's end")


def forked(text: str, name: str, window: list[int], step: str | None) -> dict[str, Any]:
    """A run of the script in a child: CPU and wall seconds a step, and norms of the weights."""
    read, write = os.pipe()
    folder = tempfile.mkdtemp()
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            log = os.open("log", os.O_WRONLY | os.O_CREAT)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            signal.alarm(LIMIT_S)
            run(text, name, window, step, write)
        except BaseException:  # noqa: BLE001 - it ends here
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    log = Path(folder, "log").read_text(errors="replace")
    shutil.rmtree(folder)
    if not answer:
        raise RuntimeError(f"{name}: no answer\n{log[-1500:]}")
    result: dict[str, Any] = json.loads(answer)
    return result


# --- All runs of a script, and the table ---------------------------------------------------------------


def measure(entry: dict[str, Any], pairs: int) -> dict[str, Any]:
    fixes = entry.get("fix", [])
    base, changed = [], [[] for _ in fixes]
    for _ in range(pairs):
        base.append(forked(entry["text"], entry["name"], entry["window"], entry.get("step")))
        for fix, results in zip(fixes, changed, strict=True):
            results.append(forked(fix["text"], entry["name"], fix["window"], fix["step"]))

    def median(results: list[dict[str, Any]], clock: str) -> float:
        return statistics.median(r[clock] for r in results)

    def away(results: list[dict[str, Any]]) -> list[float]:
        return [
            round(abs(results[0]["norms"][at] / base[0]["norms"][at] - 1), 7)
            for at in map(str, NORMS)
            if at in results[0]["norms"] and base[0]["norms"].get(at)
        ]

    return {
        "step_ms": [round(1e3 * median(base, clock), 3) for clock in ("cpu", "wall")],
        "repeat": away(base[1:]) if pairs > 1 else [],
        "fixes": [
            {
                "gives": [
                    round(median(base, clock) / median(results, clock) * fix.get("scale", 1), 3)
                    for clock in ("cpu", "wall")
                ],
                "norms": away(results),
            }
            for fix, results in zip(fixes, changed, strict=True)
        ],
    }


def write(name: str, measured: dict[str, Any]) -> None:
    """Put what was measured into the table's text, in place of what stood there."""
    headers = [f"[{name}]"] + [f"[[{name}.fix]]"] * len(measured["fixes"])
    values = [{k: measured[k] for k in ("step_ms", "repeat")}, *measured["fixes"]]
    lines, place = [], -1
    for block in re.split(r"(?m)^(?=\[)", TABLE.read_text()):
        if place + 1 < len(headers) and block.startswith(headers[place + 1] + "\n"):
            place += 1
            kept = [
                line
                for line in block.rstrip("\n").split("\n")
                if line.split(" = ")[0] not in ("step_ms", "repeat", "gives", "norms")
            ]
            kept += [f"{key} = {value}" for key, value in values[place].items()]
            lines.append("\n".join(kept) + "\n" * (len(block) - len(block.rstrip("\n"))))
        else:
            lines.append(block)
    TABLE.write_text("".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf  # noqa: F401 - imported once for all children

    table = read_table()
    for name in options.names or table:
        began = time.monotonic()
        try:
            measured = measure(table[name], options.pairs)
        except RuntimeError as error:
            print(error, flush=True)
            continue
        took = time.monotonic() - began
        print(
            f"{name:28} {measured['step_ms']} ms, repeat {measured['repeat']}, {took:.0f} s",
            flush=True,
        )
        for fix, result in zip(table[name].get("fix", []), measured["fixes"], strict=True):
            print(f"{'':6}{fix['match'][:40]:42} {result['gives']}  {result['norms']}", flush=True)
        if options.write:
            write(name, measured)


if __name__ == "__main__":
    main()
