"""mlp.fallback: Python inside a training step, which only the CPU can run, against the same arithmetic
in TensorFlow's own operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from suite.cells.scenario import Scenario, cross, vary
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, lay
from suite.worker.scenarios.mlp import train
from suite.worker.scenarios.mlp.networks import A, build, examples, one_batch
from suite.worker.scenarios.mlp.training import TRAINING_PROOF, Trainer
from suite.worker.scenarios.tfdata.pipelines import normalise

BATCH = 512

CALLING_PROOF = replace(TRAINING_PROOF, cpu=(("PyFunc", "PyFuncStateless"),))
"""A ``numpy_function`` has one of these names in an executed graph."""


def _native(inputs: Any) -> Any:
    import tensorflow as tf

    return normalise(tf.tanh, tf.reduce_mean, inputs)


def _in_numpy(inputs: Any) -> Any:
    """By the array's own method, as people write it; `numpy.mean` would dispatch to it first."""
    return normalise(np.tanh, np.ndarray.mean, inputs)


def _called(inputs: Any) -> Any:
    """Pinned to the CPU, where its only kernel is: placement is hard, and would refuse it elsewhere."""
    import tensorflow as tf

    with tf.device("/CPU:0"):
        squashed = tf.numpy_function(_in_numpy, [inputs], tf.float32)
    squashed.set_shape(inputs.shape)
    return squashed


BEFORE: Mapping[str, Callable[[Any], Any]] = {"none": _native, "numpy_function": _called}


def prepare(*, device: str, batch: int, python: str) -> Prepared:
    """A training step of network A whose inputs are normalised first; one batch on the device."""
    inputs, labels = examples(A, batch)
    trainer = Trainer(A, build(A, device), device, before=BEFORE[python])
    here = lay(device, inputs, labels)

    def check(last: Any, *, brief: bool = False) -> Check:
        return trainer.check(last, *here.tensors, rows=_in_numpy(inputs), brief=brief)

    return Prepared(
        step=lambda: trainer.step(*here.tensors),
        check=check,
        brief=partial(check, brief=True),
        resident=here,
        # Python waits in the middle of the step for what it is given.
        enqueues=python == "none",
        traces=trainer.traces,
    )


FALLBACK = Scenario(
    family="mlp",
    case="fallback",
    question="What does a training step of A at batch {batch} take with Python inside: {python}?",
    points=cross(batch=BATCH, python=tuple(BEFORE)),
    work=one_batch,
    prepare=prepare,
    work_key="training/A",
    larger=("batch",),
    proof=lambda python, **_: TRAINING_PROOF if python == "none" else CALLING_PROOF,
    data="device",
    dispatch="graph",
    links=lambda python, **_: (
        {"plain": train.plain_step("A", BATCH)}
        if python == "none"
        else {"without": vary("without it", python="none")}
    ),
    choices={"python": "python_in_step"},
)
