"""Freivalds' check by precision: what each lets pass, and what it takes for another precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite.cells.cell import Cell, Work
from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios import matmul
from suite.worker.scenarios.matmul import (
    LEAST_ERROR,
    REPEATED,
    TOLERANCE,
    check_product,
    draw_operands,
    prepare_repeated,
    relative_error,
)
from suite.worker.scenarios.scripts.products import check_matrices
from tests.fakes.device import Scopes, install
from tests.worker.verdict import hear


def operands(size: int) -> tuple[Any, Any]:
    left, right = np.random.default_rng(size).standard_normal((2, size, size), dtype=np.float32)
    return left, right


def rounded(bits: int) -> Callable[[Any], Any]:
    """To so many of float32's 23 stored bits of mantissa, the nearest, halves to even."""
    drop = np.uint32(23 - bits)
    half = np.uint32((1 << (22 - bits)) - 1)

    def change(matrix: Any) -> Any:
        stored = matrix.view(np.uint32)
        near = stored + half + ((stored >> drop) & np.uint32(1))
        return ((near >> drop) << drop).view(np.float32)

    return change


def cut_off(matrix: Any) -> Any:
    """To TF32's ten bits of mantissa, by leaving the others out."""
    return (matrix.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def reading(change: Callable[[Any], Any]) -> Callable[[int], Any]:
    """Operands, and the product of what the hardware reads of them."""

    def make(size: int) -> Any:
        left, right = operands(size)
        return left, right, change(left) @ change(right)

    return make


def of_halves(size: int) -> Any:
    """Operands of 16 bits, and their product in 32."""
    left, right = (matrix.astype(np.float16) for matrix in operands(size))
    return left, right, left.astype(np.float32) @ right.astype(np.float32)


def stored_half(size: int) -> Any:
    left, right, product = of_halves(size)
    return left, right, product.astype(np.float16)


def all_bf16(size: int) -> Any:
    """Operands and product are rounded, and stored in 32 bits."""
    left, right = (bf16(matrix) for matrix in operands(size))
    return left, right, bf16(left @ right)


tf32, bf16 = rounded(10), rounded(7)
fp32 = reading(lambda matrix: matrix)

RIGHT = "Freivalds: relative error"
"""How a check of a product begins that lets it pass."""


@pytest.mark.parametrize("size", [64, 256, 400])
@pytest.mark.parametrize(
    ("made", "claimed", "said"),
    [
        (fp32, "fp32", RIGHT),
        (fp32, "tf32", "it was not computed in tf32"),
        (reading(tf32), "tf32", RIGHT),
        (reading(cut_off), "tf32", RIGHT),
        (reading(tf32), "fp32", "fp32 allows"),
        (reading(bf16), "tf32", "tf32 allows 0.0015"),
        (stored_half, "fp16", RIGHT),
        (of_halves, "fp16", "stored as float32, not float16"),
        (all_bf16, "bf16", "stored as float32, not bfloat16"),
    ],
)
def test_a_product_passes_as_what_it_was_computed_and_stored_in(
    made: Callable[[int], Any], claimed: str, said: str, size: int
) -> None:
    assert said in hear(WrongResult, check_product, *made(size), claimed)


@pytest.mark.parametrize(
    ("made", "claimed", "said"),
    [
        (fp32, "tf32", RIGHT),
        (reading(tf32), "tf32", RIGHT),
        (reading(tf32), "fp32", "fp32 allows"),
        (reading(bf16), "tf32", "tf32 allows 0.0015"),
    ],
)
def test_a_script_s_product_may_be_better_than_its_precision_but_not_worse(
    made: Callable[[int], Any], claimed: str, said: str
) -> None:
    assert said in hear(WrongResult, partial(check_matrices, allowed=claimed), *made(256))


@pytest.mark.parametrize(
    ("made", "sizes", "least", "most"),
    [
        (fp32, (1, 2, 10, 100, 255, 256, 257), -1.0, TOLERANCE["fp32"] / 10),
        (reading(tf32), (10, 100, 300), 10 * TOLERANCE["fp32"], 1e-3),
        (reading(tf32), (64, 256, 400), 2 * LEAST_ERROR["tf32"], TOLERANCE["tf32"] / 1.5),
        (reading(cut_off), (64, 256, 400), 2 * LEAST_ERROR["tf32"], TOLERANCE["tf32"] / 1.5),
        (all_bf16, (64, 256, 400), 1.3 * TOLERANCE["fp16"], TOLERANCE["bf16"] / 3),
    ],
)
def test_the_tolerances_are_far_from_what_right_products_are_off_by(
    made: Callable[[int], Any], sizes: tuple[int, ...], least: float, most: float
) -> None:
    for size in sizes:
        assert least < relative_error(*made(size)) < most, size


@settings(max_examples=50, deadline=None)
@given(
    size=st.integers(1, 120),
    row=st.integers(0, 119),
    column=st.integers(0, 119),
    off=st.floats(0.5, 100).map(np.float32),
)
def test_one_wrong_element_is_caught(size: int, row: int, column: int, off: Any) -> None:
    left, right, product = fp32(size)
    product[row % size, column % size] += off
    assert relative_error(left, right, product) > TOLERANCE["fp32"]


def without_a_number(size: int) -> Any:
    left, right, product = fp32(size)
    product[size // 2, size // 3] = np.inf
    return left, right, product


def scaled(size: int) -> Any:
    left, right, product = fp32(size)
    return left, right, np.float32(1.0001) * product


def cropped(size: int) -> Any:
    left, right, product = fp32(size)
    return left, right, product[:, 1:]


@pytest.mark.parametrize("size", [1, 10, 64, 400])
@pytest.mark.parametrize(
    ("made", "claimed", "said"),
    [
        (fp32, "fp32", "64 × 64 of its numbers, all finite: relative error"),
        (without_a_number, "fp32", "relative error is inf; fp32 allows"),
        (scaled, "fp32", "relative error is 0.0001; fp32 allows"),
        (cropped, "fp32", "the product is of shape"),
        (all_bf16, "tf32", "tf32 allows 0.0015"),
        (stored_half, "fp32", "fp32 allows"),
    ],
)
def test_the_brief_check_finds_what_is_wrong_all_over_and_whatever_is_no_number(
    made: Callable[[int], Any], claimed: str, said: str, size: int
) -> None:
    if size == 1 and made in {all_bf16, stored_half}:
        return
    assert said in hear(WrongResult, partial(check_product, brief=True), *made(size), claimed)


def test_operands_are_the_beginning_of_one_row_of_numbers_that_is_drawn_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(matmul, "DRAWN", 1000)
    drawn = {}
    for cpus, sizes in ((1, (3, 40, 70)), (5, (70, 40, 3))):
        monkeypatch.setattr(matmul.os, "sched_getaffinity", lambda _, n=cpus: set(range(n)))
        monkeypatch.setattr(matmul, "NUMBERS", matmul.Numbers())
        drawn[cpus] = {n: draw_operands(n) for n in sizes}
        # A size that came before is not drawn again.
        assert np.shares_memory(draw_operands(70)[0], drawn[cpus][70][0])
    for n, (left, right) in drawn[1].items():
        assert np.array_equal(left, drawn[5][n][0])
        assert np.array_equal(right, drawn[5][n][1])
        assert (left.shape, left.dtype, left.flags.writeable) == ((n, n), np.float32, False)
        assert not np.array_equal(left, right)
    both = np.ravel(drawn[1][70])
    assert (abs(both.mean()) < 0.05, abs(both.std() - 1) < 0.05) == (True, True)
    assert len(set(both.tolist())) > 0.99 * len(both)


@pytest.mark.parametrize("name", TOLERANCE)
def test_a_wrong_product_passes_as_nothing(name: str) -> None:
    left, right, twice = fp32(300)
    twice[7] = twice[8]
    nothing, unknown = np.zeros((300, 300)), np.full((300, 300), np.nan)
    for product in (twice, nothing, unknown):
        stored = product.astype(np.float16 if name == "fp16" else np.float32)
        assert f"{name} allows" in hear(WrongResult, check_product, left, right, stored, name)


def test_both_cells_declare_the_same_and_one_does_a_twentieth_more() -> None:
    honest, extra = REPEATED.cells()
    assert (honest.extra_work, extra.extra_work) == (None, pytest.approx(0.05))
    assert honest.links == {}
    assert [link.to for link in extra.links["honest"]] == [honest.id]
    assert honest.work == extra.work == Work(amount=20 * 2 * 500.0**3, unit="FLOP", launches=20)
    assert honest.work_key != extra.work_key


@pytest.mark.parametrize("cell", REPEATED.cells(), ids=lambda cell: cell.id)
def test_a_call_multiplies_the_same_matrices_as_often_as_its_id_says(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def multiply(left: Any, right: Any) -> Any:
        taken.append((left, right))
        return SimpleNamespace(numpy=lambda: left @ right)

    install(monkeypatch, device=Scopes().device, constant=lambda array: array, matmul=multiply)
    prepared = prepare_repeated(device="/CPU:0", **cell.params)  # type: ignore[arg-type]
    product: Any = prepared.step()
    assert len(taken) == cell.params["products"]
    assert len({(id(left), id(right)) for left, right in taken}) == 1
    assert RIGHT in hear(WrongResult, prepared.check, product)
    wrong = SimpleNamespace(numpy=lambda: product.numpy() + np.float32(1))
    assert "fp32 allows" in hear(WrongResult, prepared.check, wrong)
