"""Retracing ended: Python numbers as tensors, shapes that change left open, functions made once."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from suite.model.why import Try, Watched
from suite.worker.why.intervention import Intervention, is_worth

if TYPE_CHECKING:
    from suite.worker.why.run import ScriptRun

_TEXTS = {
    "number": "pass it to {name} as a tensor: tf.constant({argument})",
    "shape": "@tf.function(reduce_retracing=True) above {name}",
    "made anew": "make {name} a tf.function once, before the loop",
}


def _propose(watched: Watched, _on_gpu: bool) -> Iterator[Try]:
    for each in watched.retraces:
        kind, _, what = each.reason.partition(": ")
        if kind in _TEXTS and is_worth(watched, watched.counts.get(f"retrace.{each.name}_s", 0.0)):
            text = _TEXTS[kind].format(name=each.name, argument=what.partition(" ")[0])
            yield Try(
                name=f"retrace@{each.name}",
                intervention="retrace",
                target=f"{each.name}:{kind}",
                cause="retracing",
                kind="fix",
                line=each.line,
                text=text,
                training="rounding",
            )


def _install(run: ScriptRun, target: str) -> None:
    name, _, kind = target.partition(":")

    def is_it(function: Any) -> bool:
        code = getattr(inspect.unwrap(function.python_function), "__code__", None)
        return code is not None and code.co_filename == run.file and code.co_name == name

    def open_shapes(original: Any) -> Any:
        def init(function: Any, *words: Any, **named: Any) -> None:
            original(function, *words, **named)
            if is_it(function):
                function._reduce_retracing = True
                run.applied()

        return init

    def pass_tensors(original: Any) -> Any:
        def call(function: Any, *words: Any, **named: Any) -> Any:
            if is_it(function):
                words = tuple(map(as_tensor, words))
                named = {key: as_tensor(value) for key, value in named.items()}
            return original(function, *words, **named)

        return call

    def as_tensor(value: Any) -> Any:
        import tensorflow as tf

        if not isinstance(value, int | float) or isinstance(value, bool):
            return value
        run.applied()
        return tf.constant(value)

    def take_first(original: Any) -> Any:
        first: dict[Any, Any] = {}

        def call(function: Any, *words: Any, **named: Any) -> Any:
            if not is_it(function):
                return original(function, *words, **named)
            python = inspect.unwrap(function.python_function)
            cells = tuple(id(cell.cell_contents) for cell in python.__closure__ or ())
            kept = first.setdefault((python.__code__, cells), function)
            run.applied(kept is not function)
            return original(kept, *words, **named)

        return call

    if kind == "shape":
        run.patch("function.init", open_shapes)
    else:
        run.patch("function.call", pass_tensors if kind == "number" else take_first)


RETRACE = Intervention(
    name="retrace", propose=_propose, install=_install, needs=("function.init", "function.call")
)
