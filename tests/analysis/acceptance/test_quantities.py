"""Quantities as people write them: what is taken, and what is refused with what to write."""

from __future__ import annotations

import pytest

from suite.analysis.acceptance.quantities import (
    QuantityError,
    read_amount,
    read_money,
    read_size_along,
    read_wanted,
)


@pytest.mark.parametrize(
    ("text", "side", "strict", "rest"),
    [
        ("at least 12 TFLOP/s", "at least", False, "12 TFLOP/s"),
        ("At Least  12 TFLOP/s", "at least", False, "12 TFLOP/s"),
        ("≥ 12 TFLOP/s", "at least", False, "12 TFLOP/s"),
        (">=12 TFLOP/s", "at least", False, "12 TFLOP/s"),
        ("=> 12", "at least", False, "12"),
        ("≧ 12", "at least", False, "12"),
        ("> 12", "at least", True, "12"),
        ("over 12", "at least", True, "12"),
        ("no less than 12", "at least", False, "12"),
        ("not under 12", "at least", False, "12"),
        ("12 or more", "at least", False, "12"),
        ("40 TFLOP/s minimum", "at least", False, "40 TFLOP/s"),
        ("min. 40 TFLOP/s", "at least", False, "40 TFLOP/s"),
        ("max 3 %", "at most", False, "3 %"),
        ("within 6 ms", "at most", False, "6 ms"),
        ("up to 5 min", "at most", False, "5 min"),
        ("555.42 or later", "at least", False, "555.42"),
        ("at most 1.5 ms", "at most", False, "1.5 ms"),
        ("≤1.5 ms", "at most", False, "1.5 ms"),
        ("under 3 %", "at most", True, "3 %"),
        ("<3%", "at most", True, "3%"),
        ("less than 3 %", "at most", True, "3 %"),
        ("up to 3 %", "at most", False, "3 %"),
        ("3 % or less", "at most", False, "3 %"),
        ("exactly 8", "exactly", False, "8"),
    ],
)
def test_which_way(text: str, side: str, strict: bool, rest: str) -> None:
    wanted = read_wanted(text)
    assert (wanted.side, wanted.strict, wanted.rest) == (side, strict, rest)


@pytest.mark.parametrize(
    ("text", "of", "value", "unit", "noun"),
    [
        ("12 TFLOP/s", "rate", 12e12, "TFLOP/s", "FLOP"),
        ("12.5 TFLOPS", "rate", 12.5e12, "TFLOPS", "FLOP"),
        ("12.5 Tflop/s", "rate", 12.5e12, "Tflop/s", "FLOP"),
        ("850 GB/s", "rate", 850e9, "GB/s", "byte"),
        ("10 GiB/s", "rate", 10 * 2**30, "GiB/s", "byte"),
        ("30 k examples/s", "rate", 30e3, "k examples/s", "example"),
        ("30k examples/s", "rate", 30e3, "k examples/s", "example"),
        ("30000 examples per second", "rate", 30e3, "examples per second", "example"),
        ("5 copies/s", "rate", 5.0, "copies/s", "copy"),
        ("1e3 calls/s", "rate", 1e3, "calls/s", "call"),
        ("1.5 ms", "time", 1.5e-3, "ms", ""),
        ("20 µs", "time", 20e-6, "µs", ""),
        ("6 milliseconds", "time", 6e-3, "milliseconds", ""),
        ("2 min", "time", 120.0, "min", ""),
        ("5%", "share", 0.05, "%", ""),
        ("5 percent", "share", 0.05, "percent", ""),
        ("5 times", "factor", 5.0, "times", ""),
        ("5×", "factor", 5.0, "×", ""),
        ("95 %", "factor", 0.95, "%", ""),
        ("80 GB", "size", 80e9, "GB", ""),
        ("8", "count", 8.0, "", ""),
        ("8 lanes", "count", 8.0, "lanes", ""),
        ("700 W", "power", 700.0, "W", ""),
        ("85 °C", "temperature", 85.0, "°C", ""),
    ],
)
def test_an_amount(text: str, of: str, value: float, unit: str, noun: str) -> None:
    amount = read_amount(text, of)
    assert amount.value == pytest.approx(value)
    assert (amount.unit, amount.of) == (unit, noun)


@pytest.mark.parametrize(
    ("text", "of", "words"),
    [
        ("12,5 TFLOP/s", "rate", "comma"),
        ("30,000 examples/s", "rate", "comma"),
        ("12", "rate", "no unit"),
        ("12 TFLOP", "rate", "not a unit of a rate"),
        ("12 Gbit/s", "rate", "8 bits"),
        ("12 Gb/s", "rate", "8 bits"),
        ("twelve TFLOP/s", "rate", "begin with a number"),
        ("1.2.3 ms", "time", "begin with a number"),
        ("5", "share", "no unit"),
        ("5 ms", "share", "does not fit"),
        ("5 %", "time", "does not fit"),
        ("1e999 ms", "time", "could be measured"),
        ("80 Gb", "size", "unit of memory"),
    ],
)
def test_what_is_no_amount(text: str, of: str, words: str) -> None:
    with pytest.raises(QuantityError) as refused:
        read_amount(text, of)
    assert words in f"{refused.value.what} {refused.value.remedy}"


def test_which_way_has_to_be_said() -> None:
    with pytest.raises(QuantityError, match="which way"):
        read_wanted("12 TFLOP/s")
    for text, remedy in (
        ("12 TFLOP/s", 'write "at least 12 TFLOP/s", or "at most 12 TFLOP/s"'),
        ("30 k examples/s", 'write "at least 30 k examples/s"'),
        ("40-50 TFLOP/s", "a range is two requirements"),
        ("40 to 50 TFLOP/s", "a range is two requirements"),
        ("45 ± 2 TFLOP/s", "one number with its unit"),
        ("about 45 TFLOP/s", "one number with its unit"),
    ):
        with pytest.raises(QuantityError) as refused:
            read_wanted(text)
        assert remedy in refused.value.remedy
    assert read_wanted("555", bare=True).side == "exactly"


@pytest.mark.parametrize(
    ("text", "number", "currency", "of"),
    [
        ("0.02 USD", 0.02, "USD", "examples"),
        ("USD 0.02", 0.02, "USD", "examples"),
        ("0.02 EUR per million examples", 0.02, "EUR", "examples"),
        ("2 EUR for a million steps", None, "", ""),
        ("2 EUR per million steps", 2.0, "EUR", "steps"),
        ("$0.02", None, "", ""),
        ("0,02 USD", None, "", ""),
        ("0.02", None, "", ""),
        ("USD 0.02 EUR", None, "", ""),
    ],
)
def test_money(text: str, number: float | None, currency: str, of: str) -> None:
    if number is None:
        with pytest.raises(QuantityError):
            read_money(text)
        return
    amount, found = read_money(text)
    assert (amount.value, found, amount.of) == (number, currency, of)


def test_a_size_along_an_axis() -> None:
    assert read_size_along("batch 256") == read_size_along("batch = 256") == ("batch", 256.0)
    with pytest.raises(QuantityError):
        read_size_along("256")
