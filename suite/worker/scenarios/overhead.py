"""overhead: the fixed costs that explain the rest: calls, moving memory, and starts."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.scenario import Ops, Scenario, cross
from suite.cells.traits import FULL, NOT_VERDICT, SMOKE, STANDARD, VERDICT, OverheadName, Profiles
from suite.model import Check
from suite.procfs import read_text
from suite.worker.scenario.scenario import DATA_SEED, Inapplicable, Prepared, WrongResult, lay

CHAIN = 1_000
"""Operations in the chain: enough that the call around them is a small part of it."""

FACTOR = 0.999
"""What each link multiplies by: no power of two, so that every link rounds."""

CHAIN_TOLERANCE = 1e-5
"""Relative: each link rounds to float32, on all devices in the same way but where one fuses."""

LINKS = Ops(groups=(("Mul", "_MklMul"),), least=CHAIN)
"""The chain is executed link by link: none was folded into another."""

ADDITION = Ops(groups=(("AddV2",),))

CALL = Work(amount=1.0, unit="call")


def _is_two(result: Any) -> Check:
    value = float(result)
    if value != 2.0:
        raise WrongResult(f"1 + 1 gave {value}")
    return Check(what="1 + 1 = 2", value=value, tolerance=0.0)


def prepare_fence(*, device: str) -> Prepared:  # noqa: ARG001  every device is waited for
    """Waiting for devices that have nothing to do."""
    import tensorflow as tf

    fence = tf.test.experimental.sync_devices

    return Prepared(step=fence, check=lambda _: Check(what="the fence returns"))


def prepare_eager(*, device: str) -> Prepared:
    """One tiny addition, eager."""
    here = lay(device, np.float32(1.0))
    (one,) = here.tensors

    return Prepared(step=lambda: one + one, check=_is_two, resident=here, enqueues=True)


def prepare_call(device: str, *, xla: bool) -> Prepared:
    """One tiny addition, as a `tf.function`, or as one compiled by XLA.

    That is proven by its result's device: TensorFlow runs such a function as one compiled piece and stores
    no graph of it.  It can't be anything but compiled: where XLA can't, the call raises.
    """
    import tensorflow as tf

    here = lay(device, np.float32(1.0))
    (one,) = here.tensors
    add = tf.function(lambda left, right: left + right, jit_compile=xla)

    return Prepared(
        step=lambda: add(one, one),
        check=_is_two,
        resident=here,
        enqueues=True,
        traces=lambda: int(add.experimental_get_tracing_count()),
    )


ASKED, OVER = 1, 2
"""What a waiting thread is told: to answer, or to end."""


def prepare_handover(*, device: str) -> Prepared:  # noqa: ARG001  no device has a part in it
    """A thread that waits is woken, and its answer waited for: two wake-ups, and nothing of TensorFlow.

    By two counters in the kernel (``eventfd``), whose reader lets go of Python's lock and sleeps until the
    other thread has written: between two CPUs within a tenth of a condition variable in C, which is what
    TensorFlow's pool waits with.  Python's own locks hold Python's lock while they wake, and pipes ask the
    kernel for the writer's own CPU (docs/decisions/0066).  The kernel chooses where the thread runs, but
    not on this one's CPU, where there is another: the threads of a pool find an idle one.
    """
    if not hasattr(os, "eventfd"):
        raise Inapplicable("this system has no eventfd, by which one thread wakes another")
    asked, answered = os.eventfd(0), os.eventfd(0)
    # What follows the name, which can hold anything: the CPU that it ran on last is the 39th of all fields.
    fields = read_text(Path("/proc/self/stat")).rpartition(")")[2].split()
    others = os.sched_getaffinity(0) - set(map(int, fields[36:37]))

    def answer() -> None:
        if others:
            os.sched_setaffinity(0, others)  # of this thread alone
        while os.eventfd_read(asked) == ASKED:
            os.eventfd_write(answered, ASKED)

    def step() -> int:
        os.eventfd_write(asked, ASKED)
        return os.eventfd_read(answered)

    def check(last: Any) -> Check:
        if last != ASKED:
            raise WrongResult(f"asked once, and {last} answers came")
        return Check(what="one answer to each call")

    def close() -> None:
        os.eventfd_write(asked, OVER)
        thread.join()
        os.close(asked)
        os.close(answered)

    thread = Thread(target=answer, daemon=True)
    thread.start()
    return Prepared(step=step, check=check, close=close)


def prepare_graph_op(*, device: str) -> Prepared:
    """A chain of tiny multiplications in one call, each of which needs the one before.

    Multiplications by an argument: TensorFlow gathers chains of additions into one, and folds what
    it knows to be constant.
    """
    import tensorflow as tf

    here = lay(device, np.float32(1.0), np.float32(FACTOR))
    one, factor = here.tensors

    def multiply(value: Any, by: Any) -> Any:
        for _ in range(CHAIN):
            value = value * by
        return value

    chain = tf.function(multiply, autograph=False, jit_compile=False)

    def check(last: Any) -> Check:
        value, exact = float(last), product()
        if not abs(value - exact) <= CHAIN_TOLERANCE * exact:
            raise WrongResult(f"the chain gave {value:.9g}, expected {exact:.9g}")
        return Check(
            what=f"{CHAIN} multiplications by {FACTOR}", value=value, tolerance=CHAIN_TOLERANCE
        )

    return Prepared(
        step=lambda: chain(one, factor),
        check=check,
        resident=here,
        enqueues=True,
        traces=lambda: int(chain.experimental_get_tracing_count()),
    )


def product() -> float:
    """What the chain has to give, link by link in float32."""
    value = np.float32(1.0)
    for _ in range(CHAIN):
        value = np.float32(value * np.float32(FACTOR))
    return float(value)


def _alike(case: str, price: OverheadName, profiles: Profiles, work: Work = CALL) -> dict[str, Any]:
    """What each of these cases has like the others: one cell, whose time is a price."""
    return {
        "family": "overhead",
        "case": case,
        "points": cross(),
        "profiles": profiles,
        "work": work,
        "role": "overhead",
        "price": price,
    }


FENCE = Scenario(
    **_alike("fence", "fence", NOT_VERDICT),
    question="What does waiting for an idle device cost?",
    prepare=prepare_fence,
    proof=None,
)

EAGER_OP = Scenario(
    **_alike("eager_op", "eager", SMOKE),
    question="What does one eager operation cost, whatever its size?",
    prepare=prepare_eager,
    proof="results",
    control=True,
)

HANDOVER = Scenario(
    **_alike("handover", "handover", SMOKE),
    question="What does waking a thread and waiting for its answer cost, without TensorFlow?",
    prepare=prepare_handover,
    proof=None,
)

FUNCTION_CALL = Scenario(
    **_alike("function_call", "graph", SMOKE),
    question="What does one call of a tf.function cost, whatever is in it?",
    prepare=lambda device: prepare_call(device, xla=False),
    proof=ADDITION,
    control=True,
)

XLA_CALL = Scenario(
    **_alike("xla_call", "xla", FULL),
    question="What does one call of a function compiled by XLA cost, whatever is in it?",
    prepare=lambda device: prepare_call(device, xla=True),
    proof="results",
)

GRAPH_OP = Scenario(
    **_alike("graph_op", "operation", FULL, work=Work(amount=float(CHAIN), unit="operation")),
    question=f"What does one operation inside a graph cost, in a chain of {CHAIN:,}?",
    prepare=prepare_graph_op,
    proof=LINKS,
)

COPIED = {
    4: STANDARD,
    4096: FULL,
    65_536: STANDARD,
    1_048_576: VERDICT,
    16_777_216: FULL,
    268_435_456: FULL,
}
"""Bytes, from one float, which is what fetching a loss moves, to 256 MiB, and the profiles that hold them:
standard has a loss and a batch; verdict, which whoever has just rented a machine runs and who has to be told
of a slow link, the smallest copy that shows a link's rate."""

SUMMED = 268_435_456

PATTERN = 65_536
"""Seeded numbers that larger arrays repeat: drawing 67 million would take longer than copying them."""

PROCESS = "/job:localhost/replica:0/task:0/device:"
"""What stands before a device's short name in its whole one, without which a copy finds no GPU."""

STRIP = 2**20
"""Numbers that the check of a sum looks at together."""


def one_copy(bytes: int, **_: Param) -> Work:  # noqa: A002  the axis
    """One copy of so many bytes."""
    return Work(amount=1.0, unit="copy", bytes=float(bytes))


def draw_signs(count: int) -> Any:
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

    array = draw_signs(bytes // 4)
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
    """Where a tensor on the CPU has its memory: NumPy's view of it is not a copy."""
    return int(np.asarray(tensor).__array_interface__["data"][0])


def prepare_sum(*, device: str, bytes: int) -> Prepared:  # noqa: A002  the axis
    """An array added to a variable in place: no memory is handed out, so that only its bandwidth
    counts (a fresh result of this size costs the CPU more in page faults than the sum itself)."""
    import tensorflow as tf

    array = draw_signs(bytes // 4)
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
        sums = total.value()
        for start in range(0, len(array), STRIP):
            strip = slice(start, start + STRIP)
            if not np.array_equal(sums[strip].numpy(), calls * array[strip]):
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
    points=cross(direction=("to-device", "from-device"), bytes=tuple(COPIED)),
    profiles=lambda bytes, **_: COPIED.get(bytes, FULL),  # noqa: A006  the axis
    work=one_copy,
    prepare=prepare_copy,
    role="overhead",
    work_key=lambda direction, **_: f"copying/{direction}",
    proof="results",
    device=lambda direction, **_: "arm" if direction == "to-device" else "cpu",
    price=lambda direction, **_: "copy-in" if direction == "to-device" else "copy-out",
)

SUM = Scenario(
    family="overhead",
    case="sum",
    question="How fast is the device's memory, by adding {bytes} bytes to {bytes} bytes?",
    points=cross(bytes=SUMMED),
    # Two arrays are read and one is written, which is how the STREAM benchmark counts.
    work=Work(amount=1.0, unit="sum", bytes=3.0 * SUMMED),
    prepare=prepare_sum,
    role="reference",
    proof="results",
    price="memory",
)

STAGES = {
    "import": ("How long does importing TensorFlow and Keras take in a fresh process?", SMOKE),
    "devices": ("How long does initialising the devices take?", NOT_VERDICT),
    "kernel": ("How long does the first kernel of a process take?", NOT_VERDICT),
    "build": ("How long does the first model take to build?", NOT_VERDICT),
    "deep": ("How long does the first model of 50 layers take to build?", FULL),
    "step": ("How long does the first training step take, tracing included?", SMOKE),
}
"""The stages in their fixed order, but for ``clone`` behind ``build``, which is a cell of the family asked:
what each answers, and the profiles that hold it."""

START: dict[str, Any] = {
    "family": "overhead",
    "work": Work(amount=1.0, unit="start"),
    "prepare": None,
    "role": "overhead",
    "proof": None,
    "price": "start-up",
    "one_shot": True,
}
"""What every start is."""

STARTUP = tuple(
    Scenario(
        **START,
        case="startup",
        question=question,
        points=cross(stage=stage),
        profiles=profiles,
        work_key=lambda stage: f"starting/{stage}",
    )
    for stage, (question, profiles) in STAGES.items()
)

CONTAINER = Scenario(
    **START,
    case="container",
    question="How long does starting a container take?",
    points=cross(),
    profiles=SMOKE,
    work_key="starting/container",
    by_host=True,
)

SCENARIOS = (
    *(FENCE, HANDOVER, EAGER_OP, FUNCTION_CALL, XLA_CALL, GRAPH_OP, COPY, SUM),
    *STARTUP,
    CONTAINER,
)
