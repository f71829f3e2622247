"""overhead: the fixed costs that explain the rest."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from suite.cells.cell import Work
from suite.cells.scenario import Ops, Results, Scenario, cross
from suite.cells.traits import Price
from suite.model import Check
from suite.worker.scenario.profiles import FULL, NOT_QUICK, SMOKE, Profiles
from suite.worker.scenario.scenario import Prepared, WrongResult, lay

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

    def check(_: Any) -> Check:
        began = time.perf_counter_ns()
        fence()
        if time.perf_counter_ns() < began:
            raise WrongResult("the clock ran backwards")
        return Check(what="the fence returns")

    return Prepared(step=fence, check=check)


def prepare_eager(*, device: str) -> Prepared:
    """One tiny addition, eager."""
    here = lay(device, np.float32(1.0))
    (one,) = here.tensors

    def step() -> Any:
        return one + one

    return Prepared(
        step=step,
        check=_is_two,
        resident=here,
        enqueues=True,
    )


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
        found, exact = float(last), product()
        if not abs(found - exact) <= CHAIN_TOLERANCE * exact:
            raise WrongResult(f"the chain gave {found:.9g}, expected {exact:.9g}")
        return Check(
            what=f"{CHAIN} multiplications by {FACTOR}", value=found, tolerance=CHAIN_TOLERANCE
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


def _alike(case: str, price: Price, profiles: Profiles, work: Work = CALL) -> dict[str, Any]:
    """What each of these cases has like the others: one cell, whose time is a price."""
    return {
        "family": "overhead",
        "case": case,
        "axes": (),
        "points": cross(),
        "profiles": profiles,
        "work": work,
        "role": "overhead",
        "kin": case,
        "price": price,
    }


FENCE = Scenario(
    **_alike("fence", "fence", NOT_QUICK),
    question="What does waiting for an idle device cost?",
    prepare=prepare_fence,
    proof=None,
)

EAGER_OP = Scenario(
    **_alike("eager_op", "eager", SMOKE),
    question="What does one eager operation cost, whatever its size?",
    prepare=prepare_eager,
    proof=Results(),
    control=True,
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
    proof=Results(),
)

GRAPH_OP = Scenario(
    **_alike("graph_op", "operation", FULL, work=Work(amount=float(CHAIN), unit="operation")),
    question=f"What does one operation inside a graph cost, in a chain of {CHAIN:,}?",
    prepare=prepare_graph_op,
    proof=LINKS,
)
