"""Where a script's examples come from: the chains of its data sets, which of their stages are random, and the
Python that is called for them."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from suite.model.why import PythonCall, Stage
from suite.worker.why import calls, chains
from suite.worker.why.run import ScriptRun

PASSED = 64
"""Elements that are passed twice, to see whether a stage is random."""

PATIENCE_S = 1.0
"""So long a stage is looked at."""

MOST_CHAINS = 50

_IN_PYTHON = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
_RANDOM = (
    *("Random", "StatefulUniform", "StatefulStandard", "StatefulTruncated", "Rng", "Multinomial"),
    *("TruncatedNormal", "SampleDistorted", "Assign"),
)
"""Parts of the names of operations that may give something else each time."""


@dataclass
class Timer:
    """The calls of something, and the seconds and CPU seconds that they took."""

    calls: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0

    def time(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its calls counted."""

        def call(*words: Any, **named: Any) -> Any:
            began, cpu = time.perf_counter(), time.thread_time()
            try:
                return function(*words, **named)
            finally:
                self.calls += 1
                self.seconds += time.perf_counter() - began
                self.cpu_s += time.thread_time() - cpu

        return call

    def go_over(self, iterable: Any) -> Iterator[Any]:
        """The items, each counted."""
        step, iterator, end = self.time(next), iter(iterable), object()
        while (item := step(iterator, end)) is not end:
            yield item


class DataWatch:
    """What is seen of a run's data; ``given`` is what `fit` trains on."""

    def __init__(self, run: ScriptRun) -> None:
        self.run, self.chains = run, chains.follow(run)
        self.given: Any = None
        self.timers: defaultdict[tuple[str, int | None, str, bool], Timer] = defaultdict(Timer)
        """By the name, the line and the kind of a Python function, and whether it is of the data."""
        calls.intercept(run, self.time_generator, "dataset.from_generator")
        calls.intercept(run, self.time_function, "python_function")
        run.tree.on_for(self.time_items)
        run.at_end(self.tell)

    def time_generator(self, arguments: calls.Arguments) -> None:
        """Times the generator of a data set, or what Keras asks for batches."""
        generator = arguments["generator"]
        if chains.is_script_function(generator):
            timer = self._find_timer(generator, "from_generator")
        else:
            timer = self._find_timer(self.given, "generator")
        arguments["generator"] = lambda *given: timer.go_over(generator(*given))

    def time_function(self, arguments: calls.Arguments) -> None:
        """Times a Python function that a graph calls."""
        if chains.is_script_function(arguments["func"]):
            kind = "py_function" if arguments.get("use_eager_py_func") else "numpy_function"
            timer = self._find_timer(arguments["func"], kind, chains.is_of_data())
            arguments["func"] = timer.time(arguments["func"])

    def time_items(self, line: int, iterable: Any) -> Any:
        """Times what a `for` goes over, where Python makes it."""
        if not chains.gives_batches(iterable):
            return iterable
        name = getattr(iterable, "__name__", type(iterable).__name__)
        return self.timers[name, line, "for", True].go_over(iterable)

    def _find_timer(self, function: Any, kind: str, of_data: bool = True) -> Timer:
        code = calls.find_code(self.run, function)
        line = code.co_firstlineno if code else self.run.user_line()
        return self.timers[
            getattr(function, "__name__", type(function).__name__), line, kind, of_data
        ]

    def tell(self, fields: dict[str, Any]) -> None:
        """Adds what was seen to the fields of `Watched`."""
        fields["python_calls"] = [
            PythonCall(
                name=name,
                line=line,
                kind=kind,
                of_data=of_data,
                calls=timer.calls,
                seconds=timer.seconds,
                waits=timer.cpu_s < timer.seconds / 5,
            )
            for (name, line, kind, of_data), timer in self.timers.items()
            if timer.calls
        ]
        fields["stages"] = list(self.describe_stages(fields["counts"]))

    def describe_stages(self, counts: dict[str, float]) -> Iterator[Stage]:
        """The stages of every chain, those first that `fit` trains on; a chain of the same calls once.

        Counts the examples in batches by their line, and how many batches there are.
        """
        import tensorflow as tf

        used = {id(each) for call in self.chains.made.values() for each in call.inputs}
        made = [call.dataset for name, call in self.chains.made.items() if name not in used]
        names, ends = set[tuple[Any, ...]](), [self.given, *made]
        for end in ends:
            if not isinstance(end, tf.data.Dataset):
                continue
            chain = self.chains.trace(end)
            ends.extend(chain[0].inputs)
            name = tuple(call.key or call.method for call in chain)
            if name in names or len(names) >= MOST_CHAINS:
                continue
            names.add(name)
            for call in chain:
                yield self.describe_stage(call, len(names))
                size = getattr(call.dataset, "_batch_size", None)
                if size is not None:
                    counts.setdefault(f"batch:{call.line}", int(size))
                    counts.setdefault(f"epoch_steps:{call.line}", int(call.dataset.cardinality()))

    def describe_stage(self, call: chains.Call, number: int) -> Stage:
        """A stage of the chain of this number."""
        has_size = call.key and find_operations(call.dataset)
        return Stage(
            dataset=number,
            method=call.method,
            line=call.line,
            random=self.is_random(call),
            parallel=bool(call.arguments.get("num_parallel_calls")),
            key=call.key,
            bytes=within(lambda: measure(call.dataset)) if has_size else None,
        )

    def is_random(self, call: chains.Call) -> bool | None:
        """Whether a stage gives something else when the same passes again; None: it can't be told."""
        if len(call.inputs) > 1:
            stages = [stage for each in call.inputs for stage in self.chains.trace(each)]
            parts = {self.is_random(stage) for stage in stages}
            return True if True in parts else None if None in parts else False
        operations = find_operations(call.dataset)
        if "shuffle" in call.method:
            return getattr(call.dataset, "_reshuffle_each_iteration", None) is not False
        if "random" in call.method or call.arguments.get("deterministic") is False:
            return True
        if any(name in each for each in operations for name in _RANDOM if "Stateless" not in each):
            return True
        if not operations & _IN_PYTHON:
            return False
        random: bool | None = within(lambda: differs(call))
        return random


def find_operations(dataset: Any) -> set[str]:
    """The operations of a stage's functions, of those that they call as well."""
    operations = set[str]()
    for function in getattr(dataset, "_functions", list)():
        graph = function.function.graph.as_graph_def()
        for nodes in (graph.node, *(each.node_def for each in graph.library.function)):
            operations |= {node.op for node in nodes}
    return operations


def measure(dataset: Any) -> int | None:
    """Bytes of all elements, by the first and their number; None: the number isn't known."""
    count = int(dataset.cardinality())
    return None if count < 0 else count * sum(map(chains.size_of, dataset.take(1)))


def differs(call: chains.Call) -> bool | None:
    """Whether Python in a stage gives something else when the same passes again; None: it can't be told.

    Of a map or a filter the function alone is called again, with the same elements, whatever stands
    before it.
    """
    import tensorflow as tf

    if call.method == "from_generator":
        return not _equal(*(list(call.dataset.take(PASSED)) for _ in range(2)))
    if call.method not in ("map", "parallelmap", "filter"):
        return None
    (wrapped,), deadline = call.dataset._functions(), time.monotonic() + PATIENCE_S / 2  # noqa: SLF001
    for element in call.inputs[0].take(PASSED):
        flat = tf.nest.flatten(element, expand_composites=True)
        if not _equal(*(wrapped.function(*flat) for _ in range(2))):
            return True
        if time.monotonic() > deadline:
            break
    return False


def _equal(first: Any, again: Any) -> bool:
    import numpy as np
    import tensorflow as tf

    pairs = [tf.nest.flatten(each, expand_composites=True) for each in (first, again)]
    return len(pairs[0]) == len(pairs[1]) and all(map(np.array_equal, *pairs))


def within(look: Callable[[], Any]) -> Any:
    """What a look at the script's own functions gives; None: it fails or takes too long.  The process ends
    soon, and with it what may still be running."""
    with contextlib.suppress(Exception):
        return ThreadPoolExecutor().submit(look).result(2 * PATIENCE_S)
    return None
