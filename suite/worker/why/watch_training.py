"""What is watched of the training: Keras's settings and calls, callbacks, validation, retraces, eager steps,
statements, conversions, and on a GPU what stays behind on the processor.

Seconds and calls count from the end of the first step on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
import sys
import time
from collections import Counter, defaultdict
from typing import Any

from suite.model.why import CallbackSeen, Retrace
from suite.worker.why.calls import Change, count_examples, is_single, methods, own_callbacks, rebind
from suite.worker.why.clock import FIT
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

ARGUMENTS = (
    *("batch_size", "epochs", "verbose", "validation_split", "validation_freq"),
    *("steps_per_epoch", "validation_steps"),
)


_OURS = ("suite.", "tensorflow.")
"""Modules that are between a tape and whoever asks it for gradients."""


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

    def sum_up(self) -> Retrace:
        """Why it was traced again, and at which line that is mended."""
        anew = self.made > 1 and self.traces <= self.made
        return Retrace(
            name=self.name,
            line=self.line if anew or self.reason.startswith("shape") else self.called_at,
            traces=self.traces,
            calls=self.calls,
            reason="anew: made again and again" if anew else self.reason,
        )


class _Watching:
    """What was seen so far; `tell` gives it as fields of `Watched`."""

    def __init__(self, run: ScriptRun) -> None:
        self.run = run
        self.settings: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.made: Counter[str] = Counter()
        """What counts from the script's beginning on."""
        self.calls: Counter[str] = Counter()
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.callbacks: dict[tuple[str, bool], CallbackSeen] = {}
        self.timed: dict[int, Any] = {}
        self.functions: dict[int, _Traced] = {}
        self.by_code: dict[Any, _Traced] = {}
        self.tracing: list[_Traced] = []
        self.arrays: set[int] = set()
        self.placed = contextlib.ExitStack()
        self.nodes: list[Any] | None = None
        self.is_looking = True
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
        self.is_looking = steps < 20 or steps % 50 == 0
        if self.is_looking:
            self.run.tree.step()

    def time(self, what: str, function: Any) -> Any:
        """The function, its calls and seconds counted."""

        def call(*words: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*words, **named)
            finally:
                self.calls[what] += 1
                self.seconds[what] += time.perf_counter() - began

        return call

    def at(self, what: str) -> None:
        """Remembers the script's line where something was first seen."""
        line = self.run.user_line() if what not in self.lines else None
        if line is not None:
            self.lines[what] = line

    # --- Keras ----------------------------------------------------------------------------------------

    def call(self, method: str, original: Any) -> Any:
        """Watches ``fit``, ``evaluate`` or ``predict``."""
        signature = inspect.signature(original)
        timed = {name: self.time(name, original) for name in ("validation", f"single.{method}")}

        def call(*words: Any, **named: Any) -> Any:
            if named.get("_use_cached_eval_dataset"):
                return timed["validation"](*words, **named)
            arguments = signature.bind(*words, **named).arguments
            self.run.tree.call_model()
            if method == "fit":
                self.note_fit(arguments)
            if not is_single(arguments):
                return original(*words, **named)
            self.at(f"single.{method}")
            return timed[f"single.{method}"](*words, **named)

        return call

    def note_layer(self, _arguments: dict[str, Any]) -> None:
        """A statement calls a model, unless it was traced before."""
        if self.is_looking:
            self.run.tree.call_model()

    def note_model(self, model: Any) -> None:
        """Takes down what a model that trains was compiled with."""
        names = ("run_eagerly", "jit_compile", "steps_per_execution")
        self.settings |= {name: str(getattr(model, name)) for name in names}
        self.settings["policy"] = model.dtype_policy.name

    def note_fit(self, arguments: dict[str, Any]) -> None:
        """Takes down what ``fit`` is called with, and times its callbacks."""
        self.at("fit")
        self.note_model(arguments["self"])
        self.settings |= {name: str(arguments[name]) for name in ARGUMENTS if name in arguments}
        x: Any = arguments.get("x")
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
                code: Any = getattr(function, "__code__", None)
                own = code is not None and code.co_filename == self.run.file
                line = code.co_firstlineno if own else self.run.user_line()
                seen = CallbackSeen(
                    name=name, line=line, calls=0, seconds=0.0, by_batch=by_batch, steers=steers
                )
                self.callbacks.setdefault((name, by_batch), seen)
                setattr(callback, method, self.time(f"{name}.{by_batch}|{method}", function))

    def note_made(self, arguments: dict[str, Any]) -> None:
        """Counts the train functions that are made."""
        self.made["train_functions"] += arguments["self"].train_function is None

    def note_batch(self, arguments: dict[str, Any]) -> None:
        """Takes down what ``train_on_batch`` is called with."""
        self.note_model(arguments["self"])
        self.made["batch"] = count_examples(arguments.get("x"))

    def batch(self, original: Any) -> Any:
        """Watches the ``batch`` of data sets: how large, and how many there are."""

        def call(dataset: Any, batch_size: Any, *words: Any, **named: Any) -> Any:
            result = original(dataset, batch_size, *words, **named)
            line = self.run.user_line()
            if line is not None:
                self.made[f"batch:{line}"] = int(batch_size)
                self.made[f"epoch_steps:{line}"] = int(result.cardinality())
            return result

        return call

    # --- Functions ------------------------------------------------------------------------------------

    def init(self, original: Any) -> Any:
        """Watches the making of a `tf.function`."""

        def init(function: Any, python_function: Any, *words: Any, **named: Any) -> None:
            original(function, python_function, *words, **named)
            code = getattr(inspect.unwrap(python_function), "__code__", None)
            if code is not None and code.co_filename == self.run.file:
                new = _Traced(code.co_name, code.co_firstlineno)
                traced = self.by_code.setdefault(code, new)
                traced.made += 1
                self.functions[id(function._function_cache)] = traced  # noqa: SLF001  its key in a trace

        return init

    def function(self, original: Any) -> Any:
        """Watches the calls of a `tf.function`, and on a GPU where the first one's operations are."""

        def call(function: Any, *words: Any, **named: Any) -> Any:
            if self.nodes is None and self.run.gpu:
                from suite.worker.proof import placement

                self.nodes = self.placed.enter_context(placement.watch())
            traced = self.functions.get(id(function._function_cache))  # noqa: SLF001  as above
            if traced is not None:
                traced.calls += 1
            return original(function, *words, **named)

        return call

    def trace(self, original: Any) -> Any:
        """Watches the traces of a `tf.function` of the script's, and what they are due to."""

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

    def note_gradient(self, _arguments: dict[str, Any]) -> None:
        """Finds the function that takes the gradient: one that is a graph, or the script's own."""
        import tensorflow as tf

        if self.tracing:
            self.lines.setdefault("step.function", self.tracing[0].line)
        elif not self.run.clock.steps and tf.executing_eagerly():
            # The last one before variables are updated: the others are those that it is taken of.
            self.lines.pop("tape", None)
            self.at("tape")
            frame = sys._getframe(1)  # noqa: SLF001  there is no other way
            while frame.f_globals.get("__name__", "").startswith(_OURS) and frame.f_back:
                frame = frame.f_back
            ours = frame.f_code.co_filename == self.run.file
            line = self.run.tree.find_function(frame) if ours else None
            self.lines.pop("tape.function", None)
            if line is not None:
                self.lines["tape.function"] = line

    def note_eager(self, arguments: dict[str, Any]) -> None:
        """Takes down that functions run eagerly."""
        self.settings["run_functions_eagerly"] = str(bool(arguments["run_eagerly"]))
        self.at("run_functions_eagerly")

    def convert(self, original: Any) -> Any:
        """Watches the conversions of arrays and lists to tensors."""
        import numpy as np

        timed = self.time("convert", original)

        def convert(value: Any, *words: Any, **named: Any) -> Any:
            is_array = isinstance(value, np.ndarray)
            if not ((is_array and value.size >= CONVERTED) or isinstance(value, list)):
                return original(value, *words, **named)
            if self.calls["convert"] < KEPT:
                self.at("convert")
                self.arrays.add(value.__array_interface__["data"][0] if is_array else id(value))
            return timed(value, *words, **named)

        return convert

    def note_device(self, arguments: dict[str, Any]) -> None:
        """Takes down what the script pins to the processor."""
        name = str(arguments["device_name"])
        if "CPU" in name.upper() and self.run.user_line() is not None:
            self.settings["device"] = name
            self.at("device")

    # --- At the end -----------------------------------------------------------------------------------

    def tell(self, fields: dict[str, Any]) -> None:
        """Adds all of it to the fields of `Watched`."""
        import tensorflow as tf

        self.made["gpus"] = len(tf.config.list_physical_devices("GPU"))
        if self.made["gpus"] > 1:
            fields["notes"].append(f"{self.made['gpus']} GPUs are here; one is used")
        chosen = self.run.clock.choose()
        if chosen and chosen[0].series == FIT and not self.made["epoch_steps"]:
            window = chosen[0]
            turns = self.run.clock.count_turns(window)
            self.made["epoch_steps"] = round((window.end - window.begin) / max(1, turns))
        on_cpu = Counter(op for op, where, _ in self.nodes or () if where.startswith("CPU"))
        if on_cpu:
            self.settings["on_cpu"] = ", ".join(f"{op} ×{n}" for op, n in on_cpu.most_common(12))
        fields["callbacks"] = [self.sum_up(*each) for each in self.callbacks.items()]
        fields["retraces"] = [each.sum_up() for each in self.by_code.values() if each.traces > 1]
        fields["statements"] = self.run.tree.statements()
        counts = {name: float(count) for name, count in [*self.made.items(), *self.calls.items()]}
        counts |= {f"{name}_s": seconds for name, seconds in self.seconds.items()}
        counts |= {f"retrace.{each.name}_s": each.seconds for each in self.by_code.values()}
        counts |= {"arrays": len(self.arrays), "seconds": time.perf_counter() - self.began}
        counts = {name: count for name, count in counts.items() if "|" not in name}
        for key, value in (("counts", counts), ("settings", self.settings), ("lines", self.lines)):
            fields.setdefault(key, {}).update(value)

    def sum_up(self, key: tuple[str, bool], seen: CallbackSeen) -> CallbackSeen:
        """A callback's calls, as many as its most called method's, and seconds of all its methods."""
        begin = f"{key[0]}.{key[1]}|"
        seconds = {what: self.seconds[what] for what in self.calls if what.startswith(begin)}
        return dataclasses.replace(
            seen,
            calls=max((self.calls[what] for what in seconds), default=0),
            seconds=math.fsum(seconds.values()),
            method=max(seconds, key=lambda what: seconds[what], default="").removeprefix(begin),
        )


def install(run: ScriptRun) -> None:
    """Watches the training of a run."""
    watching = _Watching(run)
    for method in ("fit", "evaluate", "predict"):
        run.patch(method, functools.partial(watching.call, method))
    notes: dict[str, Change] = {
        "compile": lambda _: watching.at("compile"),
        "train_on_batch": watching.note_batch,
        "make_train_function": watching.note_made,
        "gradient": watching.note_gradient,
        "run_functions_eagerly": watching.note_eager,
        "device": watching.note_device,
        "layer.call": watching.note_layer,
    }
    for name, note in notes.items():
        run.patch(name, functools.partial(rebind, change=note))
    run.patch("dataset.batch", watching.batch)
    run.patch("dataset.padded_batch", watching.batch)
    run.patch("function.init", watching.init)
    run.patch("function.call", watching.function)
    run.patch("function.trace", watching.trace)
    run.patch("convert", watching.convert)
    run.tree.time_statements()
    run.clock.on_step(watching.step)
    run.at_end(watching.tell)


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
    found: dict[str, list[str]] = {"number": [], "shape": [], "type": [], "object": []}
    for name, parameter in after.parameters.items():
        new = parameter.type_constraint
        old = before.parameters[name].type_constraint if name in before.parameters else None
        if new == old:
            continue
        one, other = (getattr(each, "value", None) for each in (old, new))
        if isinstance(one, int | float) and isinstance(other, int | float):
            found["number"].append(f"{name} is {one}, then {other}")
            continue
        specs = [each.flatten() if each is not None else [] for each in (old, new)]
        for what, kind in (("shape", "shape"), ("dtype", "type")):
            one, other = ([getattr(spec, what, None) for spec in each] for each in specs)
            if one != other:
                pair = next(((a, b) for a, b in zip(one, other, strict=False) if a != b), ("", ""))
                found[kind].append(f"{name} is {pair[0]}, then {pair[1]}")
                break
        else:
            found["object"].append(f"{name} is another object")
    kind = next((kind for kind, whats in found.items() if whats), "object")
    return f"{kind}: {'; '.join(found[kind])}"
