"""What is only watched: it chooses what is tried and says where, and names no cause.

Of the training: Keras's settings and calls, callbacks, validation, retraces, eager steps, statements and
conversions; their seconds and calls count from the end of the first step on.
"""

from __future__ import annotations

import functools
import inspect
import math
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from suite.model.why import CallbackSeen, Retrace
from suite.worker.why import calls, chains
from suite.worker.why.clock import FIT
from suite.worker.why.run import ScriptRun
from suite.worker.why.watch_data import DataWatch, Timer

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

DRAWS = ("Random", "TruncatedNormal", "ParameterizedTruncatedNormal", "Multinomial")
"""How operations begin whose random numbers depend on the graph that they are in."""

LOOKED_AT = 20
"""So many first steps, and each `RARELY`-th, are looked for among the statements."""
RARELY = 50


@dataclass
class _Traced:
    """A function of the script that was made a graph: how often it was made and traced, and the reason."""

    name: str
    line: int
    made: int = 0
    traces: int = 0
    reason: str = ""


def install(run: ScriptRun) -> None:
    """Watches all of it."""
    Watch(run)


class Watch:
    """What was seen so far; `tell` gives it as fields of `Watched`."""

    def __init__(self, run: ScriptRun) -> None:
        self.run = run
        self.settings: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.counts: Counter[str] = Counter()
        """What counts from the script's beginning on."""
        self.timers: defaultdict[Any, Timer] = defaultdict(Timer)
        """By what they time; a callback's by its name, whether it is at every batch, and the method."""
        self.callbacks: dict[tuple[str, bool], dict[str, Any]] = {}
        self.traced: dict[Any, _Traced] = {}
        self.types: defaultdict[int, list[Any]] = defaultdict(list)
        """By the id of what holds a `tf.function`'s graphs, the types that they were traced for."""
        self.tracing: list[_Traced] = []
        self.arrays: set[int] = set()
        self.is_looking = True
        self.drawn = _count_draws()
        self.began = time.perf_counter()
        for method in ("fit", "evaluate", "predict"):
            calls.intercept(run, functools.partial(self.note_call, method), method)
        for name, note in (
            ("compile", lambda _: self.note_line("compile")),
            ("train_on_batch", self.note_batch),
            ("make_train_function", self.note_made),
            ("gradient", self.note_gradient),
            ("run_functions_eagerly", self.note_eager),
            ("device", self.note_device),
            ("layer.call", self.note_layer_call),
            ("function.call", self.note_model_call),
            ("function.init", self.note_function),
        ):
            calls.intercept(run, note, name)
        run.patch("function.trace", self.watch_traces)
        run.patch("variable.read", self.watch_reads)
        run.patch("convert", self.watch_conversions)
        calls.wrap_callbacks(run, self.time_callback)
        run.tree.time_statements()
        run.clock.on_step(self.note_step)
        run.at_end(self.tell)
        self.data = DataWatch(run)

    def note_step(self, steps: int) -> None:
        """A step is done; with the first, everything begins to count."""
        if steps <= 1:
            for timer in self.timers.values():
                timer.calls, timer.seconds = 0, 0.0
            self.run.tree.restart()
            self.drawn = _count_draws()
            self.began = time.perf_counter()
        self.is_looking = steps < LOOKED_AT or steps % RARELY == 0
        if self.is_looking:
            self.run.tree.step()

    def note_line(self, what: str) -> None:
        """Remembers the script's line where something was first seen."""
        line = self.run.user_line() if what not in self.lines else None
        if line is not None:
            self.lines[what] = line

    # --- Keras ----------------------------------------------------------------------------------------

    def note_call(self, method: str, arguments: calls.Arguments) -> Any:
        """Watches ``fit``, ``evaluate`` or ``predict``; what times the call."""
        if "_use_cached_eval_dataset" in arguments.get("kwargs", ()):
            return self.timers["validation"].time
        self.run.tree.call_model()
        if method == "fit":
            self.note_fit(arguments)
        if not calls.is_single(arguments):
            return None
        self.note_line(f"single.{method}")
        if chains.is_within("callbacks.callback_list"):
            self.settings[f"single.{method}"] = "callback"
        return self.timers[f"single.{method}"].time

    def note_model(self, model: Any) -> None:
        """Takes down what a model that trains was compiled with."""
        names = ("run_eagerly", "jit_compile", "steps_per_execution")
        self.settings |= {name: str(getattr(model, name)) for name in names}
        self.settings["policy"] = model.dtype_policy.name

    def note_fit(self, arguments: calls.Arguments) -> None:
        """Takes down what ``fit`` is called with."""
        self.note_line("fit")
        self.note_model(arguments["self"])
        self.settings["validation_freq"] = str(arguments.get("validation_freq", 1))
        x: Any = arguments.get("x")
        self.data.given = x
        if hasattr(x, "max_queue_size"):
            kind = "processes" if x.use_multiprocessing else "threads"
            self.settings["workers"] = f"{x.workers} {kind}"
        steps, examples = arguments.get("steps_per_epoch") or 0, calls.count_examples(x)
        if examples:
            batch = arguments.get("batch_size") or 32
            examples -= int(examples * (arguments.get("validation_split") or 0.0))
            self.counts["batch"], steps = batch, steps or math.ceil(examples / batch)
        elif not steps and hasattr(x, "cardinality"):
            steps = max(0, int(x.cardinality()))
        self.counts["epoch_steps"] = steps

    def time_callback(self, callback: Any, by_batch: bool, name: str, method: Any) -> Any:
        """Times a callback's method, and takes down where it is."""
        kind, code = type(callback).__name__, calls.find_code(self.run, method)
        line = code.co_firstlineno if code else self.run.user_line()
        self.callbacks.setdefault((kind, by_batch), {"line": line, "steers": _steers(callback)})
        owners = (each.__name__ for each in type(callback).__mro__ if name in vars(each))
        is_own = chains.is_script_function(method)
        place = f"{next(owners, kind)}.{name}" if is_own else f"{name} of a subclass of {kind}"
        return self.timers[kind, by_batch, place].time(method)

    def note_made(self, arguments: calls.Arguments) -> None:
        """Counts the train functions that are made."""
        self.counts["train_functions"] += arguments["self"].train_function is None

    def note_batch(self, arguments: calls.Arguments) -> None:
        """Takes down what ``train_on_batch`` is called with."""
        self.note_model(arguments["self"])
        self.counts["batch"] = calls.count_examples(arguments.get("x"))

    # --- Functions ------------------------------------------------------------------------------------

    def note_model_call(self, _arguments: calls.Arguments) -> None:
        """A statement calls a model, or a graph that may hold one."""
        if self.is_looking and not self.tracing:
            self.run.tree.call_model()

    def watch_reads(self, original: Any) -> Any:
        """A statement that reads what is trained calls a model, one of no layers, too."""

        def read(variable: Any, *words: Any, **named: Any) -> Any:
            if variable.trainable:
                self.note_model_call({})
            return original(variable, *words, **named)

        return read

    def note_layer_call(self, arguments: calls.Arguments) -> Any:
        """As `note_model_call`; what times the layer by the script's line, where it runs eagerly."""
        import tensorflow as tf

        self.note_model_call(arguments)
        if self.is_looking and tf.executing_eagerly():
            return self.timers["layer", self.run.user_line()].time
        return None

    def note_function(self, arguments: calls.Arguments) -> None:
        """Counts how often a function of the script is made a `tf.function`."""
        code = calls.find_code(self.run, arguments["python_function"])
        if code is not None:
            new = _Traced(code.co_name, code.co_firstlineno)
            self.traced.setdefault(code, new).made += 1

    def watch_traces(self, original: Any) -> Any:
        """Watches the traces of a `tf.function` of the script's, and what they are due to."""

        def trace(function_type: Any, context: Any, graph: Any, options: Any) -> Any:
            code = None if self.tracing else calls.find_code(self.run, options.python_function)
            if code not in self.traced:
                traced = original(function_type, context, graph, options)
                self.note_random(traced.graph)
                return traced
            traced, before = self.traced[code], self.types[id(options.function_cache)]
            if function_type not in before:
                traced.traces += 1
                self.note_line(f"retrace.{traced.name}")
                if before:
                    traced.reason = _tell_apart(before[-1], function_type)
                before.append(function_type)
            timed = self.timers[f"retrace.{traced.name}"].time(original)
            self.tracing.append(traced)
            try:
                result = timed(function_type, context, graph, options)
            finally:
                self.tracing.pop()
            self.note_random(result.graph)
            return result

        return trace

    def note_random(self, graph: Any) -> None:
        """Takes down that a step draws random numbers which another trace draws otherwise."""
        draws = any(each.type.startswith(DRAWS) for each in graph.get_operations())
        if draws and not chains.is_of_data():
            self.settings["random"] = "True"

    def note_gradient(self, _arguments: calls.Arguments) -> None:
        """Finds the function that takes the gradient: one that is a graph, or the script's own."""
        import tensorflow as tf

        if self.tracing:
            self.lines.setdefault("step.function", self.tracing[0].line)
        elif not self.run.clock.steps and tf.executing_eagerly():
            # The last one before variables are updated: the others are those that it is taken of.
            self.lines = {what: at for what, at in self.lines.items() if "tape" not in what}
            self.note_line("tape")
            frame = chains.find_caller("tensorflow.")
            ours = frame.f_code.co_filename == self.run.file
            line = self.run.tree.find_function(frame) if ours else None
            if line is not None:
                self.lines["tape.function"] = line

    def note_eager(self, arguments: calls.Arguments) -> None:
        """Takes down that functions run eagerly."""
        self.settings["run_functions_eagerly"] = str(bool(arguments["run_eagerly"]))
        self.note_line("run_functions_eagerly")

    def watch_conversions(self, original: Any) -> Any:
        """Watches the conversions of arrays and lists to tensors."""
        timer = self.timers["convert"]

        def convert(value: Any, *words: Any, **named: Any) -> Any:
            place = calls.find_place(value)
            if place is None or getattr(value, "size", CONVERTED) < CONVERTED:
                return original(value, *words, **named)
            if timer.calls < KEPT:
                self.arrays.add(place)
            of_line = self.timers["convert", self.run.user_line()]
            return timer.time(of_line.time(original))(value, *words, **named)

        return convert

    def note_device(self, arguments: calls.Arguments) -> None:
        """Takes down what the script pins to the processor."""
        name = str(arguments["device_name"])
        if "CPU" in name.upper() and self.run.user_line() is not None:
            self.settings["device"] = name
            self.note_line("device")

    # --- At the end -----------------------------------------------------------------------------------

    def tell(self, fields: dict[str, Any]) -> None:
        """Adds all of it to the fields of `Watched`."""
        import tensorflow as tf

        if (gpus := len(tf.config.list_physical_devices("GPU"))) > 1:
            fields["notes"].append(f"{gpus} GPUs are here; one is used")
        chosen = self.run.clock.choose()
        if chosen and chosen[0].series == FIT and not self.counts["epoch_steps"]:
            window = chosen[0]
            turns = self.run.clock.count_turns(window)
            self.counts["epoch_steps"] = round((window.end - window.begin) / max(1, turns))
        counts = {name: float(count) for name, count in self.counts.items()}
        for what, timer in self.timers.items():
            if isinstance(what, str):
                counts |= {what: float(timer.calls), f"{what}_s": timer.seconds}
        for kind in ("convert", "layer"):
            lines = {what[1]: t.seconds for what, t in self.timers.items() if what[0] == kind}
            # In a thread of TensorFlow's it is no line's.
            lines.pop(None, None)
            if lines:
                self.lines[kind] = max(lines, key=lambda line: lines[line])
        if self.drawn != _count_draws():
            self.settings["random"] = "True"
        counts |= {"arrays": len(self.arrays), "seconds": time.perf_counter() - self.began}
        fields |= {
            "callbacks": [self.sum_up_callback(*each) for each in self.callbacks],
            "retraces": [self.sum_up(each) for each in self.traced.values() if each.traces > 1],
            "statements": self.run.tree.statements(),
            "settings": self.settings,
            "lines": self.lines,
            "counts": counts,
        }

    def sum_up(self, traced: _Traced) -> Retrace:
        """Why a function was traced again, and at which line that is mended."""
        reason = "anew" if traced.made > 1 and traced.traces <= traced.made else traced.reason
        mended = reason in {"anew", "shape"}
        line = traced.line if mended else self.lines.get(f"retrace.{traced.name}")
        return Retrace(name=traced.name, line=line, reason=reason)

    def sum_up_callback(self, name: str, by_batch: bool) -> CallbackSeen:
        """A callback's calls, as many as its most called method's, and seconds of all its methods."""
        timers = {
            what[2]: timer for what, timer in self.timers.items() if what[:2] == (name, by_batch)
        }
        return CallbackSeen(
            name=name,
            by_batch=by_batch,
            calls=max(timer.calls for timer in timers.values()),
            seconds=math.fsum(timer.seconds for timer in timers.values()),
            method=max(timers, key=lambda method: timers[method].seconds),
            **self.callbacks[name, by_batch],
        )


def _count_draws() -> Any:
    """What changes with each operation outside of graphs that draws random numbers of its own."""
    from tensorflow.python.eager import context

    return context.context()._rng.getstate()  # noqa: SLF001  every run is seeded


def _steers(callback: Any) -> bool:
    """Whether a callback has a say in the training: stops it, or changes its weights or its rate."""
    kinds = type(callback).__mro__
    own = [kind for kind in kinds if not kind.__module__.startswith("keras.")]
    functions = [value for each in (callback, *own) for value in vars(each).values()]
    return any(kind.__name__ in STEERING for kind in kinds) or any(
        map(_mentions_steering, functions)
    )


def _mentions_steering(function: Any) -> bool:
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    return code is not None and not STEERS.isdisjoint(code.co_names)


def _tell_apart(before: Any, after: Any) -> str:
    """What differs between the arguments of two traces: numbers, with their names, or shapes; empty:
    something else."""
    pairs = {
        name: [each.parameters[name].type_constraint for each in (before, after)]
        for name in after.parameters
        if name in before.parameters
    }
    numbers, shapes = list[str](), False
    for name, pair in pairs.items():
        if pair[0] == pair[1]:
            continue
        if all(isinstance(getattr(each, "value", None), int | float) for each in pair):
            numbers.append(name)
        specs = [each.flatten() if each is not None else [] for each in pair]
        one, other = ([getattr(spec, "shape", None) for spec in each] for each in specs)
        shapes = shapes or one != other
    return f"number: {', '.join(numbers)}" if numbers else "shape" if shapes else ""
