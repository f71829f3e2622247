"""What is watched of the training: Keras's settings and calls, callbacks, validation, retraces, eager steps,
statements, conversions, and on a GPU what stays behind on the processor.

Seconds and calls count from the end of the first step on.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import dataclasses
import functools
import inspect
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from suite.model.why import CallbackSeen, Retrace
from suite.worker.why.calls import count_examples, is_single, methods, own_callbacks, rebind
from suite.worker.why.run import ScriptRun

STEERING = {
    *("EarlyStopping", "LearningRateScheduler", "ReduceLROnPlateau", "TerminateOnNaN"),
    "SwapEMAWeights",
}
"""Keras's callbacks that have a say in the training."""

STEERS = {
    *("stop_training", "learning_rate", "lr", "set_value", "assign", "assign_add", "assign_sub"),
    *("set_weights", "load_weights", "trainable", "_set_hyper"),
}
"""Names that a callback mentions which changes the training."""

CONVERTED = 16
"""Numbers in an array, from which on its conversion is worth watching."""

KEPT = 4096
"""Conversions that are told apart."""

SETTINGS = ("run_eagerly", "jit_compile", "steps_per_execution")

ARGUMENTS = (
    *("batch_size", "epochs", "verbose", "validation_split", "validation_freq"),
    *("steps_per_epoch", "validation_steps"),
)


@dataclasses.dataclass
class _Traced:
    """A function of the script that was made a graph: how often it was made, traced and called."""

    name: str
    line: int
    made: int = 0
    traces: int = 0
    calls: int = 0
    seconds: float = 0.0
    reason: str = ""
    called_at: int | None = None
    types: dict[int, list[Any]] = dataclasses.field(default_factory=dict)


class _Watching:
    """What was seen so far; `tell` gives it as fields of `Watched`."""

    def __init__(self, run: ScriptRun) -> None:
        self.run = run
        self.settings: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.made: Counter[str] = Counter()
        """What counts from the script's beginning on."""
        self.calls: Counter[str] = Counter()
        self.seconds: collections.defaultdict[str, float] = collections.defaultdict(float)
        self.callbacks: dict[tuple[str, bool], CallbackSeen] = {}
        self.timed: dict[int, Any] = {}
        self.functions: dict[int, _Traced] = {}
        self.by_code: dict[Any, _Traced] = {}
        self.tracing: list[_Traced] = []
        self.arrays: set[Any] = set()
        self.placed = contextlib.ExitStack()
        self.nodes: list[Any] | None = None
        self.began = time.perf_counter()

    def step(self, steps: int) -> None:
        """A step is done; with the first, everything begins to count."""
        if steps <= 1:
            self.placed.close()
            for each in self.by_code.values():
                each.calls, each.seconds = 0, 0.0
            self.calls.clear()
            self.seconds.clear()
            self.run.tree.restart()
            self.began = time.perf_counter()
        if steps <= 20 or steps % 50 == 0:
            self.run.tree.step()

    @contextlib.contextmanager
    def time(self, what: str) -> Iterator[None]:
        """Counts a call and its seconds."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.calls[what] += 1
            self.seconds[what] += time.perf_counter() - began

    def at(self, what: str) -> None:
        """Remembers the script's line where something was first seen."""
        line = self.run.user_line() if what not in self.lines else None
        if line is not None:
            self.lines[what] = line

    # --- Keras ----------------------------------------------------------------------------------------

    def compile(self, original: Any) -> Any:
        return rebind(original, lambda _: self.at("compile"))

    def call(self, method: str, original: Any) -> Any:
        """Watches ``fit``, ``evaluate`` or ``predict``."""
        signature = inspect.signature(original)

        def call(*words: Any, **named: Any) -> Any:
            if named.get("_use_cached_eval_dataset"):
                with self.time("validation"):
                    return original(*words, **named)
            arguments = signature.bind(*words, **named).arguments
            if method == "fit":
                self.note(arguments)
            single = method if is_single(arguments) else ""
            if single:
                self.at(f"single.{single}")
            with self.time(f"single.{single}" if single else method):
                return original(*words, **named)

        return call

    def note(self, arguments: dict[str, Any]) -> None:
        """Takes down what ``fit`` is called with, and times its callbacks."""
        self.at("fit")
        model, x = arguments["self"], arguments.get("x")
        self.settings |= {name: str(getattr(model, name)) for name in SETTINGS}
        self.settings |= {name: str(arguments[name]) for name in ARGUMENTS if name in arguments}
        validated = arguments.get("validation_data") is not None or arguments.get(
            "validation_split"
        )
        self.settings["validation"] = "yes" if validated else ""
        steps, examples = arguments.get("steps_per_epoch") or 0, count_examples(x)
        if examples:
            batch = arguments.get("batch_size") or 32
            examples -= int(examples * (arguments.get("validation_split") or 0.0))
            self.made["batch"], steps = batch, steps or math.ceil(examples / batch)
        elif not steps and hasattr(x, "cardinality"):
            steps = max(0, int(x.cardinality()))
        self.made["epoch_steps"] = steps
        for callback in own_callbacks(arguments.get("callbacks")):
            if id(callback) not in self.timed:
                self.timed[id(callback)] = callback
                self.time_callback(callback)

    def time_callback(self, callback: Any) -> None:
        """Times the callback's methods, those of every batch apart; Keras asks the object for them."""
        name, steers = type(callback).__name__, _steers(callback)
        for by_batch in (True, False):
            for method, function in methods(callback, by_batch).items():
                code = getattr(function, "__code__", None)
                own = code is not None and code.co_filename == self.run.file
                line = code.co_firstlineno if own else self.run.user_line()
                seen = CallbackSeen(
                    name=name, line=line, calls=0, seconds=0.0, by_batch=by_batch, steers=steers
                )
                self.callbacks.setdefault((name, by_batch), seen)
                setattr(
                    callback, method, self.timer(f"callback.{name}.{by_batch}.{method}", function)
                )

    def timer(self, what: str, function: Any) -> Any:
        def call(*words: Any, **named: Any) -> Any:
            with self.time(what):
                return function(*words, **named)

        return call

    def make_train_function(self, original: Any) -> Any:
        def make(model: Any, *words: Any, **named: Any) -> Any:
            if model.train_function is None:
                self.made["train_functions"] += 1
            return original(model, *words, **named)

        return make

    def train_on_batch(self, original: Any) -> Any:
        def note(arguments: dict[str, Any]) -> None:
            model = arguments["self"]
            self.settings |= {name: str(getattr(model, name)) for name in SETTINGS}
            self.made["batch"] = count_examples(arguments.get("x"))

        return rebind(original, note)

    def batch(self, original: Any) -> Any:
        def note(arguments: dict[str, Any]) -> None:
            line = self.run.user_line()
            if line is not None:
                self.made[f"batch@{line}"] = int(arguments["batch_size"])

        return rebind(original, note)

    # --- Functions ------------------------------------------------------------------------------------

    def init(self, original: Any) -> Any:
        def init(function: Any, python_function: Any, *words: Any, **named: Any) -> None:
            original(function, python_function, *words, **named)
            code = getattr(inspect.unwrap(python_function), "__code__", None)
            if code is not None and code.co_filename == self.run.file:
                traced = self.by_code.setdefault(code, _Traced(code.co_name, code.co_firstlineno))
                traced.made += 1
                self.functions[id(function._function_cache)] = traced

        return init

    def function(self, original: Any) -> Any:
        def call(function: Any, *words: Any, **named: Any) -> Any:
            if self.nodes is None and self.run.gpu:
                from suite.worker.proof import placement

                self.nodes = self.placed.enter_context(placement.watch())
            traced = self.functions.get(id(function._function_cache))
            if traced is not None:
                traced.calls += 1
            return original(function, *words, **named)

        return call

    def trace(self, original: Any) -> Any:
        def trace(function_type: Any, context: Any, graph: Any, options: Any) -> Any:
            key = id(options.function_cache)
            traced = None if self.tracing else self.functions.get(key)
            if traced is None:
                return original(function_type, context, graph, options)
            before = traced.types.setdefault(key, [])
            if function_type not in before:
                traced.traces += 1
                traced.called_at = traced.called_at or self.run.user_line()
                if before:
                    traced.reason = _tell_apart(before[-1], function_type)
                before.append(function_type)
            self.tracing.append(traced)
            began = time.perf_counter()
            try:
                return original(function_type, context, graph, options)
            finally:
                self.tracing.pop()
                traced.seconds += time.perf_counter() - began

        return trace

    def gradient(self, original: Any) -> Any:
        import tensorflow as tf

        def gradient(*words: Any, **named: Any) -> Any:
            if self.tracing:
                self.lines.setdefault("step.function", self.tracing[0].line)
            elif "tape" not in self.lines and tf.executing_eagerly():
                self.at("tape")
                line = find_function(self.run, sys._getframe(1))
                if line is not None:
                    self.lines["tape.function"] = line
            return original(*words, **named)

        return gradient

    def run_functions_eagerly(self, original: Any) -> Any:
        def note(arguments: dict[str, Any]) -> None:
            self.settings["run_functions_eagerly"] = str(bool(arguments["run_eagerly"]))
            self.at("run_functions_eagerly")

        return rebind(original, note)

    def convert(self, original: Any) -> Any:
        import numpy as np

        def convert(value: Any, *words: Any, **named: Any) -> Any:
            is_array = isinstance(value, np.ndarray)
            if not ((is_array and value.size >= CONVERTED) or isinstance(value, list)):
                return original(value, *words, **named)
            if self.calls["convert"] < KEPT:
                self.at("convert")
                self.arrays.add(value.__array_interface__["data"][0] if is_array else id(value))
            with self.time("convert"):
                return original(value, *words, **named)

        return convert

    def device(self, original: Any) -> Any:
        def note(arguments: dict[str, Any]) -> None:
            if "CPU" in str(arguments["device_name"]).upper() and self.run.user_line() is not None:
                self.settings["device"] = str(arguments["device_name"])
                self.at("device")

        return rebind(original, note)

    # --- At the end -----------------------------------------------------------------------------------

    def tell(self, fields: dict[str, Any]) -> None:
        """Adds all of it to the fields of `Watched`."""
        import tensorflow as tf

        self.made["gpus"] = len(tf.config.list_physical_devices("GPU"))
        if self.made["gpus"] > 1:
            fields["notes"].append(f"{self.made['gpus']} GPUs are here; one is used")
        on_cpu = Counter(op for op, where, _ in self.nodes or () if where.startswith("CPU"))
        if on_cpu:
            self.settings["on_cpu"] = ", ".join(f"{op} ×{n}" for op, n in on_cpu.most_common(12))
        self.made["arrays"] = len(self.arrays)
        counts = {name: float(count) for name, count in (self.made | self.calls).items()}
        counts |= {f"{name}_s": seconds for name, seconds in self.seconds.items()}
        counts["seconds"] = time.perf_counter() - self.began
        counts |= {f"retrace.{each.name}_s": each.seconds for each in self.by_code.values()}
        for key, value in (("counts", counts), ("settings", self.settings), ("lines", self.lines)):
            fields.setdefault(key, {}).update(value)
        fields["callbacks"] = [self.sum_up(*each) for each in self.callbacks.items()]
        fields["retraces"] = [
            Retrace(
                name=each.name,
                line=each.line if each.made > 1 or "shape" in each.reason else each.called_at,
                traces=each.traces,
                calls=each.calls,
                reason="made anew" if each.made > 1 and each.traces <= each.made else each.reason,
            )
            for each in self.by_code.values()
            if each.traces > 1
        ]
        fields["statements"] = self.run.tree.statements()

    def sum_up(self, key: tuple[str, bool], seen: CallbackSeen) -> CallbackSeen:
        """A callback's calls, as many as its most called method's, and seconds of all its methods."""
        begins = f"callback.{key[0]}.{key[1]}."
        of_it = [what for what in self.calls if what.startswith(begins)]
        calls = max((self.calls[what] for what in of_it), default=0)
        seconds = sum(self.seconds[what] for what in of_it)
        return dataclasses.replace(seen, calls=calls, seconds=seconds)


def install(run: ScriptRun) -> None:
    """Watches the training of a run."""
    watching = _Watching(run)
    for method in ("fit", "evaluate", "predict"):
        run.patch(method, functools.partial(watching.call, method))
    run.patch("compile", watching.compile)
    run.patch("train_on_batch", watching.train_on_batch)
    run.patch("make_train_function", watching.make_train_function)
    run.patch("dataset.batch", watching.batch)
    run.patch("function.init", watching.init)
    run.patch("function.call", watching.function)
    run.patch("function.trace", watching.trace)
    run.patch("gradient", watching.gradient)
    run.patch("run_functions_eagerly", watching.run_functions_eagerly)
    run.patch("convert", watching.convert)
    run.patch("device", watching.device)
    run.tree.time_statements()
    run.clock.on_step(watching.step)
    run.at_end(watching.tell)


def find_function(run: ScriptRun, frame: Any) -> int | None:
    """The line of the ``def`` of the script's function that is innermost on the stack; None: none is."""
    while frame is not None and frame.f_code.co_filename != run.file:
        frame = frame.f_back
    for node in ast.walk(run.tree.tree) if frame is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == frame.f_code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == frame.f_code.co_firstlineno:
                return node.lineno
    return None


def _steers(callback: Any) -> bool:
    """Whether a callback has a say in the training: stops it, or changes its weights or its rate."""
    kind = type(callback)
    functions = [*vars(callback).values()]
    for each in kind.__mro__:
        if each.__module__.startswith("keras."):
            return each.__name__ in STEERING or any(map(_mentions_steering, functions))
        functions += vars(each).values()
    return any(map(_mentions_steering, functions))


def _mentions_steering(function: Any) -> bool:
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    return code is not None and not STEERS.isdisjoint(code.co_names)


def _tell_apart(before: Any, after: Any) -> str:
    """What differs between the arguments of two traces, in words that begin with its kind."""
    for name, parameter in after.parameters.items():
        new = parameter.type_constraint
        old = before.parameters[name].type_constraint if name in before.parameters else None
        if new == old:
            continue
        values = [getattr(each, "value", None) for each in (old, new)]
        if all(isinstance(value, int | float) for value in values):
            return f"number: {name} is {values[0]}, then {values[1]}"
        pairs = zip(old.flatten(), new.flatten(), strict=False) if old and new else ()
        for one, other in pairs:
            shapes = [getattr(each, "shape", None) for each in (one, other)]
            if None not in shapes and shapes[0] != shapes[1]:
                return f"shape: {name} is {shapes[0]}, then {shapes[1]}"
            if getattr(one, "dtype", None) != getattr(other, "dtype", None):
                return f"type: {name} is {one.dtype.name}, then {other.dtype.name}"
        return f"object: {name} is another object"
    return "object: another object"
