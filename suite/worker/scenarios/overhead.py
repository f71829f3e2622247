"""overhead: the prices that explain the rest."""

from __future__ import annotations

import time
from typing import Any

from suite.model import Check, Param, ProfileName, Work
from suite.worker.scenario import (
    GraphProof,
    Point,
    Prepared,
    Scenario,
    TensorProof,
    WrongResult,
)
from suite.worker.startup import STAGES

ALL: tuple[ProfileName, ...] = ("smoke", "quick", "standard", "full")


def call(**_: Param) -> Work:
    """One call."""
    return Work(amount=1.0, unit="call")


def start(**_: Param) -> Work:
    """One start."""
    return Work(amount=1.0, unit="start")


def _is_two(result: Any) -> Check:
    value = float(result)
    if value != 2.0:
        raise WrongResult(f"1 + 1 gave {value}")
    return Check(what="1 + 1 = 2", value=value, tolerance=0.0)


def prepare_fence(*, device: str) -> Prepared:  # noqa: ARG001  every device is waited for
    """Waiting for devices that have nothing to do."""
    import tensorflow as tf

    fence = tf.test.experimental.sync_devices

    def check(_: Any) -> Check:
        began = time.perf_counter_ns()
        fence()
        if time.perf_counter_ns() < began:
            raise WrongResult("the clock ran backwards")
        return Check(what="the fence returns")

    return Prepared(step=fence, check=check, proof=None)


def prepare_eager(*, device: str) -> Prepared:
    """One tiny addition, eager."""
    import tensorflow as tf

    with tf.device(device):
        one = tf.constant(1.0)

    def step() -> Any:
        return one + one

    return Prepared(
        step=step, check=_is_two, proof=TensorProof(tensors=lambda two: [two]), enqueues=True
    )


def prepare_function(*, device: str) -> Prepared:
    """One tiny addition, as a `tf.function`."""
    import tensorflow as tf

    with tf.device(device):
        one = tf.constant(1.0)
    add = tf.function(lambda left, right: left + right, jit_compile=False)

    return Prepared(
        step=lambda: add(one, one),
        check=_is_two,
        proof=GraphProof(groups=(("AddV2",),)),
        enqueues=True,
        traces=lambda: int(add.experimental_get_tracing_count()),
    )


FENCE, EAGER_OP, FUNCTION_CALL = (
    Scenario(
        family="overhead",
        case=case,
        about=about,
        question=question,
        axes=(),
        points=(Point(params={}, profiles=ALL),),
        work=call,
        prepare=prepare,
    )
    for case, about, question, prepare in (
        (
            "fence",
            "Waiting for idle devices: the price of every sample's ends.",
            "What does waiting for an idle device cost?",
            prepare_fence,
        ),
        (
            "eager_op",
            "An eager operation that has nothing to compute.",
            "What does one eager operation cost, whatever its size?",
            prepare_eager,
        ),
        (
            "function_call",
            "A tf.function that has nothing to compute.",
            "What does one call of a tf.function cost, whatever is in it?",
            prepare_function,
        ),
    )
)

STAGE_QUESTIONS = {
    "import": "How long does importing TensorFlow and Keras take in a fresh process?",
    "devices": "How long does initialising the devices take?",
    "kernel": "How long does the first kernel of a process take?",
    "build": "How long does the first model take to build?",
    "step": "How long does the first training step take, tracing included?",
}

STARTUP = tuple(
    Scenario(
        family="overhead",
        case="startup",
        about="The start-up sequence, once an invocation, always in this order.",
        question=STAGE_QUESTIONS[stage],
        axes=("stage",),
        points=(Point(params={"stage": stage}, profiles=ALL),),
        work=start,
        prepare=None,
        one_shot=True,
    )
    for stage in STAGES
    if stage in STAGE_QUESTIONS
)

CONTAINER = Scenario(
    family="overhead",
    case="container",
    about="From asking the engine to start a container to its first word.",
    question="How long does starting a container take?",
    axes=(),
    points=(Point(params={}, profiles=ALL),),
    work=start,
    prepare=None,
    one_shot=True,
    by_host=True,
)
