"""A diagnosis as text: a screen for a terminal, plain lines for everything else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.table import Table
from rich.text import Text

from suite.host.doctor.examine import Diagnosis
from suite.host.doctor.finding import State

MARKS: Mapping[State, str] = {"yes": "✓", "no": "✗", "unknown": "?", "not-applicable": "–"}
PLAIN_MARKS: Mapping[State, str] = {"yes": "+", "no": "X", "unknown": "?", "not-applicable": "-"}
"""The marks where only ASCII can be shown."""

_STYLES: Mapping[State, str] = {
    "yes": "green",
    "no": "bold red",
    "unknown": "yellow",
    "not-applicable": "dim",
}
"""Colours only repeat what the marks say."""


def write_lines(diagnosis: Diagnosis, encoding: str) -> list[str]:
    """One line a check, with its remedy in the line below, and the verdict; never wrapped."""
    width = max(len(line.id) for line in diagnosis.checks)
    return [
        *(f"{mark} {name:{width}} {text}" for _, mark, name, text in _rows(diagnosis, encoding)),
        _fit(diagnosis.verdict, encoding),
    ]


def draw_screen(diagnosis: Diagnosis, encoding: str) -> Table:
    """The same for a terminal of any width: texts wrap below themselves."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for state, mark, name, text in _rows(diagnosis, encoding):
        style = _STYLES[state]
        grid.add_row(
            Text(mark, style=style), name, Text(text, style="" if mark != " " else "italic")
        )
    return grid


def _rows(diagnosis: Diagnosis, encoding: str) -> Iterator[tuple[State, str, str, str]]:
    """State, mark, name and text; the row of a remedy has neither mark nor name."""
    signs = "".join(MARKS.values())
    marks = MARKS if _fit(signs, encoding) == signs else PLAIN_MARKS
    for line in diagnosis.checks:
        yield line.state, marks[line.state], line.id, _fit(" ".join(line.text.split()), encoding)
        if line.remedy and line.state in {"no", "unknown"}:
            yield line.state, " ", "", _fit(f"what to do: {line.remedy}", encoding)


def _fit(text: str, encoding: str) -> str:
    """The text as far as it can be shown there."""
    return text.encode(encoding, "replace").decode(encoding)
