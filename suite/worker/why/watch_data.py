"""Where a script's examples come from: the chains of its data sets, which of their stages are random, and the
Python that is called for them."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from suite.model.why import PythonCall, Stage
from suite.worker.why.chains import (
    Call,
    Chains,
    follow,
    is_called_by_keras,
    is_of_data,
    is_script_function,
)
from suite.worker.why.kept import gives_batches, size_of
from suite.worker.why.run import ScriptRun

PASSED = 64
"""Elements that are passed twice, to see whether a stage is random."""

PATIENCE_S = 1.0
"""So long a stage is looked at."""

_IN_PYTHON = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}
_RANDOM = (
    *("Random", "StatefulUniform", "StatefulStandard", "StatefulTruncated", "Rng", "Multinomial"),
    *("TruncatedNormal", "SampleDistorted", "Assign"),
)
"""Parts of the names of operations that may give something else each time."""


@dataclass
class Counted:
    """A Python function, and what its calls took."""

    name: str
    line: int | None
    kind: str
    of_data: bool
    calls: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0

    def time(self, function: Callable[..., Any], *words: Any) -> Any:
        """What the function gives, its seconds counted."""
        began, cpu = time.perf_counter(), time.thread_time()
        try:
            return function(*words)
        finally:
            self.calls += 1
            self.seconds += time.perf_counter() - began
            self.cpu_s += time.thread_time() - cpu

    def go_over(self, iterable: Any) -> Iterator[Any]:
        """The items, the seconds of each counted."""
        iterator, end = iter(iterable), object()
        while (item := self.time(next, iterator, end)) is not end:
            yield item


class DataWatch:
    """What is seen of a run's data."""

    def __init__(self, run: ScriptRun) -> None:
        self.run, self.chains = run, follow(run)
        self.counted: dict[tuple[Any, ...], Counted] = {}
        self.given: Any = None
        """What `fit` trains on."""

    def count(self, *what: Any) -> Counted:
        """What counts the calls of a function; the same for what is the same."""
        return self.counted.setdefault(what, Counted(*what))

    def tell(self, fields: dict[str, Any]) -> None:
        """Adds what was seen."""
        same = ("name", "line", "kind", "calls", "seconds", "of_data")
        fields["python_calls"] = [
            PythonCall(
                **{name: getattr(each, name) for name in same},
                waits=each.cpu_s < each.seconds / 5,
            )
            for each in self.counted.values()
            if each.calls
        ]
        fields["stages"] = list(self.describe_stages())
        if self.given is not None:
            fields.setdefault("settings", {})["fit_on"] = type(self.given).__name__

    def describe_stages(self) -> Iterator[Stage]:
        """The stages of every chain, those first that `fit` trains on; a chain of the same calls once."""
        import tensorflow as tf

        made = [dataset for dataset, _ in self.chains.made.values()]
        used = {id(each) for dataset in made for each in self.chains.inputs(dataset)}
        ends = [self.given, *(each for each in made if id(each) not in used)]
        told, number = set[tuple[Any, ...]](), 0
        for end in ends:
            if not isinstance(end, tf.data.Dataset):
                continue
            chain = self.chains.trace(end)
            if len(inputs := self.chains.inputs(chain[0][0])) > 1:
                ends.extend(inputs)
            name = tuple(call.key if call else type(dataset) for dataset, call in chain)
            if name in told or number >= 50:
                continue
            told.add(name)
            for dataset, call in chain:
                yield describe_stage(self.chains, dataset, call, number)
            number += 1


def describe_stage(chains: Chains, dataset: Any, call: Call | None, number: int) -> Stage:
    """A stage of the chain of this number."""
    kind = type(dataset).__name__
    operations = find_operations(dataset)
    method = call.method if call else kind.strip("_").removesuffix("Dataset").lower()
    python = bool(operations & _IN_PYTHON)
    arguments = call.bound.arguments if call else {}
    size = within(lambda: measure(dataset)) if call and (python or operations) else None
    return Stage(
        dataset=number,
        method=method,
        line=call.line if call else None,
        random=_is_random(chains, dataset, method, operations, arguments),
        python=python,
        parallel=bool(arguments.get("num_parallel_calls")) or kind.startswith("_Parallel"),
        detail=str(arguments.get("buffer_size", arguments.get("batch_size", ""))),
        key=call.key if call else "",
        bytes=size,
    )


def _is_random(
    chains: Chains, dataset: Any, method: str, operations: set[str], arguments: Any
) -> bool | None:
    inputs = chains.inputs(dataset)
    if len(inputs) > 1:
        stages = [stage for each in inputs for stage in chains.trace(each)]
        parts = [describe_stage(chains, *stage, 0).random for stage in stages]
        return True if True in parts else None if None in parts else False
    if "shuffle" in method:
        return getattr(dataset, "_reshuffle_each_iteration", None) is not False
    if "random" in method or arguments.get("deterministic") is False:
        return True
    if any(name in each for each in operations for name in _RANDOM if "Stateless" not in each):
        return True
    if not operations & _IN_PYTHON:
        return False
    random: bool | None = within(lambda: differs(dataset, method))
    return random


def find_operations(dataset: Any) -> set[str]:
    """The operations of a stage's functions, of those that they call as well."""
    found = set[str]()
    for function in getattr(dataset, "_functions", list)():
        graph = function.function.graph.as_graph_def()
        for nodes in (graph.node, *(each.node_def for each in graph.library.function)):
            found |= {node.op for node in nodes}
    return found


def measure(dataset: Any) -> int | None:
    """Bytes of all elements, by the first and their number; None: the number isn't known."""
    count = int(dataset.cardinality())
    if count < 0:
        return None
    return count * sum(map(size_of, dataset.take(1)))


def differs(dataset: Any, method: str) -> bool | None:
    """Whether a stage gives something else when the same passes again; None: it can't be told.

    Of a map or a filter the function alone is called again, with the same elements, whatever stands
    before it.
    """
    import tensorflow as tf

    if method == "from_generator":
        first, again = (list(dataset.take(PASSED)) for _ in range(2))
        return not _equal(first, again)
    if method not in ("map", "parallelmap", "filter"):
        return None
    (wrapped,), deadline = dataset._functions(), time.monotonic() + PATIENCE_S / 2  # noqa: SLF001
    for element in dataset._inputs()[0].take(PASSED):  # noqa: SLF001
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
    return len(pairs[0]) == len(pairs[1]) and all(
        np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(*pairs, strict=True)
    )


def within(look: Callable[[], Any]) -> Any:
    """What a look at the script's own functions gives; None: it fails or takes too long.  The process ends
    soon, and with it what may still be running."""
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(look())
        except Exception:  # noqa: BLE001  whatever the script's functions raise outside of its own run
            found.append(None)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(2 * PATIENCE_S)
    return found[0] if found else None


# --- What is patched -----------------------------------------------------------------------------------


def install(run: ScriptRun) -> None:
    """Has the data of a run watched."""
    watch = DataWatch(run)
    run.patch("dataset.from_generator", lambda original: _watch_generators(original, watch))
    run.patch("python_function", lambda original: _watch_functions(original, watch))
    run.patch("fit", lambda original: _watch_fit(original, watch))
    run.tree.on_for(lambda line, iterable: _watch_for(watch, line, iterable))
    run.at_end(watch.tell)


def describe_function(run: ScriptRun, function: Any) -> tuple[str, int | None]:
    """A Python function's name, and its line in the script, or that of the call it is used in."""
    code = getattr(function, "__code__", None)
    line = code.co_firstlineno if code and code.co_filename == run.file else run.user_line()
    return getattr(function, "__name__", type(function).__name__), line


def _watch_functions(original: Any, watch: DataWatch) -> Any:
    def make(func: Any, inp: Any, Tout: Any, *words: Any, **named: Any) -> Any:  # noqa: N803
        if not is_script_function(func):
            return original(func, inp, Tout, *words, **named)
        kind = "py_function" if named.get("use_eager_py_func") else "numpy_function"
        of_data = is_of_data(sys._getframe())  # noqa: SLF001
        counted = watch.count(*describe_function(watch.run, func), kind, of_data)
        timed = lambda *inputs: counted.time(func, *inputs)  # noqa: E731
        return original(timed, inp, Tout, *words, **named)

    return make


def _watch_generators(original: Any, watch: DataWatch) -> Any:
    def from_generator(generator: Any, *words: Any, **named: Any) -> Any:
        name, line = describe_function(watch.run, generator)
        kind = "from_generator"
        if is_called_by_keras():
            given = watch.given
            name, kind = getattr(given, "__name__", type(given).__name__), "generator"
        counted = watch.count(name, line, kind, True)
        return original(lambda *given: counted.go_over(generator(*given)), *words, **named)

    return from_generator


def _watch_fit(original: Any, watch: DataWatch) -> Any:
    def fit(model: Any, x: Any = None, *words: Any, **named: Any) -> Any:
        watch.given = x
        return original(model, x, *words, **named)

    return fit


def _watch_for(watch: DataWatch, line: int, iterable: Any) -> Any:
    if not gives_batches(iterable):
        return iterable
    name = getattr(iterable, "__name__", type(iterable).__name__)
    return watch.count(name, line, "for", True).go_over(iterable)
