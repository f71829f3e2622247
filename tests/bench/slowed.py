"""The worker with one thing slowed down: ``python -m tests.bench.slowed PLANT SECONDS WORD…``.

Wraps what TensorFlow and Keras bring, before the worker runs in the same process; the suite knows nothing of
it.  Nobody waits for what is slow: the clock that the worker and the scripts read goes on by as much, so that
a plant can be far larger than a busy machine's noise.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

Sleep = Callable[[float], None]


def make_sleep() -> Sleep:
    """What puts this process's clock forward, from now on."""
    usual, ahead = time.perf_counter_ns, [0]

    def read() -> int:
        return usual() + ahead[0]

    def sleep(seconds: float) -> None:
        ahead[0] += round(1e9 * seconds)

    time.perf_counter_ns = read
    time.perf_counter = lambda: read() / 1e9
    return sleep


def slow_trace(sleep: Sleep, seconds: float, *, which: int) -> None:
    """The trace of that number (from 1) of each model takes so much longer."""
    import tensorflow as tf

    call = tf.keras.Model.__call__
    traced: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def slowed(self: Any, *words: Any, **options: Any) -> Any:
        if tf.inside_function():
            traced[self] = traced.get(self, 0) + 1
            if traced[self] == which:
                sleep(seconds)
        return call(self, *words, **options)

    tf.keras.Model.__call__ = slowed


def slow_argument(sleep: Sleep, seconds: float) -> None:
    """An optimizer that a `tf.function` is handed takes so long to become a part of its cache's key.

    A hash alone would be asked for once: TensorFlow keeps a weak reference, which keeps the hash.
    """
    import tensorflow as tf
    from tensorflow.core.function.trace_type import default_types

    def tell_type(self: Any, _context: Any) -> Any:
        sleep(seconds)
        return default_types.Weakref(weakref.ref(self))

    tf.keras.optimizers.Adam.__tf_tracing_type__ = tell_type


PLANTS: dict[str, Callable[[Sleep, float], None]] = {
    "none": lambda *_: None,
    "first-trace": partial(slow_trace, which=1),
    "second-trace": partial(slow_trace, which=2),
    "argument": slow_argument,
}
"""What is slowed down, by its name."""


def main() -> int:
    from suite.worker.__main__ import main as work

    name, seconds, *words = sys.argv[1:]
    PLANTS[name](make_sleep(), float(seconds))
    return work(words)


if __name__ == "__main__":
    sys.exit(main())
