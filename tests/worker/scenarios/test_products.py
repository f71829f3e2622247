"""Freivalds' check by precision: what each lets pass, and what it takes for another precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.matmul.square import (
    LEAST_ERROR,
    TOLERANCE,
    check_product,
    relative_error,
)

SIZES = (64, 256, 400)


def operands(size: int) -> tuple[Any, Any]:
    source = np.random.default_rng(size)
    return (
        source.standard_normal((size, size), dtype=np.float32),
        source.standard_normal((size, size), dtype=np.float32),
    )


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


tf32, bf16 = rounded(10), rounded(7)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("reads", [tf32, cut_off], ids=["rounded", "cut off"])
def test_a_tensor_cores_product_passes_as_tf32(size: int, reads: Callable[[Any], Any]) -> None:
    left, right = operands(size)
    product = reads(left) @ reads(right)
    assert "≤ 0.0015" in check_product(left, right, product, "tf32").what
    error = relative_error(left, right, product)
    assert 2 * LEAST_ERROR["tf32"] < error < TOLERANCE["tf32"] / 1.5


@pytest.mark.parametrize("size", SIZES)
def test_a_float32_product_does_not_pass_as_tf32(size: int) -> None:
    left, right = operands(size)
    with pytest.raises(WrongResult, match="it was not computed in tf32"):
        check_product(left, right, left @ right, "tf32")
    assert check_product(left, right, left @ right, "fp32")


@pytest.mark.parametrize("size", SIZES)
def test_a_product_of_bfloat16s_does_not_pass_as_tf32(size: int) -> None:
    left, right = operands(size)
    with pytest.raises(WrongResult, match=r"tf32 allows 0\.0015"):
        check_product(left, right, bf16(left) @ bf16(right), "tf32")


@pytest.mark.parametrize("size", SIZES)
def test_a_half_product_passes_as_fp16_and_only_stored_as_such(size: int) -> None:
    left, right = (matrix.astype(np.float16) for matrix in operands(size))
    exact = left.astype(np.float32) @ right.astype(np.float32)
    assert check_product(left, right, exact.astype(np.float16), "fp16")
    with pytest.raises(WrongResult, match="stored as float32, not float16"):
        check_product(left, right, exact, "fp16")


@pytest.mark.parametrize("size", SIZES)
def test_rounding_the_product_to_bfloat16_is_within_its_tolerance_and_beyond_fp16s(
    size: int,
) -> None:
    left, right = (bf16(matrix) for matrix in operands(size))
    error = relative_error(left, right, bf16(left @ right))
    assert 1.3 * TOLERANCE["fp16"] < error < TOLERANCE["bf16"] / 3
    with pytest.raises(WrongResult, match="stored as float32, not bfloat16"):
        check_product(left, right, bf16(left @ right), "bf16")


@pytest.mark.parametrize("name", TOLERANCE)
def test_a_wrong_product_passes_as_nothing(name: str) -> None:
    left, right = operands(300)
    stored = np.float16 if name == "fp16" else np.float32
    product = left @ right
    product[7] = product[8]
    with pytest.raises(WrongResult, match=f"{name} allows"):
        check_product(left, right, product.astype(stored), name)
    with pytest.raises(WrongResult, match=f"{name} allows"):
        check_product(left, right, np.full((300, 300), np.nan, stored), name)
