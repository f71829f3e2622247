"""matmul.repeated: a control, equal products one after the other, in one cell one more than declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from suite.cells.cell import Work
from suite.cells.links import vary
from suite.cells.scenario import Results, Scenario, cross
from suite.worker.scenario.profiles import STANDARD
from suite.worker.scenario.scenario import Prepared, lay
from suite.worker.scenarios.matmul import square

DECLARED = 20
"""Products of a call that both cells declare: the honest one does them, the other one more, which are 5 %."""

SIZE = 500
"""Rows of the matrices.  On a CPU a product is arithmetic then, and a call takes a few hundredths of a
second on two cores.  Each cell has its own copy of them, and where that lies in memory makes less
difference than at 256 (0.3 and 1.5 % between processes)."""


def work(n: int, **_: int) -> Work:
    """What both declare: the honest one's products, and not what the other does beyond them."""
    return replace(
        square.work(n), amount=DECLARED * square.work(n).amount, launches=float(DECLARED)
    )


def prepare(*, device: str, n: int, products: int) -> Prepared:
    """``products`` times the same eager ``tf.matmul`` of the same matrices: the same kernel each time.

    A product with more rows is another kernel, whose time need not grow as its work does.
    """
    import tensorflow as tf

    host = square.draw_operands(n)
    here = lay(device, *host)
    left, right = here.tensors

    def step() -> Any:
        for _ in range(products - 1):
            tf.matmul(left, right)
        return tf.matmul(left, right)

    return Prepared(
        step=step,
        check=lambda product: square.check_product(host[0], host[1], product.numpy(), "fp32"),
        resident=here,
        enqueues=True,
    )


REPEATED = Scenario(
    family="matmul",
    case="repeated",
    question="A control, declared as 20 products of {n} × {n}: what do {products} of them take?",
    axes=("n", "products"),
    points=cross(n=SIZE, products=(DECLARED, DECLARED + 1)),
    profiles=STANDARD,
    work=work,
    prepare=prepare,
    role="control",
    kin=lambda n, products: f"products/{products} of {n}",
    proof=Results(),
    data="device",
    dispatch="eager",
    excess=lambda products, **_: products / DECLARED - 1 if products > DECLARED else None,
    links={"honest": vary("without the one beyond what is declared", products=DECLARED)},
)
