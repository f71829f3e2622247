"""What the input pipelines share: network A's examples, maps, batches, and the check of what comes out.

A pipeline is what people get who write it, but for the rewrites by which TensorFlow would do what the
cell's id says is not done (see `Pipeline.rewrites`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.traits import Data
from suite.model import Check
from suite.worker.scenario import allocator
from suite.worker.scenario.scenario import Prepared, WrongResult
from suite.worker.scenarios.mlp.networks import A, examples

CHECKSUM_TOLERANCE = 1e-6
"""How far a sum of the inputs may be off, as a share of the sum of their magnitudes: float32 maps
round each element in its 24th bit, and the errors partly cancel."""

SLOW_CHECKED = 2_000
"""The check of a map or a generator looks at so many elements: an epoch through Python takes seconds."""

Take = Callable[[], Any]
"""Gives the next batch: a tuple of tensors, the inputs first."""

Started = tuple[Take, Callable[[], None]]
"""A running pipeline: a way to take its batches one after the other, and to let go of it."""


def batch_work(batch: int, **_: Param) -> Work:
    """One batch of A's examples taken from a pipeline; the bytes are those that come out."""
    return Work(amount=float(batch), unit="element", bytes=float(batch * A.example_bytes))


def place_data(prefetch: str) -> Data:
    """Where the inputs lie of what takes from a pipeline."""
    return "prefetched" if prefetch == "on" else "pipeline"


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A pipeline over A's examples in memory, as a cell's id describes it.

    ``source``: TensorFlow slices the arrays (``slices``), or a Python generator yields the examples one
    by one (``generator``), or as many at once as are in a batch (``chunks``), which TensorFlow takes apart.
    ``function``: the map over them, in ``native`` operations or as a ``numpy_function``, or ``none``;
    ``calls`` of it at a time: ``sequential``, ``autotune``, or ``fixed`` to the number of CPUs that this
    process may use; ``place``: of an ``element`` or a ``batch``.
    """

    batch: int
    prefetch: str
    source: str = "slices"
    shuffle: str = "off"
    function: str = "none"
    calls: str = "sequential"
    place: str = "element"
    cache: bool = False

    @property
    def mapped(self) -> bool:
        """Whether there is a map."""
        return self.function != "none"

    @cached_property
    def examples(self) -> tuple[Any, Any]:
        """All of A's inputs and labels."""
        return examples(A, A.examples)

    def start(self) -> Started:
        """The endless pipeline over them, running."""
        return start(self.build(*self.examples, endless=True))

    def expected(self, count: int) -> Any:
        """What the first inputs should come out as, float64."""
        return expect(self.examples[0][:count], mapped=self.mapped)

    def verify(self, *, brief: bool = False) -> str:
        """Puts the first examples through the same pipeline, once; what was verified, in words.  ``brief``:
        as many as are in a batch.

        Raises:
            WrongResult: their number or their sum is not what it has to be.
        """
        inputs, labels = self.examples
        plain = not self.mapped and self.source == "slices"
        count = self.batch if brief else len(inputs) if plain else SLOW_CHECKED
        expected = self.expected(count)
        return verify_sum(
            self.build(inputs[:count], labels[:count], endless=False),
            count=count,
            total=float(expected.sum()),
            tolerance=CHECKSUM_TOLERANCE * float(np.abs(expected).sum()),
        )

    def build(self, inputs: Any, labels: Any, *, endless: bool) -> Any:
        """The dataset of batches of these examples; endless ones drop no element and have whole
        batches only.

        Repeated before anything else, but for the cache, which is filled once: the other way round
        an epoch begins with a burst (a buffer that fills, workers that start), which the median of
        samples shorter than an epoch would leave out.
        """
        import tensorflow as tf

        options = tf.data.Options()
        for name, value in self.rewrites().items():
            setattr(options.experimental_optimization, name, value)
        with tf.device("/CPU:0"):
            dataset = self._begin(inputs, labels)
            if endless and not self.cache:
                dataset = dataset.repeat()
            if self.shuffle == "on":
                dataset = dataset.shuffle(len(inputs), seed=0)
            if self.mapped and self.place == "element":
                dataset = apply_map(dataset, self.function, self.calls)
            if self.cache:
                dataset = dataset.cache()
                dataset = dataset.repeat() if endless else dataset
            dataset = dataset.batch(self.batch, drop_remainder=endless)
            if self.mapped and self.place == "batch":
                dataset = apply_map(dataset, self.function, self.calls)
            if self.prefetch == "on":
                dataset = dataset.prefetch(tf.data.AUTOTUNE)
            return dataset.with_options(options)

    def _begin(self, inputs: Any, labels: Any) -> Any:
        """The examples one by one, from where the pipeline has them."""
        import tensorflow as tf

        if self.source == "slices":
            return tf.data.Dataset.from_tensor_slices((inputs, labels))
        rows = (inputs, labels)
        if self.source == "generator":
            shapes = [array.shape[1:] for array in rows]
            return _generate(lambda: zip(*rows, strict=True), shapes, rows)
        starts = range(0, len(inputs), self.batch)
        chunks = [slice(start, start + self.batch) for start in starts]
        shapes = [(None, *array.shape[1:]) for array in rows]
        whole = _generate(lambda: ((inputs[rows], labels[rows]) for rows in chunks), shapes, rows)
        return whole.unbatch()

    def rewrites(self) -> dict[str, bool]:
        """TensorFlow's own rewrites that are switched off here: options of tf.data by name.

        By default it makes sequential maps parallel, fuses a map with the batching behind it into
        one that works ahead, and puts a prefetch behind a pipeline that has none (tried with 2.21; see
        docs/decisions/0024).
        """
        off: dict[str, bool] = {}
        if self.mapped and self.calls == "sequential":
            off |= {"map_parallelization": False, "map_and_batch_fusion": False}
        if self.prefetch == "off":
            off |= {"inject_prefetch": False}
        return off


def _generate(
    make: Callable[[], Iterator[Any]], shapes: Sequence[Sequence[int | None]], like: Sequence[Any]
) -> Any:
    """The dataset of what a Python generator yields: arrays of these shapes, of the types of those others."""
    import tensorflow as tf

    signature = tuple(
        tf.TensorSpec(shape, array.dtype) for shape, array in zip(shapes, like, strict=True)
    )
    source = tf.data.Dataset.from_generator(make, output_signature=signature)
    allocator.follow_generator(tf.sysconfig.get_lib())
    return source


def apply_map(dataset: Any, function: str, calls: str) -> Any:
    """The dataset of examples or batches with each one's inputs normalised, as `Pipeline` says."""
    import tensorflow as tf

    at_a_time = {"sequential": None, "autotune": tf.data.AUTOTUNE, "fixed": cpus_usable()}
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "native": lambda x, y: (normalise(tf.tanh, tf.reduce_mean, x), y),
        "numpy_function": lambda x, y: (
            tf.ensure_shape(
                tf.numpy_function(normalise_in_numpy, [x], tf.float32, stateful=False), x.shape
            ),
            y,
        ),
    }
    return dataset.map(functions[function], num_parallel_calls=at_a_time[calls])


def cpus_usable() -> int:
    """The size of the cpuset."""
    return len(os.sched_getaffinity(0))


def normalise(tanh: Callable[[Any], Any], mean: Callable[..., Any], inputs: Any) -> Any:
    """The map: each example less its mean, squashed; the same arithmetic in both libraries, and of
    one example or a batch of them."""
    return tanh(inputs - mean(inputs, axis=-1, keepdims=True))


def normalise_in_numpy(inputs: Any) -> Any:
    """`normalise`, by NumPy."""
    return normalise(np.tanh, np.mean, inputs)


def expect(inputs: Any, *, mapped: bool) -> Any:
    """What the inputs of these examples should come out as, float64 of the same shape."""
    exact = inputs.astype(np.float64)
    return normalise_in_numpy(exact) if mapped else exact


def start(dataset: Any) -> Started:
    """The dataset's batches, one after the other."""
    batches = [iter(dataset)]
    return (lambda: next(batches[0])), batches.clear


def verify_batch(batch: Any, shape: tuple[int, ...]) -> None:
    """Raises WrongResult where a batch's inputs have another shape or are not all finite."""
    inputs = batch[0]
    if inputs.shape != shape or not np.all(np.isfinite(inputs.numpy())):
        raise WrongResult(
            f"the last batch timed is no {shape[0]} finite examples: it is of shape {inputs.shape}"
        )


def verify_sum(dataset: Any, *, count: int, total: float, tolerance: float) -> str:
    """Counts the elements of a finite dataset of batches and sums their inputs, in float64.

    Args:
        dataset: the batches.
        count: how many elements have to come out.
        total: what their inputs have to sum to …
        tolerance: … within so much.

    Returns:
        what was verified, in words.

    Raises:
        WrongResult: the count or the sum is another.
    """
    came, summed = 0, 0.0
    for batch in dataset:
        came += int(batch[0].shape[0])
        summed += float(np.sum(batch[0].numpy(), dtype=np.float64))
    if came != count:
        raise WrongResult(f"{came} elements came out of {count}")
    if not abs(summed - total) <= tolerance:
        raise WrongResult(f"the inputs sum to {summed:.9g}, expected {total:.9g}")
    return f"{came} elements counted; their inputs sum to {summed:.6g}"


def prepare_input(pipeline: Pipeline, *, filled: int = 0) -> Prepared:
    """A pipeline alone: one batch is a call.  ``filled`` batches are taken before, untimed."""
    take, close = pipeline.start()
    for _ in range(filled):
        take()

    def check(last: Any, *, brief: bool = False) -> Check:
        verify_batch(last, (pipeline.batch, A.inputs))
        return Check(what=pipeline.verify(brief=brief))

    brief = partial(check, brief=True)
    return Prepared(step=take, check=check, brief=brief, tensors=list, close=close)
