"""Which data set was made by which call of the script: `tf.data`'s methods, watched or changed at one place.

Only calls from the script itself count: TensorFlow and Keras call the same methods.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from suite.worker.why.names import NAMES
from suite.worker.why.run import ScriptRun

METHODS = tuple(
    name.removeprefix("dataset.")
    for name in NAMES
    if name.startswith("dataset.") and name not in ("dataset.__iter__", "dataset.apply")
)
NEEDS = tuple(f"dataset.{method}" for method in METHODS)
"""Names that are patched for it."""


@dataclass(eq=False)
class Call:
    """A call of one of `tf.data`'s methods by the script; ``key``: its line and method, and which of them it
    is where a chain goes through that line more than once."""

    line: int
    method: str
    key: str
    inputs: Sequence[Any]
    bound: inspect.BoundArguments
    original: Callable[..., Any]

    def make(self) -> Any:
        """The data set, as the script asks for it."""
        return self.original(*self.bound.args, **self.bound.kwargs)

    def again(self, dataset: Any) -> Any:
        """The same method with the same arguments, of another data set."""
        return self.original(dataset, *self.bound.args[1:], **self.bound.kwargs)


Around = Callable[[Call, Callable[[], Any]], Any]
"""Makes a call's data set; the function makes what would come of it without this."""


class Chains:
    """Every data set that the script makes, and what changes them on the way."""

    def __init__(self, run: ScriptRun) -> None:
        self.run = run
        self.around: list[Around] = []
        self.made: dict[int, tuple[Any, Call]] = {}
        """By the data set's id; it is held, so that the id stays its own."""
        self._busy = False
        for method in METHODS:
            run.patch(f"dataset.{method}", functools.partial(self._watch, method))

    def trace(self, dataset: Any) -> list[tuple[Any, Call | None]]:
        """A data set and what it is made of, the source first, with the script's calls; where several are
        brought together, that is the source."""
        nodes: list[tuple[Any, Call | None]] = []
        while True:
            call = self.made.get(id(dataset), (None, None))[1]
            nodes.insert(0, (dataset, call))
            inputs = self.inputs(dataset)
            if len(inputs) != 1:
                return nodes
            dataset = inputs[0]

    def inputs(self, dataset: Any) -> Sequence[Any]:
        """What a data set is made of."""
        made = self.made.get(id(dataset))
        return made[1].inputs if made else getattr(dataset, "_inputs", list)()

    def _watch(self, method: str, original: Any) -> Any:
        import tensorflow as tf

        signature = inspect.signature(original)

        def call(*words: Any, **named: Any) -> Any:
            frame = find_caller()
            if self._busy or frame.f_code.co_filename != self.run.file or tf.inside_function():
                return original(*words, **named)
            bound = signature.bind(*words, **named)
            given = tf.nest.flatten([list(bound.args), bound.kwargs])
            inputs = [each for each in given if isinstance(each, tf.data.Dataset)]
            place = (frame.f_lineno, method)
            before = self.trace(inputs[0]) if len(inputs) == 1 else []
            nth = 1 + sum(place == (c.line, c.method) for _, c in before if c)
            key = f"{place[0]}.{method}" + (f".{nth}" if nth > 1 else "")
            made = Call(*place, key, inputs, bound, original)
            self._busy = True
            try:
                dataset = self._make(made, self.around)
            finally:
                self._busy = False
            self.made[id(dataset)] = (dataset, made)
            return dataset

        return call

    def _make(self, call: Call, around: Sequence[Around]) -> Any:
        if not around:
            return call.make()
        return around[-1](call, lambda: self._make(call, around[:-1]))


@functools.cache
def follow(run: ScriptRun) -> Chains:
    """The chains of a run; what asks first has the methods patched."""
    return Chains(run)


def find_caller() -> FrameType:
    """The frame that called what is patched; ours are passed over."""
    frame = sys._getframe(1)  # noqa: SLF001  the stack's only door
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("suite."):
        frame = frame.f_back
    return frame


def is_called_by_keras() -> bool:
    """Whether Keras calls what is patched, and not the script."""
    return str(find_caller().f_globals.get("__name__", "")).startswith("keras.")


def is_of_data(frame: FrameType | None) -> bool:
    """Whether what is traced now is a function of a data set."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").endswith("data.ops.structured_function"):
            return True
        frame = frame.f_back
    return False


def is_script_function(function: Any) -> bool:
    """Whether it is not one of TensorFlow's or Keras's own."""
    return not str(getattr(function, "__module__", "")).startswith(("tensorflow.", "keras."))
