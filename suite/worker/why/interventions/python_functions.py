"""Python functions that graphs call, answered from memory: only their own Python is then free.

Of the data they are part of the input.  In the model they are work that only the CPU's interpreter does, and
for which a graph waits on every device: a fallback.
"""

from __future__ import annotations

import functools
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from suite.model.why import Cause, Watched
from suite.worker.why.calls import Arguments, intercept
from suite.worker.why.chains import is_of_data, is_script_function
from suite.worker.why.intervention import Intervention, Offers
from suite.worker.why.run import ScriptRun

RESULTS = 16
"""So many results of a function, for inputs of the same shapes, stand for all others."""

_KINDS = ("py_function", "numpy_function")


def _find(watched: Watched, *, of_data: bool) -> Offers:
    calls = [e for e in watched.python_calls if e.kind in _KINDS and e.of_data is of_data]
    calls.sort(key=lambda call: -call.seconds)
    if calls:
        names = [f"{each.name} (line {each.line})" if each.line else each.name for each in calls]
        yield {
            "text": f"the results of {', '.join(dict.fromkeys(names))} taken from memory",
            "line": calls[0].line,
            "waits": any(each.waits for each in calls),
        }


def _install(run: ScriptRun, _target: str, *, of_data: bool) -> None:
    def change(arguments: Arguments) -> None:
        if is_script_function(arguments["func"]) and is_of_data() is of_data:
            arguments["func"] = _repeat_results(run, arguments["func"])

    intercept(run, change, "python_function")


def _repeat_results(run: ScriptRun, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of which a few calls are made and their results then given in turn."""
    by_shapes: defaultdict[Any, deque[Any]] = defaultdict(deque)

    @functools.wraps(function)
    def call(*inputs: Any) -> Any:
        results = by_shapes[tuple(str(getattr(each, "shape", "")) for each in inputs)]
        if len(results) < RESULTS:
            results.append(function(*inputs))
        else:
            results.rotate(-1)
            run.applied()
        return results[-1]

    return call


def _declare(name: str, cause: Cause, of_data: bool) -> Intervention:
    find = functools.partial(_find, of_data=of_data)
    install = functools.partial(_install, of_data=of_data)
    return Intervention(name, cause, find, install, kind="ceiling", training="otherwise")


PYTHON_DATA = _declare("python_data", "input", True)
PYTHON_MODEL = _declare("python_model", "fallback", False)
