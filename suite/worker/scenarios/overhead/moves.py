"""overhead: what moving memory costs, to the device, back, and on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.scenario import Results, Scenario, cross
from suite.model import Check
from suite.worker.scenario.profiles import FULL, QUICK, STANDARD, Profiles
from suite.worker.scenario.scenario import DATA_SEED, Prepared, WrongResult, lay

COPIED = (4, 4096, 65_536, 1_048_576, 16_777_216, 268_435_456)
"""From one float, which is what fetching a loss moves, to 256 MiB."""

COPIED_SOON = (4, 65_536)
"""From the profile standard on: a loss, and a batch."""

COPIED_FIRST = 1_048_576
"""From the profile quick on: the smallest copy that shows a link's rate, and more than any batch of the
profile standard."""

SUMMED = 268_435_456

PATTERN = 65_536
"""Seeded numbers that larger arrays repeat: drawing 67 million would take longer than copying them."""

PROCESS = "/job:localhost/replica:0/task:0/device:"
"""What stands before a device's short name in its whole one, without which a copy finds no GPU."""

STRIP = 2**20
"""Numbers that the check of a sum looks at together."""


def choose_profiles(bytes: int, **_: Param) -> Profiles:  # noqa: A002  the axis
    """Whoever has just rented a machine runs the profile quick, and has to be told of a slow link."""
    if bytes == COPIED_FIRST:
        return QUICK
    return STANDARD if bytes in COPIED_SOON else FULL


def one_copy(bytes: int, **_: Param) -> Work:  # noqa: A002  the axis
    """One copy of so many bytes."""
    return Work(amount=1.0, unit="copy", bytes=float(bytes))


def signs(count: int) -> Any:
    """A float32 array of seeded ±1."""
    draw = np.random.default_rng([DATA_SEED, 4])
    return np.resize(draw.choice(np.array([-1, 1], dtype=np.float32), PATTERN), count)


def prepare_copy(*, device: str, direction: str, bytes: int) -> Prepared:  # noqa: A002  the axis
    """A tensor copied once between the CPU's memory and the device's.

    Tensor to tensor, because NumPy's way in and out of TensorFlow makes a second copy on the host
    (``tf.constant`` before it, ``.numpy()`` after it).  On the CPU, where TensorFlow would hand on the
    same memory, by the one operation that always copies.  The new tensor's memory is part of it.
    """
    import tensorflow as tf

    array = signs(bytes // 4)
    come, go = ("/CPU:0", device) if direction == "to-device" else (device, "/CPU:0")
    here = lay(come, array)
    (source,) = here.tensors

    def across() -> Any:
        # Not tf.identity on the other device: a tensor keeps the copy that it was given there, and the
        # next call gets the same one again.
        return source._copy_to_device(PROCESS + go.lstrip("/"))  # noqa: SLF001  no public way copies each time

    def along() -> Any:
        return tf.raw_ops.DeepCopy(x=source)

    def check(last: Any) -> Check:
        arrived = np.asarray(last)
        if arrived.shape != array.shape or not np.array_equal(arrived, array):
            raise WrongResult(f"what arrived of {bytes} bytes is not what was sent")
        if come == go and _address(last) == _address(source):
            raise WrongResult("the copy is the very memory that it was made of")
        total = float(arrived.sum(dtype=np.float64))
        return Check(what=f"{bytes} bytes arrived as they were sent", value=total, tolerance=0.0)

    return Prepared(
        step=along if come == go else across,
        check=check,
        resident=here,
    )


def _address(tensor: Any) -> int:
    """Where a tensor on the CPU has its memory: NumPy's view of it is no copy."""
    return int(np.asarray(tensor).__array_interface__["data"][0])


def prepare_sum(*, device: str, bytes: int) -> Prepared:  # noqa: A002  the axis
    """An array added to a variable in place: no memory is handed out, so that only its bandwidth
    counts (a fresh result of this size costs the CPU more in page faults than the sum itself)."""
    import tensorflow as tf

    array = signs(bytes // 4)
    here = lay(device, array)
    (addend,) = here.tensors
    with tf.device(device):
        total = tf.Variable(tf.zeros_like(addend))
    calls = 0

    def step() -> Any:
        nonlocal calls
        calls += 1
        return total.assign_add(addend, read_value=False)

    def check(_: Any) -> Check:
        # Whole numbers below 2**24, so that float32 holds each sum exactly; a piece at a time, or the
        # check needs more memory than the sum.
        found = total.value()
        for start in range(0, len(array), STRIP):
            strip = slice(start, start + STRIP)
            if not np.array_equal(found[strip].numpy(), calls * array[strip]):
                raise WrongResult(
                    f"the sum of {calls} equal arrays is not {calls} times one of them"
                )
        return Check(what=f"{calls} sums in place, every element exact")

    return Prepared(
        step=step,
        check=check,
        tensors=lambda _: [total.value()],
        resident=here,
        enqueues=True,
    )


COPY = Scenario(
    family="overhead",
    case="copy",
    question="What does copying {bytes} bytes {direction} cost?",
    axes=("direction", "bytes"),
    points=cross(direction=("to-device", "from-device"), bytes=COPIED),
    profiles=choose_profiles,
    work=one_copy,
    prepare=prepare_copy,
    role="overhead",
    kin=lambda direction, **_: f"copying/{direction}",
    proof=Results(),
    device=lambda direction, **_: "arm" if direction == "to-device" else "cpu",
    price=lambda direction, **_: "copy-in" if direction == "to-device" else "copy-out",
)

SUM = Scenario(
    family="overhead",
    case="sum",
    question="How fast is the device's memory, by adding {bytes} bytes to {bytes} bytes?",
    axes=("bytes",),
    points=cross(bytes=SUMMED),
    # Two arrays are read and one is written, which is how the STREAM benchmark counts.
    work=Work(amount=1.0, unit="sum", bytes=3.0 * SUMMED),
    prepare=prepare_sum,
    role="reference",
    kin="sum",
    proof=Results(),
    price="memory",
)
