"""Numbers scaled to human units, with as many digits as their interval supports.

The only file that turns a number into text for people.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_TIME = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))
_PREFIXES = ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P"))
_ENERGY = ((1e-6, "µJ"), (1e-3, "mJ"), (1.0, "J"), (1e3, "kJ"))
_BINARY = ((1.0, "B"), (2.0**10, "KiB"), (2.0**20, "MiB"), (2.0**30, "GiB"), (2.0**40, "TiB"))

DIGITS = 3
"""Significant digits of a number without an interval."""

MOST_DIGITS = 6
"""Significant digits that no interval, however narrow, goes beyond."""

_NO_NUMBER = "—"
_POINT = re.compile(r"(\D*\d[\d,]*)(.*)", re.DOTALL)

Steps = Sequence[tuple[float, str]]


def show_seconds(value: float, low: float | None = None, high: float | None = None) -> str:
    """A positive duration, such as ``1.234 ± 0.012 ms``.

    The interval stands as its half-width, of which two digits are kept; where it is so wide that
    a half-width would mislead (over half the value), as its ends: ``1.2 (0.40–3.9) ms``.
    """
    return _show(value, low, high, _TIME)


def show_rate(amount: float, unit: str, seconds: float) -> str | None:
    """Work per second, such as ``12.3 GFLOP/s`` or ``4.56k examples/s``, three digits.

    ``unit`` is a singular noun.  None: there is no work to count, or the rate is no finite number.
    """
    rate = derive_rate(amount, seconds)
    if rate is None:
        return None
    number, prefix = _show(rate, None, None, _PREFIXES).partition(" ")[::2]
    if unit in {"FLOP", "byte", "B"}:
        return f"{number} {prefix}{'B' if unit != 'FLOP' else unit}/s"
    return f"{number}{prefix} {unit}s/s"


def show_energy(joules: float) -> str:
    """A positive energy, such as ``12.3 mJ``, three digits."""
    return _show(joules, None, None, _ENERGY)


def derive_rate(amount: float, seconds: float) -> float | None:
    """Work per second; None where there is no work to count or no finite number comes out."""
    rate = amount / seconds if amount > 0 else math.inf
    return rate if math.isfinite(rate) and rate > 0 else None


def name_rate(unit: str) -> str:
    """The unit of an unscaled rate: ``FLOP/s``, ``B/s``, ``examples/s``."""
    return {"FLOP": "FLOP/s", "byte": "B/s", "B": "B/s"}.get(unit, f"{unit}s/s")


def show_bytes(value: float) -> str:
    """A size, such as ``1.50 GiB``, three digits."""
    return "0 B" if value == 0 else _show(value, None, None, _BINARY)


def show_duration(seconds: float) -> str:
    """A duration in prose: ``850 ms``, ``12.3 s``, ``4 min 05 s``, ``2 h 03 min``."""
    if seconds < 60:
        return "0 s" if seconds == 0 else show_seconds(seconds)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def show_share(part: float, whole: float) -> str:
    """A share in per cent with one decimal; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole > 0 else _NO_NUMBER


def show_ratio(
    value: float, low: float | None, high: float | None, *, other: str, base: str
) -> str:
    """A ratio of times, other over base, in words: ``cuda 3.1× faster (2.9–3.4)``.

    The interval is turned the same way as the number; under 1 it says the opposite.
    """
    way = "slower" if value > 1 else "faster"
    if way == "faster":
        value, low, high = 1 / value, _invert(high), _invert(low)
    half = None if low is None or high is None else (high - low) / 2
    if value >= 1e6:  # no machine is a million times faster; show that without a row of digits
        return f"{other} {value:.1e}× {way}"
    decimals = _decimals(value, half, kept=1, fewest=2)
    number = f"{value:.{decimals}f}"
    interval = "" if low is None or high is None else f" ({low:.{decimals}f}–{high:.{decimals}f})"
    if half is not None and half > value / 2 and low is not None and high is not None:
        number, interval = _briefly(value), f" ({_briefly(low)}–{_briefly(high)})"
    if float(number) == 1:
        return f"{other} as fast as {base}, {number}×{interval}"
    return f"{other} {number}× {way}{interval}"


def align(texts: Sequence[str]) -> list[str]:
    """The texts padded with spaces to one width, so that the decimal points of their first
    numbers stand below each other; a dash stands where the units do.
    """
    parts = [_split(text) for text in texts]
    before = max((len(head) for head, _ in parts), default=0)
    after = max((len(tail) for _, tail in parts), default=0)
    return [f"{head:>{before}}{tail:<{after}}" for head, tail in parts]


def _split(text: str) -> tuple[str, str]:
    if text.startswith(_NO_NUMBER):
        return _NO_NUMBER, text[len(_NO_NUMBER) :]
    match = _POINT.match(text)
    return (match[1], match[2]) if match else (text, "")


def _show(value: float, low: float | None, high: float | None, steps: Steps) -> str:
    if not steps[0][0] * 1e-3 <= value < steps[-1][0] * 1e6:
        return f"{value:.{DIGITS - 1}e} {_name_one(steps)}"
    index = max((i for i, (size, _) in enumerate(steps) if value >= size), default=0)
    text = _show_in(value, low, high, steps[index])
    # 999.96 µs rounds to 1000.0 µs, which is 1.0000 ms.
    if index + 1 < len(steps) and _leading(text) >= round(steps[index + 1][0] / steps[index][0]):
        text = _show_in(value, low, high, steps[index + 1])
    return text


def _show_in(value: float, low: float | None, high: float | None, step: tuple[float, str]) -> str:
    size, unit = step
    value = value / size
    if low is None or high is None:
        return f"{value:.{_decimals(value, None)}f} {unit}"
    low, high = low / size, high / size
    half = (high - low) / 2
    if half > value / 2:
        return f"{_briefly(value)} ({_briefly(low)}–{_briefly(high)}) {unit}"
    decimals = _decimals(value, half)
    return f"{value:.{decimals}f} ± {half:.{decimals}f} {unit}"


def _decimals(value: float, half: float | None, kept: int = 2, fewest: int = 1) -> int:
    """Decimals that keep ``kept`` digits of the half-width, within bounds set by the value."""
    if not half:
        return max(0, DIGITS - 1 - _find_exponent(value, DIGITS))
    leading = _find_exponent(value, MOST_DIGITS)
    wanted = kept - 1 - _find_exponent(half, kept)
    return max(0, min(max(wanted, fewest - 1 - leading), MOST_DIGITS - 1 - leading))


def _briefly(value: float) -> str:
    """A number that is hardly known: its first two digits, whatever its size; never a bare 0."""
    return f"{value:.{max(0, 1 - _find_exponent(value, 2))}f}" if value > 0 else "0"


def _find_exponent(value: float, digits: int) -> int:
    """The power of ten of the first digit, after rounding to so many digits."""
    return int(f"{value:.{digits - 1}e}".partition("e")[2])


def _leading(text: str) -> float:
    return float(text.split(" ", 1)[0])


def _name_one(steps: Steps) -> str:
    return next(unit for size, unit in steps if size == 1.0)


def _invert(value: float | None) -> float | None:
    return None if value is None else 1 / value
