"""Python functions that graphs call, answered from memory: only their own Python is then free.

Of the data they are part of the input.  In the model they are work that only the CPU's interpreter does, and
for which a graph waits on every device: a fallback.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.chains import is_called_by_keras, is_of_data, is_script_function
from suite.worker.why.intervention import Intervention
from suite.worker.why.kept import Kept
from suite.worker.why.run import ScriptRun

_KINDS = ("py_function", "numpy_function", "from_generator", "generator")


def _propose(watched: Watched, gpu: bool, *, of_data: bool) -> Iterator[Try]:  # noqa: ARG001
    calls = [e for e in watched.python_calls if e.kind in _KINDS and e.of_data is of_data]
    calls.sort(key=lambda call: -call.seconds)
    if calls:
        names = ", ".join(
            dict.fromkeys(f"{c.name} (line {c.line})" if c.line else c.name for c in calls)
        )
        name = "python_data" if of_data else "python_model"
        yield Try(
            name=name,
            intervention=name,
            cause="input" if of_data else "fallback",
            kind="ceiling",
            text=f"the results of {names} taken from memory",
            line=calls[0].line,
            waits=any(each.waits for each in calls),
            training="otherwise",
        )


def _install(run: ScriptRun, target: str, *, of_data: bool) -> None:  # noqa: ARG001
    kept = Kept(run)
    run.patch("python_function", functools.partial(_call, kept, of_data))
    if of_data:
        run.patch("dataset.from_generator", functools.partial(_generate, kept))


def _call(kept: Kept, of_data: bool, original: Any) -> Any:
    def make(func: Any, *words: Any, **named: Any) -> Any:
        if is_script_function(func) and is_of_data(sys._getframe()) is of_data:  # noqa: SLF001
            func = kept.repeat_results(func)
        return original(func, *words, **named)

    return make


def _generate(kept: Kept, original: Any) -> Any:
    def from_generator(generator: Any, *words: Any, **named: Any) -> Any:
        # Keras asks for batches, one a step; a script's own generator may give examples.
        give = kept.give if is_called_by_keras() else kept.give_again
        key = object()
        return original(lambda *given: give((key, str(given)), generator(*given)), *words, **named)

    return from_generator


PYTHON_DATA, PYTHON_MODEL = (
    Intervention(
        name=name,
        propose=functools.partial(_propose, of_data=of_data),
        install=functools.partial(_install, of_data=of_data),
        needs=needs,
    )
    for name, of_data, needs in (
        ("python_data", True, ("python_function", "dataset.from_generator")),
        ("python_model", False, ("python_function",)),
    )
)
