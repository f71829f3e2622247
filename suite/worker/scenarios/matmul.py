"""matmul: the raw arithmetic, and the famous plot of time against size."""

from __future__ import annotations

from typing import Any

import numpy as np

from suite.model import Check, Param, ProfileName, Work
from suite.worker.scenario import (
    DATA_SEED,
    Point,
    Prepared,
    Scenario,
    TensorProof,
    WrongResult,
)

ASKED_ABOUT = (1, 10, 100, 500, 1000, 2000, 3000, 4000, 5000, 8000, 10000)
"""The sizes of the plot that people post; the others find the crossover."""

BETWEEN = (32, 64, 128, 256)

TOLERANCE = {"fp32": 1e-5}
"""Relative error that a product may have in the check, by precision.  IEEE float32 comes out below
1e-6 here; TF32 (10 bits of mantissa) at about 3e-4, so that a TF32 product can't pass as fp32."""


def work(n: int, **_: Param) -> Work:
    """2n³ floating-point operations: n multiplications and n additions an element."""
    return Work(amount=2.0 * n**3, unit="FLOP")


def relative_error(left: Any, right: Any, product: Any) -> float:
    """How wrong a product is, in O(n²): |C·v − A·(B·v)| / |A·(B·v)| for a random vector of ±1.

    Args:
        left: A, of shape (m, n).
        right: B, of shape (n, n).
        product: C, which should be A·B, of shape (m, n).

    Source: R. Freivalds, "Probabilistic machines can use less running time", IFIP 1977.
    """
    size = right.shape[1]
    vector = np.random.default_rng([DATA_SEED, size]).choice((-1.0, 1.0), size)

    def times(matrix: Any, by: Any) -> Any:
        # In float64 and by strips, so that the check is exact and needs no second matrix.
        strips = range(0, len(matrix), 256)
        return np.concatenate([matrix[i : i + 256].astype(np.float64) @ by for i in strips])

    expected = times(left, times(right, vector))
    difference = times(product, vector) - expected
    return float(np.linalg.norm(difference) / max(np.linalg.norm(expected), 1e-300))


def _operands(n: int) -> list[Any]:
    """The two seeded N(0, 1) matrices of a size, float32."""
    source = np.random.default_rng([DATA_SEED, n])
    return [source.standard_normal((n, n), dtype=np.float32) for _ in range(2)]


def _check(left: Any, right: Any, product: Any, precision: str) -> Check:
    """Freivalds' check of a product against its operands, by the precision's tolerance."""
    error = relative_error(left, right, product.numpy())
    allowed = TOLERANCE[precision]
    if not error <= allowed:
        raise WrongResult(
            f"the product's relative error is {error:.2g}; {precision} allows {allowed:g}"
        )
    return Check(what=f"Freivalds: relative error {error:.1e} ≤ {allowed:g}")


def prepare(*, device: str, n: int, precision: str, operands: str, xla: str) -> Prepared:
    """An eager ``tf.matmul`` of two N(0, 1) matrices that lie on the device.

    Eager, because that is what people run and because it is the thinnest wrapping there is: a
    `tf.function` around it costs more than a small product (the overhead cells say how much).
    """
    import tensorflow as tf

    if (precision, operands, xla) != ("fp32", "device", "off"):
        raise ValueError(f"no such product: {precision}, {operands}, xla {xla}")
    host = _operands(n)
    with tf.device(device):
        left, right = (tf.constant(matrix) for matrix in host)

    def step() -> Any:
        return tf.matmul(left, right)

    return Prepared(
        step=step,
        check=lambda product: _check(host[0], host[1], product, precision),
        proof=TensorProof(tensors=lambda product: [product]),
        enqueues=True,
    )


EXTRA = 5
"""Per cent of work that the control does beyond what it declares."""


def extra_work(n: int, **_: Param) -> Work:
    """What the control declares: the honest product's work, and not what it does beyond."""
    return work(n)


def prepare_extra(
    *, device: str, n: int, precision: str, operands: str, xla: str, extra: int
) -> Prepared:
    """The square product with more rows than it says: ``extra`` per cent more of the same work."""
    import tensorflow as tf

    if (precision, operands, xla) != ("fp32", "device", "off"):
        raise ValueError(f"no such product: {precision}, {operands}, xla {xla}")
    source = np.random.default_rng([DATA_SEED, n, extra])
    more = source.standard_normal((n * extra // 100, n), dtype=np.float32)
    honest = _operands(n)
    host = [np.concatenate([honest[0], more]), honest[1]]
    with tf.device(device):
        left, right = (tf.constant(matrix) for matrix in host)

    return Prepared(
        step=lambda: tf.matmul(left, right),
        check=lambda product: _check(host[0], host[1], product, precision),
        proof=TensorProof(tensors=lambda product: [product]),
        enqueues=True,
    )


def _profiles(n: int) -> tuple[ProfileName, ...]:
    if n in {10, 1000}:
        return ("smoke", "quick", "standard", "full")
    if n in {1, 100, 3000, 4000}:
        return ("quick", "standard", "full")
    return ("standard", "full")


SQUARE = Scenario(
    family="matmul",
    case="square",
    about="The product of two square matrices, eager, one after the other.",
    question="How long does a {n} × {n} product take ({precision}, operands on the {operands})?",
    axes=("n", "precision", "operands", "xla"),
    points=tuple(
        Point(
            params={"n": n, "precision": "fp32", "operands": "device", "xla": "off"},
            profiles=_profiles(n),
            asked_about=n in ASKED_ABOUT,
        )
        for n in sorted((*ASKED_ABOUT, *BETWEEN))
    ),
    work=work,
    prepare=prepare,
    sweep="n",
)

EXTRA_WORK = Scenario(
    family="matmul",
    case="extra",
    about="A control: the square product with more of it than it declares.",
    question="A control, not a product to compare: are {extra} % more work than declared seen at n = {n}?",
    axes=("n", "precision", "operands", "xla", "extra"),
    points=(
        Point(
            params={
                "n": 1000,
                "precision": "fp32",
                "operands": "device",
                "xla": "off",
                "extra": EXTRA,
            },
            profiles=("standard", "full"),
        ),
    ),
    work=extra_work,
    prepare=prepare_extra,
)
