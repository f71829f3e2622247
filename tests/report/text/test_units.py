"""Numbers as people read them."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suite.analysis.result.numbers import derive_rate
from suite.report.text import units

SIZES = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}

compare = partial(units.show_ratio, other="cuda", base="cpu")


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (units.show_seconds((0.001234567, 0.001222567, 0.001246567)), "1.235 ± 0.012 ms"),
        (units.show_seconds((0.001234567, None, None)), "1.23 ms"),
        (units.show_seconds(0.00099996), "1.00 ms"),
        (units.show_seconds((0.00099996, 0.00099995, 0.00099997)), "999.960 ± 0.010 µs"),
        (units.show_seconds((0.999999, 0.99, 1.01)), "1.000 ± 0.010 s"),
        (units.show_seconds((1.2e-3, 0.4e-3, 3.9e-3)), "1.2 (0.40–3.9) ms"),
        (units.show_seconds((950e-6, 820e-6, 1080e-6)), "950 ± 130 µs"),
        (units.show_seconds((1.5e-6, 1.5e-6, 1.5e-6)), "1.50 ± 0.00 µs"),
        (units.show_seconds(2e-12), "0.00200 ns"),
        (units.show_seconds(3661.0), "3661 s"),
        (units.show_seconds(1e9), "1.00e+09 s"),
        (compare((1 / 3.1, 1 / 3.4, 1 / 2.9)), "cuda 3.1× faster (2.9–3.4)"),
        (compare((2.0, 1.84, 2.11)), "cuda 2.0× slower (1.8–2.1)"),
        (compare((1.034, 1.021, 1.047)), "cuda 1.03× slower (1.02–1.05)"),
        (compare((0.02, 0.0196, 0.0204)), "cuda 50× faster (49–51)"),
        (compare((0.97, 0.9, 1.05)), "cuda 1.03× faster (0.95–1.11)"),
        (compare(0.5), "cuda 2.00× faster"),
        (compare((1.0004, 0.99, 1.01)), "cuda as fast as cpu, 1.00× (0.99–1.01)"),
        (compare((1.0, 1.0, 1.0)), "cuda as fast as cpu, 1.00× (1.00–1.00)"),
        (compare((1e9, 1e8, 1e10)), "cuda 1.0e+09× slower"),
        (units.name_rate("FLOP"), "FLOP/s"),
        (units.name_rate("byte"), "B/s"),
        (units.name_rate("example"), "examples/s"),
        (units.show_duration(0), "0 s"),
        (units.show_duration(0.85), "850 ms"),
        (units.show_duration(12.34), "12.3 s"),
        (units.show_duration(59.96), "60.0 s"),
        (units.show_duration(65), "1 min 05 s"),
        (units.show_duration(245), "4 min 05 s"),
        (units.show_duration(7384), "2 h 03 min"),
        (units.show_bytes(0), "0 B"),
        (units.show_bytes(12), "12.0 B"),
        (units.show_bytes(1536), "1.50 KiB"),
        (units.show_bytes(16 * 2**30), "16.0 GiB"),
        (units.show_share(1 / 3), "33.3 %"),
        (units.show_part(1, 0), "—"),
        (units.show_part(1, 3), "33.3 %"),
        (units.show_difference((38.2e-6, 36.8e-6, 39.6e-6)), "+38.2 ± 1.4 µs"),
        (units.show_difference((-1.2e-3, -1.3e-3, -1.1e-3)), "−1.20 ± 0.10 ms"),
        (units.show_difference(-2.5e-6), "−2.50 µs"),
        (units.show_difference((12e-6, -3e-6, 27e-6)), "+12 (−3 to +27) µs"),
        (units.show_difference((1e-9, -4e-5, 4e-5)), "0 (−40 to +40) µs"),
        (units.show_difference((8e-6, -2e-8, 16e-6)), "+8.00 (−0.02 to +16.00) µs"),
        (units.show_difference(0.0), "0 s"),
        (units.show_difference((0.0, 0.0, 0.0)), "0 s"),
        (units.show_difference((0.0, -1e-3, 1e-3)), "0.0 (−1.0 to +1.0) ms"),
        (units.show_more(0.123), "+12 %"),
        (units.show_more(-0.0312), "−3.1 %"),
        (units.show_more(1.5), "+150 %"),
        (units.show_more(0.0996), "+10 %"),
        (units.show_more(0.0000212), "+0.002 %"),
        (units.show_more(0.0), "0 %"),
        (units.show_tick(1e-5, "s"), "10 µs"),
        (units.show_tick(1.5, "s"), "1.5 s"),
        (units.show_tick(0.0999999999999999, "s"), "100 ms"),
        (units.show_tick(300_000.0, "examples/s"), "300k"),
        (units.show_tick(1.0, "examples/s"), "1"),
        (units.show_tick(2e6, "FLOP/s"), "2M"),
        (units.show_size(64), "64"),
        (units.show_size(10000.0), "10000"),
        (units.show_size(192.345), "192"),
        (units.show_size(2345.6), "2,346"),
    ],
)
def test_a_number_as_people_read_it(shown: str, text: str) -> None:
    assert shown == text


@settings(max_examples=25)
@given(st.floats(min_value=1e-11, max_value=1e5))
def test_seconds_round_trip(value: float) -> None:
    number, unit = units.show_seconds(value).split(" ")
    assert float(number) * SIZES[unit] == pytest.approx(value, rel=0.0051)
    if unit != "s":
        assert float(number) < 1000


@settings(max_examples=25)
@given(st.floats(min_value=1e-10, max_value=1e4), st.floats(min_value=1e-9, max_value=0.45))
def test_an_interval_round_trips_within_its_own_precision(value: float, share: float) -> None:
    text = units.show_seconds((value, value * (1 - share), value * (1 + share)))
    match = re.fullmatch(r"([\d.]+) ± ([\d.]+) (\S+)", text)
    assert match
    size = SIZES[match[3]]
    assert float(match[1]) * size == pytest.approx(value, rel=max(share * 0.051, 6e-6))
    assert len(match[1].replace(".", "").lstrip("0")) <= 7
    decimals = [len(part.partition(".")[2]) for part in (match[1], match[2])]
    assert decimals[0] == decimals[1]


@settings(max_examples=50)
@given(
    st.floats(min_value=-1e4, max_value=1e4).filter(lambda seconds: abs(seconds) > 1e-10),
    st.floats(min_value=1e-12, max_value=1e4),
)
def test_a_difference_shows_which_sides_of_0_its_ends_are_on(value: float, half: float) -> None:
    low, high = value - half, value + half
    shown = units.show_difference((value, low, high))
    assert shown.value == value
    assert shown[shown.point : shown.point + 1] in {".", " ", ""}
    wide = re.fullmatch(r"([+−]?[\d.]+) \(([+−]?)[\d.]+ to ([+−]?)[\d.]+\) (\S+)", shown)
    if wide is None:
        assert re.fullmatch(r"[+−][\d.]+ ± [\d.]+ \S+", shown)
        assert shown.startswith("−") == (value < 0)
        return
    signs = {True: "−", False: "+"}
    assert (wide[2], wide[3]) == (signs[low < 0] if low else "", signs[high < 0] if high else "")


@pytest.mark.parametrize(
    ("amount", "unit", "seconds", "expected"),
    [
        (2e9, "FLOP", 0.1, "20.0 GFLOP/s"),
        (32, "example", 0.001, "32.0k examples/s"),
        (1, "call", 0.5, "2.00 calls/s"),
        (1, "start", 10.0, "0.100 starts/s"),
        (1e6, "byte", 1e-3, "1.00 GB/s"),
        (999_960, "element", 1.0, "1.00M elements/s"),
        (0, "call", 1.0, None),
        (1e308, "call", 1e-12, None),
    ],
)
def test_rates(amount: float, unit: str, seconds: float, expected: str | None) -> None:
    assert units.show_rate(amount, unit, seconds) == expected
    assert (derive_rate(amount, seconds) is None) == (expected is None)


@settings(max_examples=25)
@given(st.floats(min_value=1e-20, max_value=1e20), st.floats(min_value=0.0, max_value=30.0))
def test_every_ratio_can_be_said(value: float, width: float) -> None:
    text = units.show_ratio((value, value / (1 + width), value * (1 + width)), other="b", base="a")
    assert "×" in text
    assert ("slower" in text) == (value > 1 and "as fast" not in text)


@settings(max_examples=25)
@given(st.floats(1e-8, 1e3), st.floats(1.01, 5.0), st.sampled_from(["", "gpu-2 "]))
def test_a_quantity_knows_its_number_and_its_point(value: float, width: float, word: str) -> None:
    ends = value, value / width, value * width
    for shown, meant in (
        (units.show_seconds(value), value),
        (units.show_seconds(ends), value),
        (units.show_energy(value), value),
        (units.show_power(value), value),
        (units.show_bytes(value), value),
        (units.show_share(value), value),
        (units.show_rate(1.0, "FLOP", value), 1 / value),
        (units.show_rate(1.0, "example", value), 1 / value),
        (units.show_times(ends), value),
        (units.show_gain(ends), value),
        (units.show_money(ends, "USD"), value),
        (units.show_count(ends), value),
        (units.show_ratio(ends, other="gpu-2", base="cpu-1.5"), value),
    ):
        assert isinstance(shown, units.Quantity)
        assert shown.value == pytest.approx(meant)
        around = shown.amid(word, " and 1.5 more")
        assert str(around) == f"{word}{shown} and 1.5 more"
        assert around.value == shown.value
        before, after = around[: around.point], around[around.point :]
        assert before[-1].isdigit()
        assert not after[0].isdigit()
        assert "." not in before.replace("cpu-1.5", "")


ENDS = re.compile(r"\((?P<low>[^–]+)–(?P<high>[^)]+)\)")


def is_apart(low: float, high: float, one: float = 1.0) -> bool:
    return low > one or high < one


@settings(max_examples=200)
@given(
    st.one_of(st.floats(1e-3, 1e3), st.floats(0.9, 1.1), st.floats(0.999, 1.001)),
    st.one_of(st.floats(0.0, 3.0), st.floats(0.0, 0.01)),
    st.one_of(st.floats(0.0, 3.0), st.floats(0.0, 0.01)),
)
def test_an_interval_is_shown_to_exclude_1_where_it_does_and_nowhere_else(
    low: float, less: float, more: float
) -> None:
    # Numbers leave the analysis with ten digits.
    low, value, high = (
        float(f"{end:.10g}") for end in (low, low * (1 + less), low * (1 + less) * (1 + more))
    )
    for shown in (
        compare((value, low, high)),
        units.show_gain((value, low, high)),
        units.show_relative((value, low, high)),
        units.show_times((value, low, high)),
    ):
        ends = ENDS.search(shown)
        assert ends
        first, second = (float(ends[end]) for end in ("low", "high"))
        assert is_apart(first, second) == is_apart(low, high)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (units.show_gain((1.18, 1.04, 1.33)), "1.18× faster (1.04–1.33)"),
        (units.show_gain((1.06, 0.997, 1.131)), "1.060× faster (0.997–1.131)"),
        (units.show_gain((1.2, 0.9, 1.6)), "1.2× faster (0.9–1.6)"),
        (units.show_gain((2.3, 1.02, 5.1)), "2.3× faster (1.02–5.1)"),
        (units.show_times((1.08, 1.0504, 1.11), apart=(1.0, 1.05)), "1.0800 (1.0504–1.1100)"),
        (units.show_p(0.048), "0.048"),
        (units.show_p(0.0399), "0.0399"),
        (units.show_p(0.0401), "0.04"),
        (units.show_p(0.04999), "0.04999"),
        (units.show_p(0.00996), "0.00996"),
        (units.show_p(3e-9), "under 0.0001"),
        (units.show_p(1.0), "1"),
        (units.show_share(1.0), "100.0 %"),
        (units.show_share(0.9996), "99.96 %"),
        (units.show_share(1.0004), "100.04 %"),
        (units.show_share(0.99949), "99.9 %"),
        (units.show_share(0.0), "0.0 %"),
    ],
)
def test_a_number_is_shown_on_its_own_side_of_what_it_is_told_apart_from(
    shown: str, text: str
) -> None:
    assert shown == text


@settings(max_examples=200)
@given(st.one_of(st.floats(0.0, 1.0), st.floats(0.0499, 0.0501), st.floats(0.0099, 0.0101)))
def test_a_p_value_is_shown_under_a_level_where_it_is_and_nowhere_else(p: float) -> None:
    p = float(f"{p:.6g}")
    shown = float(units.show_p(p).removeprefix("under "))
    for level in (0.05, 0.04, 0.01):
        assert (shown < level) == (p < level)
