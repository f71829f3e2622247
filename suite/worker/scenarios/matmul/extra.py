"""matmul.extra: a control, the square product with more of it than it declares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.links import cell
from suite.cells.scenario import Results, Scenario, cross
from suite.worker.scenario.scenario import DATA_SEED, Prepared, TensorProof, lay
from suite.worker.scenarios.matmul import square

EXTRA = 5
"""Per cent of work that the control does beyond what it declares."""


def work(n: int, **_: Param) -> Work:
    """What the control declares: the honest product's work, and not what it does beyond."""
    return replace(square.work(n), launches=1.0)


def prepare(
    *, device: str, n: int, precision: str, operands: str, xla: str, extra: int
) -> Prepared:
    """The square product with more rows than it says: ``extra`` per cent more of the same work."""
    import tensorflow as tf

    if (precision, operands, xla) != ("fp32", "device", "off"):
        raise ValueError(f"no such product: {precision}, {operands}, xla {xla}")
    source = np.random.default_rng([DATA_SEED, n, extra])
    more = source.standard_normal((n * extra // 100, n), dtype=np.float32)
    honest = square.draw_operands(n)
    host = [np.concatenate([honest[0], more]), honest[1]]
    here = lay(device, *host)
    left, right = here.tensors

    return Prepared(
        step=lambda: tf.matmul(left, right),
        check=lambda product: square.check_tensor(host[0], host[1], product, precision),
        proof=TensorProof(tensors=lambda product: [product]),
        resident=here,
        enqueues=True,
    )


EXTRA_WORK = Scenario(
    family="matmul",
    case="extra",
    about="A control: the square product with more of it than it declares.",
    question="A control, not a product to compare: are {extra} % more work than declared seen at n = {n}?",
    axes=("n", "precision", "operands", "xla", "extra"),
    points=cross(
        n=1000,
        precision="fp32",
        operands="device",
        xla="off",
        extra=EXTRA,
        profiles=("standard", "full"),
    ),
    work=work,
    prepare=prepare,
    role="control",
    kin=square.name_product,
    larger=("n",),
    proof=Results(),
    data="device",
    dispatch="eager",
    excess=lambda extra, **_: extra / 100,
    links=lambda extra, **axes: {"honest": cell("matmul.square", **axes)},  # noqa: ARG005  what the twin lacks
)
