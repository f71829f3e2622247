"""The worker with one thing slowed down: ``python -m tests.bench.slowed PLANT SECONDS WORD…``.

Wraps what TensorFlow and Keras bring, before the worker runs in the same process; the suite knows nothing of
it.  Without a plant (``none``) it is the worker, with TensorFlow imported before.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from typing import Any


def slow_trace(which: int, seconds: float) -> None:
    """The trace of that number (from 1) of each model takes so much longer."""
    import tensorflow as tf

    call = tf.keras.Model.__call__
    traced: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def slowed(self: Any, *words: Any, **options: Any) -> Any:
        if tf.inside_function():
            traced[self] = traced.get(self, 0) + 1
            if traced[self] == which:
                time.sleep(seconds)
        return call(self, *words, **options)

    tf.keras.Model.__call__ = slowed


def slow_argument(seconds: float) -> None:
    """An optimizer that a `tf.function` is handed takes so long to become a part of its cache's key.

    A hash alone would be asked for once: TensorFlow keeps a weak reference, which keeps the hash.
    """
    import tensorflow as tf
    from tensorflow.core.function.trace_type import default_types

    def tell_type(self: Any, _context: Any) -> Any:
        time.sleep(seconds)
        return default_types.Weakref(weakref.ref(self))

    tf.keras.optimizers.Adam.__tf_tracing_type__ = tell_type


PLANTS: dict[str, Callable[[float], None]] = {
    "none": lambda _: None,
    "first-trace": lambda seconds: slow_trace(1, seconds),
    "second-trace": lambda seconds: slow_trace(2, seconds),
    "argument": slow_argument,
}
"""What is slowed down, by its name."""


def main() -> int:
    from suite.worker.__main__ import main as work

    name, seconds, *words = sys.argv[1:]
    PLANTS[name](float(seconds))
    return work(words)


if __name__ == "__main__":
    sys.exit(main())
