"""Numbers scaled to human units, with as many digits as their interval supports.

The only file that turns a number into text for people.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from suite.analysis.result.numbers import (
    INNER,
    LEVEL,
    LEVELS_APART,
    OTHER_LEVEL,
    SETTLED,
    WORK_LEVEL,
    Estimate,
    Ratio,
    derive_rate,
)

_TIME = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_PREFIXES = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"))
_ENERGY = ((1e-6, "µJ"), (1e-3, "mJ"), (1.0, "J"), (1e3, "kJ"))
_SYMBOLS = {"FLOP": "FLOP", "byte": "B", "B": "B"}
_BINARY = ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB"))

DIGITS = 3
"""Significant digits of a number without an interval."""

MOST_DIGITS = 6
"""Significant digits that no interval, however narrow, goes beyond; but for an end that would look like
what it is told apart from."""

FINEST = 10
"""Decimals beyond which nothing is told apart: numbers leave the analysis with ten digits."""

LEAST_P = 1e-4
"""No smaller p-value is told apart."""

NO_NUMBER = "—"
"""Stands where a number is missing, always with the mark of the footnote that says why."""

Ends = tuple[float, float | None, float | None]
"""A value, and the ends of its 95 % CI; None: there is none."""

Known = float | Ends | Estimate | Ratio
"""A number, alone or with its interval where it has one."""

Steps = Sequence[tuple[float, str]]


class Quantity(str):
    """A number as people read it, that still knows what it stands for, so that nobody has to read it back.

    ``value`` is what a column is sorted by, unscaled; ``point`` are the characters before its decimal
    point, or before the place where one would stand.
    """

    __slots__ = ("point", "value")

    value: float
    point: int

    def __new__(cls, before: str, number: str, after: str, value: float) -> Quantity:  # noqa: PYI034  Self is newer than Python 3.10
        """``number`` begins with the digits before its point, and stands between these words."""
        made = super().__new__(cls, before + number + after)
        made.value = value
        made.point = len(before) + len(number.partition(".")[0])
        return made

    def amid(self, before: str = "", after: str = "") -> Quantity:
        """The same number with more words around it."""
        return Quantity(before + self[: self.point], "", self[self.point :] + after, self.value)


def _take_apart(number: Known) -> Ends:
    if isinstance(number, tuple):
        return number
    if isinstance(number, int | float):
        return number, None, None
    return number.value, number.low, number.high


def show_seconds(seconds: Known) -> Quantity:
    """A positive duration, such as ``1.234 ± 0.012 ms``.

    The interval stands as its half-width, of which two digits are kept; where it is so wide that
    a half-width would mislead (over half the value), as its ends: ``1.2 (0.40–3.9) ms``.
    """
    return _show(seconds, _TIME)


def show_difference(seconds: Known) -> Quantity:
    """How much longer something takes, with its sign: ``+38.2 ± 1.4 µs``, ``−1.2 ms``.

    An interval so wide that a half-width would mislead stands as its ends: ``+12 (−3 to +27) µs``.
    """
    value, low, high = _take_apart(seconds)
    sign = "−" if value < 0 else "+"
    if low is None or high is None or high - low <= abs(value):
        ends = (None, None) if low is None or high is None else sorted((abs(low), abs(high)))
        shown = show_seconds((abs(value), *ends)) if value else Quantity("", "0", " s", 0.0)
        return Quantity(
            (sign if value else "") + shown[: shown.point], "", shown[shown.point :], value
        )
    widest = max(abs(low), abs(high))
    size, unit = next(((size, unit) for size, unit in reversed(_TIME) if widest >= size), _TIME[0])
    decimals = max(0, 1 - _find_exponent(widest / size, 2))
    decimals = _tell_apart(decimals, [low / size, high / size], [0.0])
    own, first, last = (_sign(end / size, decimals) for end in (value, low, high))
    return Quantity("", own, f" ({first} to {last}) {unit}", value)


def show_more(share: float) -> Quantity:
    """A share more, or less: ``+12 %``, ``−3.1 %``; never 0 where there is any."""
    decimals = 0 if abs(share) >= 0.0995 else 1
    decimals = _tell_apart(decimals, [100 * share], [0.0]) if share else 0
    return Quantity("", _sign(100 * share, decimals), " %", share)


def _sign(number: float, decimals: int) -> str:
    """A number with its sign, and none where it is shown as 0."""
    text = f"{abs(number):.{decimals}f}"
    return text if not float(text) else f"{'−' if number < 0 else '+'}{text}"


def show_rate(amount: float, unit: str, whole: float, per: str = "s") -> Quantity | None:
    """Work per second, such as ``12.3 GFLOP/s`` or ``4.56k examples/s``, three digits.

    ``unit`` is a singular noun, ``whole`` the seconds, or what else the work is ``per``.  None: there is
    no work to count, or the rate is not a finite number.
    """
    rate = derive_rate(amount, whole)
    if rate is None:
        return None
    number, prefix = _show(rate, _PREFIXES).split(" ")
    name = _name_many(unit)
    words = f" {prefix}{name}/{per}" if unit in _SYMBOLS else f"{prefix} {name}/{per}"
    return Quantity("", number, words, rate)


def show_energy(joules: float) -> Quantity:
    """A positive energy, such as ``12.3 mJ``, three digits."""
    return _show(joules, _ENERGY)


def show_power(watts: float) -> Quantity:
    """A power, such as ``123 W``."""
    return Quantity("", f"{watts:.0f}", " W", watts)


def name_rate(unit: str) -> str:
    """The unit of an unscaled rate: ``FLOP/s``, ``B/s``, ``examples/s``."""
    return f"{_name_many(unit)}/s"


def _name_many(unit: str) -> str:
    """A unit's symbol, or a singular noun's plural."""
    return _SYMBOLS.get(unit, f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s")


def show_bytes(value: float) -> Quantity:
    """A size, such as ``1.50 GiB``, three digits."""
    return Quantity("", "0", " B", 0.0) if value == 0 else _show(value, _BINARY)


def show_duration(seconds: float) -> str:
    """A duration in prose: ``850 ms``, ``12.3 s``, ``4 min 05 s``, ``2 h 03 min``."""
    if seconds < 60:
        return "0 s" if seconds == 0 else show_seconds(seconds)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def show_share(share: float) -> Quantity:
    """A share in per cent with one decimal; with more where it would look like the whole, and is not."""
    decimals = _tell_apart(1, [100 * share], [100.0])
    return Quantity("", f"{100 * share:.{decimals}f}", " %", share)


def show_percent(share: float) -> Quantity:
    """A share in whole per cent: ``92 %``."""
    return Quantity("", f"{100 * share:.0f}", " %", share)


def show_p(p: float) -> str:
    """A p-value with two digits; with more where it would look like a level that it is under."""
    if p < LEAST_P:
        return f"under {LEAST_P:.4f}"
    shown = (f"{p:.{digits}g}" for digits in range(2, FINEST))
    levels = (LEVEL, WORK_LEVEL, OTHER_LEVEL)
    right = (text for text in shown if all((float(text) < at) == (p < at) for at in levels))
    return next(right, f"{p:.{FINEST}g}")


def show_level(level: float, share: float | None) -> str:
    """A level, or what of it a look of a sequential campaign could spend."""
    return f"{level * (share or 1):.3g}"


def show_inner(share: float | None) -> str:
    """The confidence of the interval that has to lie within what is equivalent, at such a look."""
    return f"{100 * (1 - (share or 1) * (1 - INNER)):.3g} %"


def show_margin(margin: float, share: float | None) -> str:
    """What a difference has to exceed; at such a look more in few blocks."""
    if share is None or margin >= LEVELS_APART:
        return show_share(margin)
    return f"{show_share(LEVELS_APART)} ({show_share(margin)} from {SETTLED} blocks on)"


def show_part(part: float, whole: float) -> str:
    """A part's share of the whole; a dash where there is no whole."""
    return show_share(part / whole) if whole > 0 else NO_NUMBER


def show_whole(number: int) -> Quantity:
    """A whole number as it is."""
    return Quantity("", f"{number}", "", number)


def show_size(size: float) -> str:
    """A size along a sweep, measured or between two that were: ``64``, ``192``, ``2,345``."""
    if size == int(size) and size < 1e15:
        return str(int(size))
    return f"{size:.3g}" if size < 1000 else f"{size:,.0f}"


def show_tick(value: float, unit: str) -> str:
    """A round value beside an axis, as short as it can be: ``10 µs``, ``1.5 s``, ``200k``."""
    steps = _TIME if unit == "s" else _PREFIXES
    size, name = next(((s, n) for s, n in reversed(steps) if value >= 0.9999 * s), steps[0])
    number = f"{value / size:.3g}"
    return f"{number} {name}" if unit == "s" else f"{number}{name}"


def show_ratio(ratio: Known, *, other: str, base: str) -> Quantity:
    """A ratio of times, other over base, in words: ``cuda 3.1× faster (2.9–3.4)``.

    The interval is turned the same way as the number; under 1 it says the opposite.
    """
    same = f"{other} as fast as {base}, "
    return _say_way(ratio, over="slower", under="faster", same=same, before=f"{other} ")


def show_as_fast(ratio: Known) -> Quantity:
    """A ratio of times as how many times as fast the faster side is: ``3.1× as fast (2.9–3.4)``."""
    return _say_way(ratio, over="as fast", under="as fast", same="as fast, ")


def show_gain(ratio: Known) -> Quantity:
    """A ratio of times, before over after: ``3.1× faster (2.9–3.4)``; under 1 ``slower``."""
    return _say_way(ratio, over="faster", under="slower", same="as fast, ")


def show_shorter(ratio: Known) -> Quantity:
    """The same where nothing need be faster, since what is timed changes: ``3.1× shorter (2.9–3.4)``."""
    return _say_way(ratio, over="shorter", under="longer", same="as long, ")


def _say_way(ratio: Known, *, over: str, under: str, same: str, before: str = "") -> Quantity:
    """A ratio turned so that it is at least 1, and a word for what it was before: ``over`` or ``under`` 1.

    ``same`` stands in front of what is shown as 1, as 1.0004 is; ``before`` in front of all else.
    """
    value, low, high = _take_apart(ratio)
    ends = (value, low, high) if value > 1 else _turn(value, low, high)
    number, interval = _write_times(*ends)
    if number.rstrip("0") == "1.":
        return Quantity(same, number, f"×{interval}", value)
    return Quantity(before, number, f"× {over if value > 1 else under}{interval}", value)


def show_relative(ratio: Known) -> Quantity:
    """A ratio of times, one over the other, as `show_gain` has it: under 1 ``faster``, over 1 ``slower``."""
    return show_gain(_turn(*_take_apart(ratio)))


def show_times(factor: Known, *, apart: Sequence[float] = (1.0,)) -> Quantity:
    """A factor as it is, such as ``3.1 (2.9–3.4)`` or ``0.27``; its ends are told ``apart`` from these."""
    value, low, high = _take_apart(factor)
    return Quantity("", *_write_times(value, low, high, apart), value)


def show_beside(value: Known, bound: float, unit: str) -> Quantity:
    """A number beside a bound, both in this unit, such as ``12.3 (12.1–12.5) TFLOP/s``; its ends are told
    apart from the bound."""
    own, low, high = _take_apart(value)
    number, interval = _write(own, low, high, apart=(bound,))
    return Quantity("", number, f"{interval} {unit}".rstrip(), own)


def show_money(price: Known, currency: str) -> Quantity:
    """A positive price, such as ``USD 0.0123 ± 0.0004``; a very wide interval by its ends."""
    value, low, high = _take_apart(price)
    return Quantity(f"{currency} ", *_write(value, low, high), value)


def show_count(number: Known) -> Quantity:
    """A positive number of things, such as ``1,234 (1,180–1,290)``."""
    value, low, high = _take_apart(number)
    interval = ""
    if low is not None and high is not None and math.ceil(low) != math.ceil(high):
        interval = f" ({math.ceil(low):,}–{math.ceil(high):,})"
    return Quantity("", f"{math.ceil(value):,}", interval, value)


def end_sentence(text: str) -> str:
    """The text as a sentence: a capital in front and a full stop behind."""
    return f"{text[0].upper()}{text[1:]}."


def show_things(number: int, noun: str) -> str:
    """A whole number of things, such as ``1 cell`` or ``3 cells``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_words(words: Sequence[str]) -> str:
    """The words as a list in a sentence: ``a, b and c``."""
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last


def join_first(most: int, texts: Sequence[str]) -> str:
    """At most so many of the texts, and how many more there are: ``a; b; and 3 more``."""
    more = len(texts) - most
    return "; ".join(texts[:most]) + (f"; and {more} more" if more > 0 else "")


def _turn(value: float, low: float | None, high: float | None) -> Ends:
    """A ratio the other way round."""
    return 1 / value, high and 1 / high, low and 1 / low


def _write_times(
    value: float, low: float | None, high: float | None, apart: Sequence[float] = (1.0,)
) -> tuple[str, str]:
    """A factor, and its interval in brackets."""
    if value >= 1e6:  # no machine is a million times faster; show that without a row of digits
        return f"{value:.1e}", ""
    return _write(value, low, high, apart=apart)


def _show(number: Known, steps: Steps) -> Quantity:
    value, low, high = _take_apart(number)
    if not steps[0][0] * 1e-3 <= value < steps[-1][0] * 1e6:
        unit = next(unit for size, unit in steps if size == 1.0)
        return Quantity("", f"{value:.{DIGITS - 1}e}", f" {unit}", value)
    start = max((i for i, (size, _) in enumerate(steps) if value >= size), default=0)
    for following, (size, unit) in enumerate(steps[start:], start + 1):
        text, interval = _write(value / size, low and low / size, high and high / size)
        shown = Quantity("", text, f"{interval} {unit}", value)
        # 999.96 µs rounds to 1000.0 µs, which is 1.0000 ms.
        if following == len(steps) or float(text) < round(steps[following][0] / size):
            break
    return shown


def _write(
    value: float, low: float | None, high: float | None, *, apart: Sequence[float] = ()
) -> tuple[str, str]:
    """A number and its interval behind it: half its width, or its ends where the half would mislead, or
    where the ends have to be told ``apart`` from some numbers."""
    if low is None or high is None:
        return f"{value:.{_decimals(value, None)}f}", ""
    half = (high - low) / 2
    if half > value / 2:
        return _briefly(value), f" ({_briefly(low, apart)}–{_briefly(high, apart)})"
    if apart:
        decimals = _tell_apart(_decimals(value, half, kept=1, fewest=2), (low, high), apart)
        return f"{value:.{decimals}f}", f" ({low:.{decimals}f}–{high:.{decimals}f})"
    decimals = _decimals(value, half)
    return f"{value:.{decimals}f}", f" ± {half:.{decimals}f}"


def _tell_apart(decimals: int, numbers: Sequence[float], apart: Sequence[float]) -> int:
    """The decimals, or as many more as show every number on its own side of all of those."""

    def keeps(many: int) -> bool:
        return all(
            (round(number, many) > at) == (number > at)
            and (round(number, many) < at) == (number < at)
            for number in numbers
            for at in apart
        )

    return next(filter(keeps, range(decimals, FINEST)), max(decimals, FINEST))


def _decimals(value: float, half: float | None, kept: int = 2, fewest: int = 1) -> int:
    """Decimals that keep ``kept`` digits of the half-width, within bounds set by the value."""
    if not half:
        return max(0, DIGITS - 1 - _find_exponent(value, DIGITS))
    leading = _find_exponent(value, MOST_DIGITS)
    wanted = kept - 1 - _find_exponent(half, kept)
    return max(0, min(max(wanted, fewest - 1 - leading), MOST_DIGITS - 1 - leading))


def _briefly(value: float, apart: Sequence[float] = ()) -> str:
    """A number that is hardly known: its first two digits, whatever its size; never a bare 0."""
    if value <= 0:
        return "0"
    return f"{value:.{_tell_apart(max(0, 1 - _find_exponent(value, 2)), [value], apart)}f}"


def _find_exponent(value: float, digits: int) -> int:
    """The power of ten of the first digit, after rounding to so many digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])
