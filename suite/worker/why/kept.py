"""What Python makes one by one, kept in memory and given again."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from types import GeneratorType
from typing import Any

from suite.worker.why.chains import is_script_function
from suite.worker.why.run import ScriptRun

MOST_BYTES = 2**30
"""What is larger in all is not kept, and the change then does not apply."""

ENDLESS = 64
"""So many elements stand for a data set without end."""

RESULTS = 16
"""So many results of a function, for inputs of the same shapes, stand for all others."""


class Kept:
    """What a run keeps."""

    def __init__(self, run: ScriptRun) -> None:
        self.run = run
        self.bytes = 0
        self._items: dict[Any, tuple[list[Any], bool]] = {}

    @property
    def most(self) -> int:
        """As many elements as the run can need, one a step."""
        return self.run.task.window[1] + 2 if self.run.task.window else ENDLESS

    def fill(self, iterable: Iterable[Any]) -> int | None:
        """How many elements there are, of which each is made; None: they are too large."""
        count = 0
        for element in iterable:
            count += 1
            self.bytes += size_of(element)
            if self.bytes > MOST_BYTES:
                return None
        return count

    def give(self, key: Any, iterable: Iterable[Any]) -> Iterable[Any]:
        """The items from memory, in their order: those that came first under this key.

        Where they don't end in time, the first ones come again until the run is over.
        """
        if key not in self._items:
            iterator = iter(iterable)
            items: list[Any] = []
            with self.run.pause():
                for item in itertools.islice(iterator, self.most):
                    items.append(item)
                    self.bytes += size_of(item)
                    if not self.bytes or self.bytes > MOST_BYTES:
                        return itertools.chain(items, iterator)
            self._items[key] = (items, len(items) < self.most)
        items, ended = self._items[key]
        self.run.applied()
        return list(items) if ended else itertools.cycle(items)

    def give_again(self, key: Any, iterable: Iterable[Any]) -> Iterator[Any]:
        """The items as they are made, and from memory once they have come to their end under this key."""
        if key in self._items:
            self.run.applied()
            yield from self._items[key][0]
            return
        items: list[Any] | None = []
        for item in iterable:
            if items is not None:
                items.append(item)
                self.bytes += size_of(item)
                if self.bytes > MOST_BYTES:
                    items = None
            yield item
        if items is not None:
            self._items[key] = (items, True)

    def repeat_results(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, of which a few calls are made and their results then given in turn."""
        by_shapes: dict[Any, tuple[list[Any], Iterator[int]]] = {}

        @functools.wraps(function)
        def call(*inputs: Any) -> Any:
            shapes = tuple(str(getattr(each, "shape", "")) for each in inputs)
            results, turns = by_shapes.setdefault(shapes, ([], itertools.count()))
            if len(results) < RESULTS:
                results.append(function(*inputs))
                return results[-1]
            self.run.applied()
            return results[next(turns) % RESULTS]

        return call


def size_of(element: Any) -> int:
    """Bytes of the tensors and arrays in an element."""
    import tensorflow as tf

    size = 0
    for value in tf.nest.flatten(element, expand_composites=True):
        if isinstance(value, tf.Tensor):
            size += value.dtype.size * int(tf.size(value))
        else:
            size += int(getattr(value, "nbytes", 0))
    return size


def gives_batches(iterable: Any) -> bool:
    """Whether it is Python that makes its items one by one: a generator, or what is wrapped around one."""
    import keras

    if isinstance(iterable, GeneratorType | enumerate | zip | keras.utils.PyDataset):
        return True
    return hasattr(iterable, "__next__") and is_script_function(type(iterable))
