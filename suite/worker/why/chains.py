"""What a script's data is made of: which of its calls made which data set, watched or changed at one place,
and what is Python there.

Only calls from the script itself count: TensorFlow and Keras call the same methods.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType, GeneratorType
from typing import Any

from suite.worker.why.calls import Arguments
from suite.worker.why.names import NAMES
from suite.worker.why.run import ScriptRun

NO_STAGES = ("dataset.__iter__", "dataset.apply")
"""Names that are patched, and make no data set of their own."""


@dataclass(eq=False)
class Call:
    """A call of one of `tf.data`'s methods, and the ``dataset`` that came of it.

    ``key``: its line and method, and which of them it is where a chain goes through that line more than
    once.  One that isn't the script's has no line, no key and no arguments.
    """

    method: str
    inputs: Sequence[Any]
    line: int | None = None
    key: str = ""
    bound: Any = None
    original: Any = None
    dataset: Any = None

    @property
    def arguments(self) -> Arguments:
        """What it was given, by name; changes count until the data set is made."""
        return self.bound.arguments if self.bound else {}

    def make(self, *dataset: Any) -> Any:
        """The data set, as the script asks for it; or by the same method of another one."""
        return self.original(*dataset, *self.bound.args[len(dataset) :], **self.bound.kwargs)


Around = Callable[[Call, Callable[[], Any]], Any]
"""Makes a call's data set; the function makes what would come of it without this."""


class Chains:
    """Every data set that the script makes, and what changes them on the way."""

    def __init__(self, run: ScriptRun) -> None:
        self.run = run
        self.around: list[Around] = []
        self.made: dict[int, Call] = {}
        """By the data set's id; it is held, so that the id stays its own."""
        self._busy = False
        for name in NAMES:
            if name.startswith("dataset.") and name not in NO_STAGES:
                run.patch(name, functools.partial(self._watch, name.removeprefix("dataset.")))

    def find(self, dataset: Any) -> Call:
        """How a data set was made."""
        method = type(dataset).__name__.strip("_").removesuffix("Dataset").lower()
        inputs: Sequence[Any] = getattr(dataset, "_inputs", list)()
        return self.made.get(id(dataset)) or Call(method, inputs, dataset=dataset)

    def trace(self, dataset: Any) -> list[Call]:
        """How a data set and what it is made of were made, the source first; where several are brought
        together, that is the source."""
        calls = [self.find(dataset)]
        while len(calls[0].inputs) == 1:
            calls.insert(0, self.find(calls[0].inputs[0]))
        return calls

    def _watch(self, method: str, original: Any) -> Any:
        import tensorflow as tf

        signature = inspect.signature(original)

        def call(*words: Any, **named: Any) -> Any:
            frame = find_caller()
            if self._busy or frame.f_code.co_filename != self.run.file or tf.inside_function():
                return original(*words, **named)
            bound, line = signature.bind(*words, **named), frame.f_lineno
            given = tf.nest.flatten([list(bound.args), bound.kwargs])
            inputs = [each for each in given if isinstance(each, tf.data.Dataset)]
            before = self.trace(inputs[0]) if len(inputs) == 1 else []
            nth = 1 + sum((line, method) == (each.line, each.method) for each in before)
            key = f"{line}.{method}" + (f".{nth}" if nth > 1 else "")
            made = Call(method, inputs, line, key, bound, original)
            make: Callable[[], Any] = made.make
            for around in self.around:
                make = functools.partial(around, made, make)
            self._busy = True
            try:
                made.dataset = make()
            finally:
                self._busy = False
            self.made[id(made.dataset)] = made
            return made.dataset

        return call


@functools.cache
def follow(run: ScriptRun) -> Chains:
    """The chains of a run; what asks first has the methods patched."""
    return Chains(run)


def find_caller(*passed: str) -> FrameType:
    """The frame that called what is patched; ours are passed over, and those of modules that begin so."""
    frame = sys._getframe(1)  # noqa: SLF001  the stack's only door
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("suite.", *passed)):
        frame = frame.f_back
    return frame


def is_of_data() -> bool:
    """Whether what is traced now is a function of a data set."""
    return is_within("data.ops.structured_function")


def is_within(module: str) -> bool:
    """Whether what happens now was called by a module whose name ends so."""
    frame: FrameType | None = find_caller()
    while frame is not None:
        if frame.f_globals.get("__name__", "").endswith(module):
            return True
        frame = frame.f_back
    return False


def is_script_function(function: Any) -> bool:
    """Whether it is not one of TensorFlow's or Keras's own."""
    return not str(getattr(function, "__module__", "")).startswith(("tensorflow.", "keras."))


def size_of(element: Any) -> int:
    """Bytes of the tensors and arrays in an element."""
    import tensorflow as tf

    size = 0
    for value in tf.nest.flatten(element, expand_composites=True):
        is_tensor = tf.is_tensor(value)
        own = value.dtype.size * int(tf.size(value)) if is_tensor else getattr(value, "nbytes", 0)
        size += int(own)
    return size


def gives_batches(iterable: Any) -> bool:
    """Whether it is Python that makes its items one by one: a generator, or what is wrapped around one."""
    import keras

    if isinstance(iterable, GeneratorType | enumerate | zip | keras.utils.PyDataset):
        return True
    return hasattr(iterable, "__next__") and is_script_function(type(iterable))
