"""mlp.build: making a model, again in a process that is warm; the first time is the start-up's.

Both do the same, so that the difference is what the first time costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from suite.cells.cell import Work
from suite.cells.scenario import Scenario, cross
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, WrongResult
from suite.worker.scenarios.mlp.networks import DEEP, B, Network, build, list_values, weights

MODELS = ("B", "clone", "deep")


def clone(model: Any, device: str) -> Any:
    """A Keras model's clone on ``device``: its layers anew, and initial weights of its own."""
    import tensorflow as tf

    with tf.device(device):
        return tf.keras.models.clone_model(model)


def prepare(*, device: str, model: str) -> Prepared:
    """Network B or the deep one built with its weights, or B cloned, on the device; one a call."""
    makers: dict[str, tuple[Network, Callable[[Any], Any]]] = {
        "B": (B, lambda _: build(B, device)),
        "clone": (B, lambda original: clone(original, device)),
        "deep": (DEEP, lambda _: build(DEEP, device)),
    }
    network, make = makers[model]
    original = build(B, device) if model == "clone" else None
    return Prepared(
        step=lambda: make(original),
        check=lambda made: check(made, network, same=original is None),
        tensors=lambda made: list_values(made.variables),
    )


def check(made: Any, network: Network, *, same: bool) -> Check:
    """The built model's weights: the network's own, or, of a clone, others of the same shapes.

    Raises:
        WrongResult: they are not.
    """
    arrays, expected = made.get_weights(), weights(network)
    shapes = [array.shape for array in arrays]
    if shapes != [array.shape for array in expected]:
        raise WrongResult(f"the weights have the shapes {shapes}")
    if not all(np.all(np.isfinite(array)) for array in arrays):
        raise WrongResult("a weight is not finite")
    if same != all(np.array_equal(*pair) for pair in zip(arrays, expected, strict=True)):
        raise WrongResult("other weights than the seeded ones" if same else "no initial weights")
    whose = "the seeded ones" if same else "of the right shapes, finite, and its own"
    return Check(what=f"{len(arrays)} arrays of weights, {whose}")


BUILD = Scenario(
    family="mlp",
    case="build",
    question="How long does making a model take once the process is warm ({model})?",
    points=cross(model=MODELS),
    work=Work(amount=1.0, unit="model"),
    prepare=prepare,
    work_key=lambda model: f"building/{model}",
    proof="results",
    dispatch="keras",
)
