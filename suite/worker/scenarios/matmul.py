"""matmul: the raw arithmetic, and the famous plot of time against size; and a control of known extra work."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from suite.cells.cell import Param, Work
from suite.cells.scenario import Scenario, cross, vary
from suite.cells.traits import FULL, QUICK, SMOKE, STANDARD
from suite.model import Check
from suite.worker.proof.precision import STORED, demand, switch
from suite.worker.scenario.scenario import DATA_SEED, Prepared, WrongResult, lay

ASKED_ABOUT = (1, 10, 100, 500, 1000, 2000, 3000, 4000, 5000, 8000, 10000)
"""The sizes of the plot that people post."""

SIZES = {
    **dict.fromkeys(ASKED_ABOUT, STANDARD),
    10: SMOKE,
    32: FULL,
    64: FULL,
    100: QUICK,
    128: FULL,
    256: STANDARD,
    1000: SMOKE,
    4000: QUICK,
}
"""The sizes of the plain product and the profiles that hold them: smoke has one small and one large, standard
all that people ask about, and one of those between, which find the crossover."""

LOW = ("tf32", "bf16", "fp16")
LOW_SIZES = (1000, 4000, 8000)
"""The precisions of tensor cores, and the sizes at which they are measured."""

VARIED_SIZES = (100, 1000, 4000)
"""The sizes at which operands also come from the host, and XLA also compiles the product."""

TOLERANCE = {"fp32": 1e-5, "tf32": 1.5e-3, "bf16": 6e-3, "fp16": 1e-3}
"""Relative error that a product may have in the check, by precision.  IEEE float32 comes out below
1e-6 here; TF32 (10 bits of mantissa) at 2.9e-4 with rounded operands and 7.5e-4 with cut-off ones, so
that a TF32 product can't pass as fp32, nor one of bf16 operands (2.3e-3) as TF32.  bf16 and fp16 round
the product itself: 1.6e-3 and 2e-4; the rest is room for partial sums in that precision (3.3e-3 was
seen of bf16)."""

LEAST_ERROR = {"tf32": 3e-5}
"""A product with a smaller relative error was not computed in the precision that it is to be; where
operands and product are stored in the precision, their type says so already."""


BYTES = {"fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0}
"""Bytes of an element as it is stored, by precision."""


def product_work(n: int, **_: Param) -> Work:
    """2n³ floating-point operations: n multiplications and n additions an element."""
    return Work(amount=2.0 * n**3, unit="FLOP")


def square_work(n: int, precision: str, **_: Param) -> Work:
    """The work of one call: the product, and the two matrices that it reads and the one that it writes."""
    size = BYTES[precision] * n * n
    return replace(product_work(n), bytes_in=2 * size, bytes_out=size, launches=1.0)


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


SAMPLED = 64
"""The brief check computes a product's numbers where so many of its rows cross as many of its columns."""


def sampled_error(left: Any, right: Any, product: Any) -> float:
    """The relative error of some of a product's numbers, infinite where any number of it is not finite;
    arguments as `relative_error`'s."""
    draw = np.random.default_rng([DATA_SEED, *product.shape])
    rows, columns = (draw.integers(0, size, min(size, SAMPLED)) for size in product.shape)
    exact = left[rows].astype(np.float64) @ right[:, columns].astype(np.float64)
    off = float(np.linalg.norm(product[np.ix_(rows, columns)].astype(np.float64) - exact))
    is_finite = math.isfinite(float(np.sum(product, dtype=np.float32)))
    return off / max(float(np.linalg.norm(exact)), 1e-300) if is_finite else math.inf


def check_product(
    left: Any,
    right: Any,
    product: Any,
    precision: str,
    *,
    exactly: bool = True,
    brief: bool = False,
) -> Check:
    """Freivalds' check of a product against its operands, all NumPy's, by the precision's tolerance; or the
    ``brief`` one, of some of its numbers.

    ``exactly``: it has to be of that precision, and not of a better one.

    Raises:
        WrongResult: the product is wrong, or is of another precision.
    """
    if product.shape != (len(left), right.shape[1]):
        raise WrongResult(f"the product is of shape {product.shape}")
    error = (sampled_error if brief else relative_error)(left, right, product)
    allowed = TOLERANCE[precision]
    if not error <= allowed:
        raise WrongResult(
            f"the product's relative error is {error:.2g}; {precision} allows {allowed:g}"
        )
    if str(product.dtype) != STORED[precision]:
        raise WrongResult(f"the product is stored as {product.dtype}, not {STORED[precision]}")
    if exactly and error < LEAST_ERROR.get(precision, 0.0):
        raise WrongResult(
            f"the product's relative error is only {error:.2g}: it was not computed in {precision}"
        )
    how = f"{SAMPLED} × {SAMPLED} of its numbers, all finite" if brief else "Freivalds"
    return Check(what=f"{how}: relative error {error:.1e} ≤ {allowed:g}")


def confirm(precision: str, device: str) -> None:
    """Shows by a small product that the switch of a precision holds on the device, here and now.

    For cells whose own result can't show it; only TF32 has a switch.

    Raises:
        WrongResult: it does not hold.
    """
    import tensorflow as tf

    if precision not in LEAST_ERROR:
        return
    host = draw_operands(CONFIRMED)
    with tf.device(device):
        product = tf.matmul(*(tf.constant(matrix) for matrix in host))
    check_product(host[0], host[1], product.numpy(), precision)


CONFIRMED = 512
"""The size of that product: a multiple of what a tensor core takes at once."""


DRAWN = 1 << 20
"""So many numbers are drawn from one seed, by one thread."""


class Numbers:
    """Seeded N(0, 1) numbers, float32, in one row without end, of which as many are drawn as were asked for.

    A process draws each once: all operands are the beginning of this row, of which it keeps what its largest
    product needs (800 MB at n = 10000, until it ends).
    """

    def __init__(self) -> None:
        self._drawn = np.empty(0, dtype=np.float32)

    def take(self, count: int) -> Any:
        """The first ones, which can't be written to; the same on any number of CPUs."""
        have = len(self._drawn)
        if count > have:
            row = np.empty(-(-count // DRAWN) * DRAWN, dtype=np.float32)
            row[:have] = self._drawn

            def draw(start: int) -> None:
                source = np.random.default_rng([DATA_SEED, 3, start // DRAWN])
                source.standard_normal(out=row[start : start + DRAWN], dtype=np.float32)

            with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
                list(threads.map(draw, range(have, len(row), DRAWN)))
            row.flags.writeable = False
            self._drawn = row
        return self._drawn[:count]


NUMBERS = Numbers()


def draw_operands(n: int) -> list[Any]:
    """The two seeded N(0, 1) matrices of a size, float32."""
    return list(NUMBERS.take(2 * n * n).reshape(2, n, n))


def prepare(*, device: str, n: int, precision: str, operands: str, xla: str) -> Prepared:
    """A ``tf.matmul`` of two N(0, 1) matrices: eager, or compiled by XLA.

    Eager, because that is what people run and because it is the thinnest wrapping there is: a
    `tf.function` around it costs more than a small product (the overhead cells say how much).
    The matrices lie on the device; ``operands=host``: NumPy's are handed over, and the product is
    fetched, at every call.
    """
    import tensorflow as tf

    demand(precision, device)
    stored = tf.as_dtype(STORED[precision]).as_numpy_dtype
    host = [matrix.astype(stored, copy=False) for matrix in draw_operands(n)]
    # Eager work is never traced.
    multiply, traces = _compile() if xla == "on" else (tf.matmul, lambda: 0)
    if operands == "host":
        # Arrays of their own, as people have them.
        return _prepare_fetched(multiply, [each.copy() for each in host], device, precision)
    here = lay(device, *host)
    left, right = here.tensors

    def step() -> Any:
        return multiply(left, right)

    def check(product: Any, *, brief: bool = False) -> Check:
        return check_product(host[0], host[1], product.numpy(), precision, brief=brief)

    return Prepared(
        step=step,
        check=check,
        brief=partial(check, brief=True),
        resident=here,
        enqueues=True,
        traces=traces,
        close=switch(precision),
    )


def _compile() -> tuple[Any, Callable[[], int]]:
    """The product as a function that XLA compiles, and how often it was traced so far."""
    import tensorflow as tf

    def product(left: Any, right: Any) -> Any:
        return tf.matmul(left, right)

    compiled = tf.function(product, jit_compile=True)
    return compiled, lambda: int(compiled.experimental_get_tracing_count())


def _prepare_fetched(multiply: Any, host: list[Any], device: str, precision: str) -> Prepared:
    """The product of NumPy's matrices, as NumPy's again."""
    import tensorflow as tf

    def product() -> Any:
        with tf.device(device):
            return multiply(*host)

    return Prepared(
        step=lambda: product().numpy(),
        check=lambda fetched: check_product(host[0], host[1], fetched, precision),
        # What was fetched lies on the host, wherever it came from: the same once more, unfetched.
        tensors=lambda _: [product()],
        close=switch(precision),
    )


CONTROL_SIZES = (10, 100, 500, 1000)
"""Of the plain products those that twins run, from overhead to arithmetic."""


def name_product(n: int, **_: Param) -> str:
    """Products of one size are the same work."""
    return f"product/{n}"


PLAIN: dict[str, Any] = {"precision": "fp32", "operands": "device", "xla": "off"}

SQUARE = Scenario(
    family="matmul",
    case="square",
    question="How long does a {n} × {n} product take ({precision}, operands on the {operands}, "
    "XLA {xla})?",
    points=(
        *cross(n=sorted(SIZES), **PLAIN),
        *cross(precision=LOW, n=LOW_SIZES, operands="device", xla="off"),
        *cross(n=VARIED_SIZES, **{**PLAIN, "operands": "host"}),
        *cross(n=VARIED_SIZES, **{**PLAIN, "xla": "on"}),
    ),
    profiles=lambda n, **rest: SIZES.get(n, FULL) if rest == PLAIN else FULL,
    long_budget=lambda n, **rest: n in ASKED_ABOUT and rest == PLAIN,
    work=square_work,
    prepare=prepare,
    work_key=name_product,
    sweep="n",
    headline="time",
    larger=("n",),
    proof="results",
    precision=lambda precision, **_: precision,
    data=lambda operands, **_: operands,
    dispatch=lambda xla, **_: "xla" if xla == "on" else "eager",
    control=lambda n, **rest: n in CONTROL_SIZES and rest == PLAIN,
    links=lambda n, **rest: {
        "nearer": vary("with the operands on the device", operands="device"),
        **({"fewer": vary(xla="on")} if n in VARIED_SIZES and rest == PLAIN else {}),
    },
    choices={"precision": "precision", "operands": "data_place", "xla": "xla"},
)

DECLARED = 20
"""Products of a call, by both cells of the control: one does so many, the other one more, which is 5 %."""

REPEATED_SIZE = 500
"""Rows of the matrices.  On a CPU a product is arithmetic then, and a call takes a few hundredths of a
second on two cores.  Each cell has its own copy of them, and where that lies in memory makes less
difference than at 256 (0.3 and 1.5 % between processes)."""


def repeated_work(n: int, **_: int) -> Work:
    """The products that both declare, and not what one of them does beyond that."""
    each = product_work(n)
    return replace(each, amount=DECLARED * each.amount, launches=float(DECLARED))


def prepare_repeated(*, device: str, n: int, products: int) -> Prepared:
    """``products`` times the same eager ``tf.matmul`` of the same matrices: the same kernel each time.

    A product with more rows is another kernel, whose time need not grow as its work does.
    """
    import tensorflow as tf

    host = draw_operands(n)
    here = lay(device, *host)
    left, right = here.tensors

    def step() -> Any:
        for _ in range(products - 1):
            tf.matmul(left, right)
        return tf.matmul(left, right)

    return Prepared(
        step=step,
        check=lambda product: check_product(host[0], host[1], product.numpy(), "fp32"),
        resident=here,
        enqueues=True,
    )


REPEATED = Scenario(
    family="matmul",
    case="repeated",
    question="A control, declared as 20 products of {n} × {n}: what do {products} of them take?",
    points=cross(n=REPEATED_SIZE, products=(DECLARED, DECLARED + 1)),
    profiles=STANDARD,
    work=repeated_work,
    prepare=prepare_repeated,
    role="control",
    work_key=lambda n, products: f"products/{products} of {n}",
    proof="results",
    data="device",
    dispatch="eager",
    extra_work=lambda products, **_: products / DECLARED - 1 if products > DECLARED else None,
    links={"honest": vary("without the one beyond what is declared", products=DECLARED)},
)
