"""sustain: what is left of a rate when work goes on: heat, power limits and CPU credits show after seconds.

Kept going once an arm, before all else, in a process of its own (docs/decisions/0058).
"""

from __future__ import annotations

from typing import Any

from suite.cells.cell import Param
from suite.cells.scenario import Point, Scenario, cross
from suite.cells.traits import FULL
from suite.worker.scenario.scenario import Prepared
from suite.worker.scenarios import matmul, overhead

PRODUCTS: tuple[Point, ...] = (
    {"precision": "fp32", "n": 2000},
    {"precision": "fp16", "n": 8000},
)
"""The product without a GPU: the largest of the suite's of which one core makes two a second.  With one:
tensor cores draw the most power, and all that have any have them at fp16; a product takes them all."""

COPIED = 268_435_456
"""Bytes of a copy: what it takes to begin one is nothing beside it, even on the fastest link."""

ALIKE: dict[str, Any] = {
    "family": "sustain",
    "profiles": FULL,
    "role": "sustained",
    "proof": "results",
}
"""What both cells have in common."""


def prepare_product(*, device: str, precision: str, n: int) -> Prepared:
    """An eager ``tf.matmul`` of matrices that lie on the device."""
    return matmul.prepare(device=device, n=n, precision=precision, operands="device", xla="off")


def _has_gpu(precision: str, **_: Param) -> tuple[str, ...]:
    return ("cpu",) if precision == "fp32" else ("gpu",)


PRODUCT = Scenario(
    **ALIKE,
    case="product",
    question="What is left of the rate of {n} × {n} products ({precision}) when they are kept going?",
    points=PRODUCTS,
    arms=_has_gpu,
    work=matmul.square_work,
    prepare=prepare_product,
    process="kept product",
    precision=lambda precision, **_: precision,
    data="device",
    dispatch="eager",
    choices={"precision": "precision"},
)

COPY = Scenario(
    **ALIKE,
    case="copy",
    question="What is left of the rate of copying {bytes} bytes {direction} when copies are kept going?",
    points=cross(direction="to-device", bytes=COPIED),
    work=overhead.one_copy,
    prepare=overhead.prepare_copy,
    process="kept copy",
)
