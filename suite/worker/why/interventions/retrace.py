"""Retracing ended: Python numbers as tensors, shapes that change left open, functions made once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention, is_worth, make_try
from suite.worker.why.run import ScriptRun

_TEXTS = {
    "number": "{names} passed to {name} as a tensor: tf.constant(…)",
    "shape": "@tf.function(reduce_retracing=True) above {name}",
    "anew": "{name} made a tf.function once, before the loop",
}


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    for each in watched.retraces:
        kind, _, what = each.reason.partition(": ")
        names = ", ".join(re.findall(r"(\w+) is ", what)) if kind == "number" else ""
        if kind in _TEXTS and is_worth(watched, watched.counts.get(f"retrace.{each.name}_s", 0.0)):
            target = f"{each.name}:{kind}{names and ':'}{names.replace(' ', '')}"
            text = _TEXTS[kind].format(name=each.name, names=names)
            yield make_try(f"retrace:{target}", "retracing", text, each.line, training="rounding")


def _install(run: ScriptRun, target: str) -> None:
    name, kind, *names = re.split("[:,]", target)

    def open_shapes(original: Any) -> Any:
        def init(function: Any, *words: Any, **named: Any) -> None:
            original(function, *words, **named)
            if _is_it(run, function, name):
                function._reduce_retracing = True  # noqa: SLF001  there is no other way, once it is made
                run.applied()

        return init

    def change_call(original: Any) -> Any:
        first: dict[Any, Any] = {}

        def call(function: Any, *words: Any, **named: Any) -> Any:
            if _is_it(run, function, name):
                if kind == "anew":
                    kept = first.setdefault(_tell_apart(function), function)
                    run.applied(kept is not function)
                    return original(kept, *words, **named)
                run.applied()
                words, named = _with_tensors(function, names, words, named)
            return original(function, *words, **named)

        return call

    if kind == "shape":
        run.patch("function.init", open_shapes)
    else:
        run.patch("function.call", change_call)


def _is_it(run: ScriptRun, function: Any, name: str) -> bool:
    code = getattr(inspect.unwrap(function.python_function), "__code__", None)
    return code is not None and code.co_filename == run.file and code.co_name == name


def _tell_apart(function: Any) -> Any:
    """What two functions made of the same lines have in common, if they do the same."""
    python = inspect.unwrap(function.python_function)
    return python.__code__, tuple(id(cell.cell_contents) for cell in python.__closure__ or ())


def _with_tensors(function: Any, names: list[str], words: Any, named: Any) -> tuple[Any, Any]:
    """A call's arguments, of which those of these names are tensors."""
    import tensorflow as tf

    bound = inspect.signature(function.python_function).bind(*words, **named)
    for name in set(names) & bound.arguments.keys():
        bound.arguments[name] = tf.constant(bound.arguments[name])
    return bound.args, bound.kwargs


RETRACE = Intervention(
    name="retrace", propose=_propose, install=_install, needs=("function.init", "function.call")
)
