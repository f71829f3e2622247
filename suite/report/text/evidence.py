"""Evidence in words: what supports a verdict or a cause, and what was found to help."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from suite.analysis.result.numbers import Evidence
from suite.report.text.names import name_changes, name_effects
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    show_count,
    show_p,
    show_percent,
    show_rate,
    show_seconds,
    show_share,
    show_things,
)

Shown = Mapping[str, Callable[[Any], str]]
"""What a placeholder can ask for behind its colon, beside Python's own formats and ``unit/s``."""

_SHOWN: Shown = {
    "seconds": show_seconds,
    "share": show_share,
    "percent": show_percent,
    "p": show_p,
    "count": show_count,
    "cpus": lambda number: show_things(number, "CPU"),
    "enough": lambda number: "one CPU is enough" if number == 1 else f"{number} CPUs are enough",
    "calls": lambda number: "a call" if number == 1 else f"{number:,.0f} calls",
    "names": lambda names: ", ".join(names) or "none",
    "changes": name_changes,
    "effects": name_effects,
    "controls": lambda codes: "; ".join(TEXTS["failed"][code] for code in codes),
    "effect": lambda effect: TEXTS["effects"].get(effect, effect),
}

_OPTIONAL = re.compile(r"\[([^]]*)\]")


def word_evidence(*evidence: Evidence, names: Mapping[str, str] | None = None) -> str:
    """The evidence in one sentence, without a full stop; cells by their ``names``, or else by their ids."""
    cells: Shown = {"cell": lambda cell: (names or {}).get(cell, cell)}
    sentences = (fill(TEXTS["sentences"][item.code], item.values, cells) for item in evidence)
    return "; ".join(dict.fromkeys(sentences))


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
