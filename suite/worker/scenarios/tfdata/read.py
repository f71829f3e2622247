"""tfdata: pipelines that read files from the scratch space.

All but ``tfrecord-disk`` find their files in the page cache, so that what is timed is reading and
parsing and not the disk.  The bytes are those of the elements that come out, not of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from suite.cells.cell import Work
from suite.cells.scenario import Results, Scenario
from suite.model import Check
from suite.worker.scenario import scratch
from suite.worker.scenario.choices import FILES, LARGER_BATCH
from suite.worker.scenario.scenario import Inapplicable, Prepared
from suite.worker.scenarios.tfdata.files import (
    SEEN,
    Reading,
    read_csv,
    read_interleaved,
    read_pictures,
    read_records,
)
from suite.worker.scenarios.tfdata.pipelines import batch_work, start, verify_batch, verify_sum

MOST_CACHED = 0.05
"""With a larger share of the file still in the page cache after it was dropped, it was not dropped."""

LEAST_FROM_DISK = 0.9
"""With a smaller share of the bytes of all whole passes fetched from a disk, the passes were not read
from one."""

READINGS: Mapping[str, Callable[[], Reading]] = {
    "csv": read_csv,
    "jpeg": read_pictures,
    "interleave": read_interleaved,
    "tfrecord-memory": read_records,
}
"""What is read, by source; ``tfrecord-disk`` is like its sister but for the cache."""

BATCHES = {"csv": 512, "jpeg": 32, "interleave": 512, "tfrecord-memory": 512, "tfrecord-disk": 512}
"""The batch of each; of pictures fewer, since 512 of them take 300 MB."""


def work(source: str, batch: int) -> Work:
    """One batch taken from the pipeline; a picture's bytes are those of its float32 pixels."""
    if source == "jpeg":
        return Work(amount=float(batch), unit="element", bytes=float(batch * SEEN * SEEN * 3 * 4))
    return batch_work(batch)


def prepare(*, device: str, source: str, batch: int) -> Prepared:  # noqa: ARG001  input lives on the CPU
    """Batches from files, which are made on the first use and lie in the page cache.

    Raises:
        Inapplicable: there is no scratch space, or no use for this one.
    """
    if source == "tfrecord-disk":
        return _prepare_disk(batch)
    reading = READINGS[source]()
    for path in reading.paths:
        path.read_bytes()
    return _prepared(reading, batch, lambda: "")


def tell_passes(passes: int, size: int, *, before: int | None, after: int | None) -> str:
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
            "space is no disk, or this machine does not tell"
        )
    size, before = path.stat().st_size, scratch.bytes_from_disk()

    def witness() -> str:
        # The newest pass may have just begun.
        return tell_passes(len(drops) - 1, size, before=before, after=scratch.bytes_from_disk())

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
    axes=("source", "batch"),
    points=tuple({"source": source, "batch": batch} for source, batch in BATCHES.items()),
    work=work,
    prepare=prepare,
    role="input",
    kin="read",
    proof=Results(),
    device="cpu",
    data="file",
    reads_files=True,
    choices={"source": FILES, "batch": LARGER_BATCH},
)
