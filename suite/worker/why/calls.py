"""Functions that get other arguments than they are given, and what calls of Keras's methods hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

from suite.worker.why.run import ScriptRun

Arguments = dict[str, Any]
"""Of a call, by name."""

Change = Callable[[Arguments], Any]
"""May set any of the arguments, and gives what makes of the function what is called instead;
None: the function itself."""

KERAS_OWN = ("History", "ProgbarLogger", "Marks")
"""Callbacks that no script asks for."""

BY_BATCH = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")
BY_EPOCH = (
    *("on_epoch_begin", "on_epoch_end", "on_test_begin", "on_test_end"),
    *("on_test_batch_begin", "on_test_batch_end"),
)


def intercept(run: ScriptRun, change: Change, *names: str) -> None:
    """Passes the arguments of the functions of these names through ``change``."""

    def rebind(original: Any) -> Any:
        signature = inspect.signature(original)

        def call(*words: Any, **named: Any) -> Any:
            bound = signature.bind(*words, **named)
            wrap = change(bound.arguments)
            return (wrap(original) if wrap else original)(*bound.args, **bound.kwargs)

        return call

    for name in names:
        run.patch(name, rebind)


def configure(run: ScriptRun, setting: str, value: Any) -> None:
    """Gives every model that is trained a setting of ``compile``, whoever compiled it."""

    def change(arguments: Arguments) -> None:
        model = arguments["self"]
        if getattr(model, setting) != value:
            setattr(model, setting, value)
            run.applied()

    intercept(run, change, "fit", "train_on_batch", "evaluate", "predict")


def wrap_callbacks(run: ScriptRun, wrap: Callable[[Any, bool, str, Any], Any]) -> None:
    """Puts ``wrap(callback, by_batch, name, method)`` in the place of each method of the script's callbacks:
    those at every batch, and those about an epoch.  Keras asks the object for its methods."""
    wrapped: dict[int, Any] = {}

    def change(arguments: Arguments) -> None:
        given = arguments.get("callbacks") or []
        listed = getattr(given, "callbacks", given)
        for callback in listed if isinstance(listed, list | tuple) else [listed]:
            if id(callback) in wrapped or type(callback).__name__ in KERAS_OWN:
                continue
            wrapped[id(callback)] = callback
            # What Keras's own do at every batch is nothing where they wait for the epoch.
            frequency = getattr(callback, "save_freq", getattr(callback, "update_freq", None))
            for name in (*(BY_BATCH if frequency != "epoch" else ()), *BY_EPOCH):
                method = getattr(callback, name)
                if not getattr(method, "_is_default", False):
                    setattr(callback, name, wrap(callback, name in BY_BATCH, name, method))

    intercept(run, change, "fit")


def count_examples(data: Any) -> int:
    """How many examples arrays or tensors hold; 0: it cannot be told."""
    while isinstance(data, list | tuple | dict) and data:
        data = next(iter(data.values())) if isinstance(data, dict) else data[0]
    shape = getattr(data, "shape", None)
    return int(shape[0] or 0) if shape is not None and len(shape) else 0


def is_single(arguments: Arguments) -> bool:
    """Whether a call of ``fit``, ``evaluate`` or ``predict`` goes over one batch, once."""
    examples = count_examples(arguments.get("x"))
    more = (
        "callbacks",
        "validation_data",
        "validation_split",
        "steps",
        "steps_per_epoch",
        "kwargs",
    )
    return (
        0 < examples <= (arguments.get("batch_size") or 32)
        and arguments.get("epochs", 1) == 1
        and not any(arguments.get(name) is not None for name in more)
    )


def find_code(run: ScriptRun, function: Any) -> CodeType | None:
    """The code of a function of the script's; None: it is another's."""
    code: CodeType | None = getattr(inspect.unwrap(function), "__code__", None)
    return code if code is not None and code.co_filename == run.file else None


def find_place(value: Any) -> int | None:
    """Where an array or a list lies in memory; None: it is neither."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return int(value.__array_interface__["data"][0])
    return id(value) if isinstance(value, list) else None
