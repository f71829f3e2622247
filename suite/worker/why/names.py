"""The names inside TensorFlow and Keras that runs of a script are watched and changed through; the only table
of them."""

from __future__ import annotations

import functools
import pkgutil
import re
from collections.abc import Callable, Mapping
from typing import Any

_TRAINER = "keras.src.backend.tensorflow.trainer:TensorFlowTrainer."
_KERAS_FILES = "keras.src.utils.file_utils:"
_GRAPHS = "tensorflow.python.eager.polymorphic_function."
_FUNCTION = f"{_GRAPHS}polymorphic_function:Function."
_VARIABLES = "tensorflow.python.ops.resource_variable_ops:"
_VARIABLE = f"{_VARIABLES}ResourceVariable."
_DATASET = "tensorflow.python.data.ops.dataset_ops:DatasetV2."

NAMES: Mapping[str, str] = {
    # Keras: what trains, and what it is told.
    "compile": "keras.src.trainers.trainer:Trainer.compile",
    "fit": f"{_TRAINER}fit",
    "evaluate": f"{_TRAINER}evaluate",
    "predict": f"{_TRAINER}predict",
    "train_on_batch": f"{_TRAINER}train_on_batch",
    "make_train_function": f"{_TRAINER}make_train_function",
    "layer.call": "keras.src.layers.layer:Layer.__call__",
    "apply": "keras.src.optimizers.base_optimizer:BaseOptimizer.apply",
    "load_weights": "keras.src.models.model:Model.load_weights",
    # Keras: what it downloads, and where to.
    "download": f"{_KERAS_FILES}urlretrieve",
    "validate_file": f"{_KERAS_FILES}validate_file",
    "keras_home": "keras.src.backend.config:keras_home",
    **{f"variable.{name}": _VARIABLE + name for name in ("assign", "assign_add", "assign_sub")},
    "variable.read": f"{_VARIABLES}BaseResourceVariable._read_variable_op",
    # Graphs.
    "function.init": f"{_FUNCTION}__init__",
    "function.call": f"{_FUNCTION}__call__",
    "function.trace": f"{_GRAPHS}tracing_compilation:_create_concrete_function",
    "run_functions_eagerly": "tensorflow._api.v2.config:run_functions_eagerly",
    "gradient": "tensorflow.python.eager.backprop:GradientTape.gradient",
    "convert": "tensorflow.python.framework.constant_op:convert_to_eager_tensor",
    "device": "tensorflow:device",
    "python_function": "tensorflow.python.ops.script_ops:_internal_py_func",
    # What TensorFlow leaves to tensorboard to write.
    **{
        f"summary.{kind}": f"tensorflow:summary.{kind}"
        for kind in ("audio", "histogram", "image", "scalar", "text")
    },
    # Data sets.
    **{
        f"dataset.{name}": _DATASET + name
        for name in (
            *("map", "filter", "flat_map", "interleave", "batch", "padded_batch", "shuffle"),
            *("cache", "prefetch", "repeat", "take", "skip", "zip", "concatenate", "unbatch"),
            *("window", "from_tensor_slices", "from_tensors", "from_generator", "range"),
            *("apply", "enumerate", "__iter__"),
        )
    },
}
"""By the suite's name: the module, and the attribute in it."""


def is_known(name: str) -> bool:
    """Whether this TensorFlow has a name."""
    return _find(name) is not None


def patch(name: str, make: Callable[[Any], Any]) -> bool:
    """Puts ``make(original)`` in the place of a name; again: around what is there by then.

    Returns:
        whether this TensorFlow has it.
    """
    if (found := _find(name)) is None:
        return False
    owner, attribute, raw = found
    is_bound = isinstance(raw, staticmethod | classmethod)
    original = raw.__func__ if is_bound else raw
    replacement = functools.wraps(original)(make(original))
    setattr(owner, attribute, type(raw)(replacement) if is_bound else replacement)
    return True


def _find(name: str) -> tuple[Any, str, Any] | None:
    """What holds a name, the attribute in it, and what it is there."""
    place, attribute = re.findall(r"(.+:.*?)\.?(\w+)$", NAMES[name])[0]
    try:
        owner = pkgutil.resolve_name(place)
        return owner, attribute, vars(owner).get(attribute) or getattr(owner, attribute)
    except (ImportError, AttributeError):
        return None
