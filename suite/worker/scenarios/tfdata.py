"""tfdata: the input pipeline alone, and what Python inside it costs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from suite.model import Check, Param, ProfileName, Work
from suite.worker.scenario import Point, Prepared, Scenario, TensorProof, WrongResult
from suite.worker.scenarios.networks import A, examples

BYTES_AN_ELEMENT = A.inputs * 4 + 4
"""128 float32 inputs and an int32 label."""

CHECKSUM_TOLERANCE = 1e-6
"""How far a sum of the inputs may be off, as a share of the sum of their magnitudes: float32 maps
round each element in its 24th bit, and the errors partly cancel."""

MAP_CHECKED = 2_000
"""The check of a map looks at so many elements: an epoch through Python takes seconds."""


def work(batch: int, **_: Param) -> Work:
    """One batch taken from the pipeline."""
    return Work(amount=float(batch), unit="element", bytes=float(batch * BYTES_AN_ELEMENT))


def prepare_slices(*, device: str, batch: int, shuffle: str, prefetch: str) -> Prepared:  # noqa: ARG001  input lives on the CPU
    """A's examples in batches, from memory."""
    inputs, labels = examples(A, A.examples)
    buffer = len(inputs) if shuffle == "on" else 0
    expected = inputs.astype(np.float64)
    return _prepared(_elements(inputs, labels), expected, batch, prefetch, buffer=buffer)


def prepare_map(
    *,
    device: str,  # noqa: ARG001  input lives on the CPU
    function: str,
    calls: str,
    place: str,
    batch: int,
    prefetch: str,
) -> Prepared:
    """A's examples, each put through a function before batching."""
    import tensorflow as tf

    if (calls, place) != ("sequential", "element"):
        raise ValueError(f"no such map: {calls}, {place}")
    inputs, labels = examples(A, A.examples)
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "native": lambda x, y: (normalise(tf.tanh, tf.reduce_mean, x), y),
        "numpy_function": lambda x, y: (
            tf.ensure_shape(
                tf.numpy_function(_normalise_in_numpy, [x], tf.float32, stateful=False),
                (A.inputs,),
            ),
            y,
        ),
    }
    pipeline = _elements(inputs, labels).map(functions[function])
    first = inputs[:MAP_CHECKED].astype(np.float64)
    expected = np.tanh(first - first.mean(axis=1, keepdims=True))
    return _prepared(pipeline, expected, batch, prefetch)


def normalise(tanh: Callable[[Any], Any], mean: Callable[[Any], Any], example: Any) -> Any:
    """The map: an example less its mean, squashed; the same arithmetic in both libraries."""
    return tanh(example - mean(example))


def _normalise_in_numpy(example: Any) -> Any:
    return normalise(np.tanh, np.mean, example)


def _elements(inputs: Any, labels: Any) -> Any:
    """One epoch of single examples."""
    import tensorflow as tf

    with tf.device("/CPU:0"):
        return tf.data.Dataset.from_tensor_slices((inputs, labels))


def _prepared(
    elements: Any, expected: Any, batch: int, prefetch: str, *, buffer: int = 0
) -> Prepared:
    """Batches without end as the step; the first elements of the same pipeline as the check.

    Args:
        elements: the dataset of single examples, one epoch.
        expected: what the first inputs should be, float64 of shape (examples, inputs); where the
            pipeline shuffles, all of them, in any order.
        batch: elements in a batch; the last, partial one is dropped while timing.
        prefetch: ``on`` or ``off``.
        buffer: elements in the shuffle buffer; 0: no shuffling.  Repeated before it is shuffled:
            the other way round an epoch begins with one burst that fills the buffer, which the
            median of samples shorter than an epoch would leave out.
    """
    import tensorflow as tf

    def batched(dataset: Any, *, drop_remainder: bool) -> Any:
        dataset = dataset.shuffle(buffer, seed=0) if buffer else dataset
        dataset = dataset.batch(batch, drop_remainder=drop_remainder)
        return dataset.prefetch(tf.data.AUTOTUNE) if prefetch == "on" else dataset

    batches = [iter(batched(elements.repeat(), drop_remainder=True))]

    def check(last: Any) -> Check:
        if last[0].shape != (batch, A.inputs) or not np.all(np.isfinite(last[0].numpy())):
            raise WrongResult(
                f"the last batch timed is no {batch} finite examples: {last[0].shape}"
            )
        count, total = 0, 0.0
        for inputs, labels in batched(elements.take(len(expected)), drop_remainder=False):
            count += int(labels.shape[0])
            total += float(np.sum(inputs.numpy(), dtype=np.float64))
        if count != len(expected):
            raise WrongResult(f"{count} elements came out of {len(expected)}")
        if abs(total - expected.sum()) > CHECKSUM_TOLERANCE * np.abs(expected).sum():
            raise WrongResult(f"the inputs sum to {total:.9g}, expected {expected.sum():.9g}")
        return Check(what=f"{count} elements counted; their inputs sum to {total:.6g}")

    return Prepared(
        step=lambda: next(batches[0]),
        check=check,
        proof=TensorProof(tensors=list),
        on="cpu",
        close=batches.clear,
    )


ALL: tuple[ProfileName, ...] = ("smoke", "quick", "standard", "full")
QUICK: tuple[ProfileName, ...] = ("quick", "standard", "full")
STANDARD: tuple[ProfileName, ...] = ("standard", "full")

SLICES = Scenario(
    family="tfdata",
    case="slices",
    about="Examples from memory in batches: the plainest pipeline.",
    question="How many elements a second come from memory at batch {batch}, "
    "shuffle {shuffle}, prefetch {prefetch}?",
    axes=("batch", "shuffle", "prefetch"),
    points=tuple(
        Point(
            params={"batch": batch, "shuffle": shuffle, "prefetch": prefetch},
            profiles=ALL
            if (batch, shuffle, prefetch) == (512, "on", "on")
            else QUICK
            if (batch, prefetch) == (512, "on")
            else STANDARD,
        )
        for batch, shuffle, prefetch in itertools.product((32, 512), ("on", "off"), ("on", "off"))
    ),
    work=work,
    prepare=prepare_slices,
)

MAP = Scenario(
    family="tfdata",
    case="map",
    about="Examples from memory through a map: TensorFlow's own operations, or NumPy's.",
    question="How many elements a second survive a {function} map ({calls}, by {place})?",
    axes=("function", "calls", "place", "batch", "prefetch"),
    points=tuple(
        Point(
            params={
                "function": function,
                "calls": "sequential",
                "place": "element",
                "batch": 512,
                "prefetch": "on",
            },
            profiles=QUICK,
        )
        for function in ("native", "numpy_function")
    ),
    work=work,
    prepare=prepare_map,
)
