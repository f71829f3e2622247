"""Calls of Keras's methods: their arguments by name, and the callbacks among them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from suite.worker.why.run import ScriptRun

Change = Callable[[dict[str, Any]], object]

KERAS_OWN = ("History", "ProgbarLogger", "Marks")
"""Callbacks that no script asks for."""

BY_BATCH = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")
BY_EPOCH = (
    *("on_epoch_begin", "on_epoch_end", "on_test_begin", "on_test_end"),
    *("on_test_batch_begin", "on_test_batch_end"),
)


def rebind(original: Any, change: Change) -> Any:
    """The function with its arguments passed through ``change``, which may set any of them by name."""
    signature = inspect.signature(original)

    def call(*words: Any, **named: Any) -> Any:
        bound = signature.bind(*words, **named)
        change(bound.arguments)
        return original(*bound.args, **bound.kwargs)

    return call


def configure(run: ScriptRun, setting: str, value: Any) -> None:
    """Gives every model that is trained a setting of ``compile``, whoever compiled it."""

    def change(arguments: dict[str, Any]) -> None:
        model = arguments["self"]
        if getattr(model, setting) != value:
            setattr(model, setting, value)
            run.applied()

    for method in ("fit", "train_on_batch", "evaluate", "predict"):
        run.patch(method, lambda original: rebind(original, change))


def own_callbacks(given: Any) -> list[Any]:
    """The script's callbacks, however ``fit`` was given them."""
    if given is None:
        return []
    listed = getattr(given, "callbacks", given)
    listed = listed if isinstance(listed, list | tuple) else [listed]
    return [each for each in listed if type(each).__name__ not in KERAS_OWN]


def methods(callback: Any, by_batch: bool) -> dict[str, Any]:
    """The callback's methods that do something, by name: at every batch, or else about an epoch.

    What Keras's own do at every batch is left out where they wait for the epoch.
    """
    frequency = getattr(callback, "save_freq", getattr(callback, "update_freq", None))
    names = () if by_batch and frequency == "epoch" else BY_BATCH if by_batch else BY_EPOCH
    found = {name: getattr(callback, name) for name in names}
    return {
        name: method for name, method in found.items() if not getattr(method, "_is_default", False)
    }


def count_examples(data: Any) -> int:
    """How many examples arrays or tensors hold; 0: it cannot be told."""
    while isinstance(data, list | tuple | dict) and data:
        data = next(iter(data.values())) if isinstance(data, dict) else data[0]
    shape = getattr(data, "shape", None)
    return int(shape[0] or 0) if shape is not None and len(shape) else 0


def is_single(arguments: dict[str, Any]) -> bool:
    """Whether a call of ``fit``, ``evaluate`` or ``predict`` goes over one batch, once."""
    examples = count_examples(arguments.get("x"))
    more = ("callbacks", "validation_data", "validation_split", "steps", "steps_per_epoch")
    return (
        0 < examples <= (arguments.get("batch_size") or 32)
        and arguments.get("epochs", 1) == 1
        and not any(arguments.get(name) is not None for name in more)
    )
