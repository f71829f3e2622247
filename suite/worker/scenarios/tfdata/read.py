"""tfdata: pipelines that read files from the scratch space, which are made there from a seed.

All but ``tfrecord-disk`` find their files in the page cache, so that what is timed is reading and
parsing and not the disk.  The bytes are those of the elements that come out, not of the files.  Batches come
of the files in the ways that TensorFlow's guide shows: parsed in parallel and prefetched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from suite.cells.cell import Work
from suite.cells.scenario import Scenario
from suite.model import Check
from suite.worker.scenario import scratch
from suite.worker.scenario.scenario import DATA_SEED, Inapplicable, Prepared
from suite.worker.scenarios.mlp.networks import A, examples
from suite.worker.scenarios.tfdata.pipelines import (
    CHECKSUM_TOLERANCE,
    batch_work,
    start,
    verify_batch,
    verify_sum,
)

IMAGES, SIDE, RESIZED = 64, 256, 224
"""Pictures, the side of the encoded ones, and the side that they are resized to, in pixels."""

SHARDS = 8
"""Files that are read interleaved."""

TIMES = 10
"""A's examples stand in the TFRecord file so many times over: 10,000 would be read from a disk in a
few milliseconds."""

FILE_BYTES = {"csv": 13_000_000, "jpeg": 100_000, "interleave": 800_000, "tfrecord": 60_000_000}
"""At most so many bytes a file: what has to be free before it is written."""

CSV_TOLERANCE = 5e-7
"""Six decimals are kept of each number in the CSV file; rounding is off by at most half of the last."""

PICTURE_TOLERANCE = 1.0
"""How far the mean level of all decoded and resized pictures may be off, of 255: encoding loses."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Files, and how batches are made of them.

    ``begin`` gives the dataset that a pass goes over, and ``read`` makes elements of it; ``parse``, where
    there is one, takes a whole batch of them.  One pass gives ``count`` elements, whose inputs sum to
    ``total`` within ``tolerance``.  ``shape`` is an element's.
    """

    paths: list[Path]
    begin: Callable[[], Any]
    read: Callable[[Any], Any] = field(default=lambda dataset: dataset)
    parse: Callable[[Any], Any] | None = None
    count: int
    total: float
    tolerance: float
    shape: tuple[int, ...] = (A.inputs,)

    def build(self, batch: int, *, endless: bool) -> Any:
        """The dataset of batches, parsed in parallel and prefetched; endless ones are all whole."""
        import tensorflow as tf

        dataset = self.begin()
        elements = self.read(dataset.repeat() if endless else dataset)
        batches = elements.batch(batch, drop_remainder=endless)
        if self.parse is not None:
            batches = batches.map(self.parse, num_parallel_calls=tf.data.AUTOTUNE)
        return batches.prefetch(tf.data.AUTOTUNE)


def read_csv() -> Reading:
    """Lines of text, batched, then parsed a batch at a time."""
    import tensorflow as tf

    inputs, labels = examples(A, A.examples)

    def write(path: Path) -> None:
        with path.open("w", encoding="ascii") as file:
            for row, label in zip(inputs, labels[:, 0], strict=True):
                file.write(",".join(f"{value:.6f}" for value in row) + f",{label}\n")

    path = scratch.keep("examples.csv", FILE_BYTES["csv"], write)

    def parse(lines: Any) -> Any:
        columns = tf.io.decode_csv(lines, [0.0] * A.inputs + [np.int64(0)])
        return tf.stack(columns[:-1], axis=1), columns[-1][:, tf.newaxis]

    exact = inputs.astype(np.float64)
    return Reading(
        paths=[path],
        begin=lambda: tf.data.TextLineDataset(str(path)),
        parse=parse,
        count=len(inputs),
        total=float(exact.sum()),
        tolerance=CSV_TOLERANCE * exact.size,
    )


def read_pictures() -> Reading:
    """JPEG files, decoded and resized one by one; encoded here from smooth seeded pictures."""
    import tensorflow as tf

    pictures = [draw_picture(index) for index in range(IMAGES)]

    def write(path: Path, picture: Any) -> None:
        path.write_bytes(tf.io.encode_jpeg(picture).numpy())

    paths = [
        scratch.keep(
            f"picture-{index:02d}.jpg",
            FILE_BYTES["jpeg"],
            functools.partial(write, picture=picture),
        )
        for index, picture in enumerate(pictures)
    ]

    def decode(path: Any) -> Any:
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return (tf.image.resize(picture, (RESIZED, RESIZED)),)

    pixels = IMAGES * RESIZED * RESIZED * 3
    return Reading(
        paths=paths,
        begin=lambda: tf.data.Dataset.from_tensor_slices([str(path) for path in paths]),
        read=lambda files: files.map(decode, num_parallel_calls=tf.data.AUTOTUNE),
        count=IMAGES,
        total=float(np.mean(pictures)) * pixels,
        tolerance=PICTURE_TOLERANCE * pixels,
        shape=(RESIZED, RESIZED, 3),
    )


def draw_picture(index: int) -> Any:
    """A seeded picture, uint8 of shape (256, 256, 3): nine by nine random colours, blended, with a
    little grain, so that it compresses as a photograph does and not as noise."""
    draw = np.random.default_rng([DATA_SEED, 3, index])
    colours = draw.uniform(0, 255, (9, 9, 3))
    at = np.linspace(0, 8, SIDE)
    left = np.minimum(at.astype(int), 7)
    blend = np.zeros((SIDE, 9))
    blend[np.arange(SIDE), left] = 1 - (at - left)
    blend[np.arange(SIDE), left + 1] += at - left
    smooth = np.einsum("yi,ijc,xj->yxc", blend, colours, blend, optimize=True)
    grain = draw.integers(-8, 9, (SIDE, SIDE, 1))
    return np.clip(np.rint(smooth + grain), 0, 255).astype(np.uint8)


def read_interleaved() -> Reading:
    """TFRecord files read side by side, a record from each in turn."""
    import tensorflow as tf

    inputs, labels = examples(A, A.examples)

    def write(path: Path, shard: int) -> None:
        write_records(path, inputs[shard::SHARDS], labels[shard::SHARDS])

    paths = [
        scratch.keep(
            f"shard-{shard}.tfrecord",
            FILE_BYTES["interleave"],
            functools.partial(write, shard=shard),
        )
        for shard in range(SHARDS)
    ]

    return Reading(
        paths=paths,
        begin=lambda: tf.data.Dataset.from_tensor_slices([str(path) for path in paths]),
        read=lambda files: files.interleave(
            tf.data.TFRecordDataset, cycle_length=SHARDS, num_parallel_calls=tf.data.AUTOTUNE
        ),
        **_of_records(inputs, times=1),
    )


def read_records(*, drop: Callable[[Path], None] | None = None) -> Reading:
    """One TFRecord file, read from end to end; it is given to ``drop`` before each pass over it."""
    import tensorflow as tf

    inputs, labels = examples(A, A.examples)

    def write(path: Path) -> None:
        write_records(path, inputs, labels, times=TIMES)

    path = scratch.keep("examples.tfrecord", FILE_BYTES["tfrecord"], write)

    def name(_: Any) -> bytes:
        if drop is not None:
            drop(path)
        return str(path).encode()

    def one_pass(number: Any) -> Any:
        file = tf.ensure_shape(tf.numpy_function(name, [number], tf.string), ())
        return tf.data.TFRecordDataset(file)

    return Reading(
        paths=[path],
        begin=lambda: tf.data.Dataset.range(1),
        read=lambda passes: passes.flat_map(one_pass),
        **_of_records(inputs, times=TIMES),
    )


def write_records(path: Path, inputs: Any, labels: Any, *, times: int = 1) -> None:
    """Writes examples as TFRecords, each a ``tf.train.Example`` with its inputs and its label."""
    import tensorflow as tf

    train = tf.train
    with tf.io.TFRecordWriter(str(path)) as writer:
        records = [
            train.Example(
                features=train.Features(
                    feature={
                        "inputs": train.Feature(float_list=train.FloatList(value=row)),
                        "label": train.Feature(int64_list=train.Int64List(value=label)),
                    }
                )
            ).SerializeToString()
            for row, label in zip(inputs.tolist(), labels.tolist(), strict=True)
        ]
        for record in records * times:
            writer.write(record)


def parse_records(records: Any) -> Any:
    """A batch of records as inputs and labels."""
    import tensorflow as tf

    fields = tf.io.parse_example(
        records,
        {
            "inputs": tf.io.FixedLenFeature((A.inputs,), tf.float32),
            "label": tf.io.FixedLenFeature((1,), tf.int64),
        },
    )
    return fields["inputs"], fields["label"]


def _of_records(inputs: Any, times: int) -> dict[str, Any]:
    """How records are parsed, and what comes out where these inputs stand so many times over."""
    exact = inputs.astype(np.float64)
    return {
        "parse": parse_records,
        "count": len(inputs) * times,
        "total": float(exact.sum()) * times,
        "tolerance": CHECKSUM_TOLERANCE * float(np.abs(exact).sum()) * times,
    }


MOST_CACHED = 0.05
"""With a larger share of the file still in the page cache after it was dropped, it was not dropped."""

LEAST_FROM_DISK = 0.9
"""With a smaller share of the bytes of all whole passes fetched from a disk, the passes were not read
from one."""

SOURCES: Mapping[str, tuple[Callable[[], Reading], int]] = {
    "csv": (read_csv, 512),
    "jpeg": (read_pictures, 32),
    "interleave": (read_interleaved, 512),
    "tfrecord-memory": (read_records, 512),
    "tfrecord-disk": (read_records, 512),
}
"""What is read, and the batch; of pictures fewer, since 512 of them take 300 MB."""


def work(source: str, batch: int) -> Work:
    """One batch taken from the pipeline; a picture's bytes are those of its float32 pixels."""
    if source == "jpeg":
        return Work(
            amount=float(batch), unit="element", bytes=float(batch * RESIZED * RESIZED * 3 * 4)
        )
    return batch_work(batch)


def prepare(*, device: str, source: str, batch: int) -> Prepared:  # noqa: ARG001  input lives on the CPU
    """Batches from files, which are made on the first use and lie in the page cache.

    Raises:
        Inapplicable: there is no scratch space, or no use for this one.
    """
    if source == "tfrecord-disk":
        return _prepare_disk(batch)
    reading = SOURCES[source][0]()
    for path in reading.paths:
        path.read_bytes()
    return _prepared(reading, batch, lambda: "")


def describe_passes(passes: int, size: int, *, before: int | None, after: int | None) -> str:
    """What the disk was asked for in whole passes over a file of ``size`` bytes, in words.

    ``before`` and ``after`` them is what had come from disks; None: the kernel does not count it.

    Raises:
        Inapplicable: it was asked for less than the passes read.
    """
    if before is None or after is None:
        return "; the page cache was dropped, and nobody counts what came from the disk"
    came = after - before
    if came < LEAST_FROM_DISK * passes * size:
        raise Inapplicable(
            f"{passes} passes over {size} bytes had {came} bytes from a disk: they were "
            "read from memory, although the page cache was dropped"
        )
    return f"; {came} bytes came from the disk in {passes} passes over {size}"


def _prepare_disk(batch: int) -> Prepared:
    """The TFRecord file, dropped from the page cache before each pass over it.

    The pipeline itself drops it, between two passes.  That takes some milliseconds in hundreds of
    batches, and the median of samples leaves them out; the reading is in every batch.

    Raises:
        Inapplicable: the file system keeps the file in memory.
    """
    drops: list[Path] = []

    def drop(path: Path) -> None:
        scratch.drop_cache(path)
        drops.append(path)

    reading = read_records(drop=drop)
    (path,) = reading.paths
    scratch.drop_cache(path)
    share = scratch.cached_share(path)
    if share > MOST_CACHED:
        raise Inapplicable(
            f"{share:.0%} of the file stayed in memory when its page cache was dropped: the scratch "
            "space is not on a disk, or this machine does not say"
        )
    size, before = path.stat().st_size, scratch.bytes_from_disk()

    def witness() -> str:
        # The newest pass may have just begun.
        return describe_passes(len(drops) - 1, size, before=before, after=scratch.bytes_from_disk())

    return _prepared(reading, batch, witness)


def _prepared(reading: Reading, batch: int, witness: Callable[[], str]) -> Prepared:
    """One batch is a call.  ``witness`` is asked after the check's own pass, which is a whole one."""
    import tensorflow as tf

    def batches(*, endless: bool) -> Any:
        with tf.device("/CPU:0"):
            return reading.build(batch, endless=endless)

    take, close = start(batches(endless=True))

    def check(last: Any) -> Check:
        verify_batch(last, (batch, *reading.shape))
        counted = verify_sum(
            batches(endless=False),
            count=reading.count,
            total=reading.total,
            tolerance=reading.tolerance,
        )
        return Check(what=counted + witness())

    return Prepared(step=take, check=check, tensors=list, close=close)


READ = Scenario(
    family="tfdata",
    case="read",
    question="How many elements a second come out of files ({source}) at batch {batch}?",
    points=tuple({"source": source, "batch": batch} for source, (_, batch) in SOURCES.items()),
    work=work,
    prepare=prepare,
    role="input",
    proof="results",
    device="cpu",
    data="file",
    reads_files=True,
    choices={"source": "files", "batch": "larger_batch"},
)
