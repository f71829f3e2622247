"""Retracing ended: Python numbers as tensors, shapes that change left open, functions made once."""

from __future__ import annotations

import inspect
import re
from typing import Any

from suite.model.why import Watched
from suite.worker.why.calls import Arguments, find_code, intercept
from suite.worker.why.intervention import Intervention, Offers, is_worth
from suite.worker.why.run import ScriptRun

_TEXTS = {
    "number": "{names} passed to {name} as a tensor: tf.constant(…)",
    "shape": "@tf.function(reduce_retracing=True) above {name}",
    "anew": "{name} made a tf.function once, before the loop",
}


def _find(watched: Watched) -> Offers:
    for each in watched.retraces:
        kind, _, names = each.reason.partition(": ")
        if kind in _TEXTS and is_worth(watched, watched.counts.get(f"retrace.{each.name}_s", 0.0)):
            target = f"{each.name}:{each.reason.replace(' ', '')}"
            text = _TEXTS[kind].format(name=each.name, names=names)
            yield {"text": text, "line": each.line, "target": target}


def _install(run: ScriptRun, target: str) -> None:
    import tensorflow as tf

    name, kind, *names = re.split("[:,]", target)
    first: dict[Any, Any] = {}

    def is_meant(python_function: Any) -> bool:
        code = find_code(run, python_function)
        return code is not None and code.co_name == name

    def open_shapes(arguments: Arguments) -> None:
        if is_meant(arguments["python_function"]):
            arguments["reduce_retracing"] = True
            run.applied()

    def reuse(arguments: Arguments) -> None:
        function = arguments["self"]
        if is_meant(function.python_function):
            arguments["self"] = first.setdefault(_tell_apart(function), function)
            run.applied(arguments["self"] is not function)

    def pass_tensors(arguments: Arguments) -> None:
        python = arguments["self"].python_function
        if is_meant(python):
            words, named = arguments.get("args", ()), arguments.get("kwds", {})
            bound = inspect.signature(python).bind(*words, **named)
            for number in set(names) & bound.arguments.keys():
                bound.arguments[number] = tf.constant(bound.arguments[number])
            arguments |= {"args": bound.args, "kwds": bound.kwargs}
            run.applied()

    if kind == "shape":
        intercept(run, open_shapes, "function.init")
    else:
        intercept(run, reuse if kind == "anew" else pass_tensors, "function.call")


def _tell_apart(function: Any) -> Any:
    """What two functions made of the same lines have in common, if they do the same."""
    python = inspect.unwrap(function.python_function)
    owner, code = getattr(python, "__self__", None), python.__code__
    held = [cell.cell_contents for cell in python.__closure__ or ()]
    held += [python.__globals__.get(name) for name in code.co_names]
    return code, id(owner), *map(id, held)


RETRACE = Intervention("retrace", "retracing", _find, _install, training="rounding")
