"""Numbers as they leave the analysis: with the digits that are the same on every machine."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

DIGITS = 10
"""Significant digits.  Logarithms differ in the 16th between processors, SciPy's functions in the 14th
between releases, and what is left of two nearly equal numbers loses some (docs/decisions/0045)."""

Found = TypeVar("Found", bound=msgspec.Struct)


def is_exact(value: float) -> bool:
    """Whether a number is whole and has no more than `DIGITS` digits, as a count does.

    Of larger ones nothing is known by their being whole: a rate of 6e14 FLOP/s is in one of eight cases.
    """
    return value.is_integer() and abs(value) < 10**DIGITS


def settle(value: float) -> float:
    """The number to `DIGITS` digits, which an exact one has already."""
    return float(f"{value:.{DIGITS}g}")


def hand_over(found: Found) -> Found:
    """What was found, as a reader of its file gets it: every float settled; integers stay what they are."""
    return msgspec.convert(_settle(msgspec.to_builtins(found)), type(found))


def share_fields(source: object, struct: type[msgspec.Struct]) -> dict[str, Any]:
    """What of a struct's fields an object has as well, by their names."""
    names = struct.__struct_fields__
    return {name: getattr(source, name) for name in names if hasattr(source, name)}


def _settle(value: Any) -> Any:
    if isinstance(value, float):
        return settle(value)
    if isinstance(value, dict):
        return {name: _settle(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_settle(item) for item in value]
    return value
