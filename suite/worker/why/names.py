"""The names inside TensorFlow and Keras that runs of a script are watched and changed through.

The only table of them: a preflight asks an image for each, and where one is missing, what needs it is "not
possible here".
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_DATASET = ("tensorflow.python.data.ops.dataset_ops", "DatasetV2")
_TRAINER = ("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer")
_FUNCTION = ("tensorflow.python.eager.polymorphic_function.polymorphic_function", "Function")

NAMES: Mapping[str, tuple[str, str]] = {
    # Keras: what trains, and what it is told.
    "compile": ("keras.src.trainers.trainer", "Trainer.compile"),
    "fit": (_TRAINER[0], f"{_TRAINER[1]}.fit"),
    "evaluate": (_TRAINER[0], f"{_TRAINER[1]}.evaluate"),
    "predict": (_TRAINER[0], f"{_TRAINER[1]}.predict"),
    "train_on_batch": (_TRAINER[0], f"{_TRAINER[1]}.train_on_batch"),
    "make_train_function": (_TRAINER[0], f"{_TRAINER[1]}.make_train_function"),
    "layer.call": ("keras.src.layers.layer", "Layer.__call__"),
    "apply": ("keras.src.optimizers.base_optimizer", "BaseOptimizer.apply"),
    "load_weights": ("keras.src.models.model", "Model.load_weights"),
    # Keras: what it downloads, and where to.
    "download": ("keras.src.utils.file_utils", "urlretrieve"),
    "validate_file": ("keras.src.utils.file_utils", "validate_file"),
    "keras_home": ("keras.src.backend.config", "keras_home"),
    **{
        f"variable.{method}": (
            "tensorflow.python.ops.resource_variable_ops",
            f"ResourceVariable.{method}",
        )
        for method in ("assign", "assign_add", "assign_sub")
    },
    # Graphs.
    "function": ("tensorflow.python.eager.polymorphic_function.polymorphic_function", "function"),
    "function.init": (_FUNCTION[0], f"{_FUNCTION[1]}.__init__"),
    "function.call": (_FUNCTION[0], f"{_FUNCTION[1]}.__call__"),
    "function.trace": (
        "tensorflow.python.eager.polymorphic_function.tracing_compilation",
        "_create_concrete_function",
    ),
    "run_functions_eagerly": ("tensorflow._api.v2.config", "run_functions_eagerly"),
    "gradient": ("tensorflow.python.eager.backprop", "GradientTape.gradient"),
    "convert": ("tensorflow.python.framework.constant_op", "convert_to_eager_tensor"),
    "device": ("tensorflow", "device"),
    "python_function": ("tensorflow.python.ops.script_ops", "_internal_py_func"),
    # Data sets.
    **{
        f"dataset.{method}": (_DATASET[0], f"{_DATASET[1]}.{method}")
        for method in (
            *(
                "map",
                "filter",
                "flat_map",
                "interleave",
                "batch",
                "padded_batch",
                "shuffle",
                "cache",
            ),
            *("prefetch", "repeat", "take", "skip", "zip", "concatenate", "unbatch", "window"),
            *(
                "from_tensor_slices",
                "from_tensors",
                "from_generator",
                "range",
                "apply",
                "enumerate",
            ),
            "__iter__",
        )
    },
}
"""By the suite's name: the module, and the attribute in it."""

Make = Callable[[Any], Any]


def missing(names: Iterable[str]) -> list[str]:
    """Those of the names that this TensorFlow does not have."""
    return [name for name in names if _find(name) is None]


def patch(name: str, make: Make) -> None:
    """Puts ``make(original)`` in the place of a name; again: around what is there by then.

    Raises:
        KeyError: the name is not in the table.
        AttributeError: this TensorFlow does not have it.
    """
    found = _find(name)
    if found is None:
        raise AttributeError(f"this TensorFlow has no {'.'.join(NAMES[name])}")
    owner, attribute = found
    raw = owner.__dict__.get(attribute, getattr(owner, attribute))
    original = raw.__func__ if isinstance(raw, staticmethod | classmethod) else raw
    replacement = functools.wraps(original)(make(original))
    kind = type(raw) if isinstance(raw, staticmethod | classmethod) else None
    setattr(owner, attribute, kind(replacement) if kind else replacement)


def _find(name: str) -> tuple[Any, str] | None:
    """What holds the attribute, and the attribute; None: it is not there."""
    module, path = NAMES[name]
    *owners, attribute = path.split(".")
    try:
        owner = importlib.import_module(module)
        for part in owners:
            owner = getattr(owner, part)
    except (ImportError, AttributeError):
        return None
    return (owner, attribute) if hasattr(owner, attribute) else None
