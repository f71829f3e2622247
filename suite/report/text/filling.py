"""A registry's text with values in their places: the only way in which codes become sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from suite.report.text.units import show_count, show_rate, show_seconds, show_share

Shown = Mapping[str, Callable[[Any], str]]

_SHOWN: Shown = {
    "seconds": show_seconds,
    "share": show_share,
    "percent": lambda share: f"{100 * share:.0f} %",
    "p": lambda p: f"{p:.2g}" if p >= 1e-4 else "under 0.0001",
    "count": show_count,
    "calls": lambda number: "a call" if number == 1 else f"{number:,.0f} calls",
    "names": lambda names: ", ".join(names) or "none",
}
"""What a placeholder can ask for behind its colon, beside Python's own formats and ``unit/s``."""

_OPTIONAL = re.compile(r"\[([^]]*)\]")


def fill(text: str, values: Mapping[str, Any], more: Shown) -> str:
    """A registry's text with values in the places of their names, each as its placeholder asks.

    What stands in square brackets is left out where its values are not there.  ``more`` is what else
    placeholders can ask for.
    """

    def keep(part: re.Match[str]) -> str:
        names = {name for _, name, _, _ in Formatter().parse(part[1]) if name}
        return part[1] if names <= values.keys() else ""

    return _Words({**_SHOWN, **more}).vformat(_OPTIONAL.sub(keep, text), (), values)


class _Words(Formatter):
    """Shows values as their placeholders ask."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown

    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec in self.shown:
            return self.shown[format_spec](value)
        if format_spec.endswith("/s"):
            return show_rate(value or 0.0, format_spec.removesuffix("/s"), 1.0) or "no finite rate"
        return super().format_field(value, format_spec)
