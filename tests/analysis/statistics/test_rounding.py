"""Numbers leave the analysis with ten digits; a count keeps all of its own."""

from __future__ import annotations

import math

import msgspec
import pytest

from suite.analysis.statistics.rounding import hand_over, is_exact, settle


@pytest.mark.parametrize(
    ("value", "settled", "exact"),
    [
        (0.0, 0.0, True),
        (-3.0, -3.0, True),
        (128.0, 128.0, True),
        (0.30000000000000004, 0.3, False),
        (9999999999.0, 9999999999.0, True),
        (128000000000.0, 128000000000.0, False),
        (224869515277.0575, 224869515300.0, False),
        (612345678901234.0, 612345678900000.0, False),
        (612345678901234.1, 612345678900000.0, False),
        (-612345678901234.0, -612345678900000.0, False),
        (1.23456789012345e-7, 1.234567890e-7, False),
    ],
)
def test_ten_digits_are_left_of_a_number(value: float, settled: float, exact: bool) -> None:
    assert settle(value) == settled == settle(settled)
    assert is_exact(value) is exact


@pytest.mark.parametrize("rate", [1.2345e10, 6.12345678901234e14, 9.87654321e17])
def test_a_large_rate_is_the_same_whatever_its_last_bit(rate: float) -> None:
    assert settle(math.nextafter(rate, 0)) == settle(rate) == settle(math.nextafter(rate, 1e300))


def test_integers_stay_what_they_are() -> None:
    class Seen(msgspec.Struct):
        bytes: int
        rates: tuple[float, ...]
        named: dict[str, float]

    seen = Seen(bytes=25276502016, rates=(612345678901234.0,), named={"a": 0.1 + 0.2})
    settled = Seen(bytes=25276502016, rates=(612345678900000.0,), named={"a": 0.3})
    assert hand_over(seen) == settled
