"""Numbers as they leave the analysis: with the digits that are the same on every machine."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

DIGITS = 10
"""Significant digits.  Logarithms differ in the 16th between processors, SciPy's functions in the 14th
between releases, and what is left of two nearly equal numbers loses some (docs/decisions/0045)."""

Found = TypeVar("Found", bound=msgspec.Struct)


def settle(value: float) -> float:
    """The number to `DIGITS` digits; a whole number, such as a count of bytes, stays what it is."""
    return value if value.is_integer() else float(f"{value:.{DIGITS}g}")


def hand_over(found: Found) -> Found:
    """What was found, as a reader of its file gets it: every number settled."""
    return msgspec.convert(_settle(msgspec.to_builtins(found)), type(found))


def _settle(value: Any) -> Any:
    if isinstance(value, float):
        return settle(value)
    if isinstance(value, dict):
        return {name: _settle(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_settle(one) for one in value]
    return value
