"""asked.clone: network B cloned by a script, the first time in a process that has computed, and again.

That first time is a stage of the start-up sequence, so that nothing of its kind has come before it. It can
happen only once in a process, on the arm's device; the CPU beside a GPU has the other one only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, Printed, WrongResult
from suite.worker.scenarios.mlp.networks import B, build, examples, list_values, weights
from suite.worker.scenarios.scripts.posted import clone as script
from suite.worker.scenarios.scripts.waterfall import On, by_half, placed, read_waterfall

WATERFALL = read_waterfall("clone")


def prepare(*, device: str, stage: str, on: On) -> Prepared:  # noqa: ARG001  the one that is left
    """Cloning a model that is built already: new layers, freshly initialised weights.

    Under ``tf.device``, as asked: a clone takes milliseconds, of which naming a device is nothing.
    """
    import tensorflow as tf

    place = placed(device, on)
    source = build(B, place)

    def step() -> Any:
        with tf.device(place):
            return tf.keras.models.clone_model(source)

    return Prepared(
        step=step,
        check=lambda clone: check_clone(clone, source, place),
        tensors=lambda clone: list_values(clone.weights),
    )


def check_clone(clone: Any, source: Any, place: str) -> Check:
    """Whether a model on that device is network B, and none of its weights its source's.

    Raises:
        WrongResult: it is not so.
    """
    import tensorflow as tf

    shapes = [array.shape for array in clone.get_weights()]
    if shapes != [array.shape for array in weights(B)]:
        raise WrongResult(f"the clone's weights have the shapes {shapes}")
    if any(new is old for new, old in zip(clone.weights, source.weights, strict=True)):
        raise WrongResult("the clone shares a weight with its source")
    with tf.device(place):
        sums = np.sum(clone(examples(B, 32)[0]).numpy(), axis=1)
    if not np.allclose(sums, 1.0, atol=1e-5):
        raise WrongResult("the clone's probabilities do not sum to 1")
    return Check(what="weights of its own, of the source's shapes; probabilities sum to 1")


def _bear_out(run: tuple[Any, ...], half: str, **_: Param) -> Printed:
    seconds, clones, model = run
    clone = clones[half]
    return Printed(
        seconds=seconds[half],
        check=lambda: check_clone(clone, model, half),
        tensors=lambda: list_values(clone.weights),
    )


SCENARIOS = WATERFALL.declare(
    prepare,
    by_half(script.run, _bear_out),
    "What does cloning network B take {new} (work on: {on})?",
    work=Work(amount=1.0, unit="model"),
    work_key="building/clone",
    proof=lambda stage, **_: None if stage == WATERFALL.started else "results",
    dispatch="eager",
)
