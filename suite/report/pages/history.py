"""A cell over campaigns and machines, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from suite.analysis.result.history import Change, Point, Series
from suite.report.text.page import NO_NUMBER, Cell, Page
from suite.report.text.units import show_seconds

_LONGEST = 20
"""Letters of a fact that are shown: of a hash, enough to tell it from another."""


def compose_history(cell: str, series: Sequence[Series]) -> Page:
    """Over time on each machine, and the last of each machine side by side."""
    page = Page()
    page.title(f"History: {cell}")
    if len(series) > 1:
        rows = [
            {"machine": one.machine, "arm": one.arm, **_show_point(last)}
            | {"campaigns": str(len(one.points))}
            for one in series
            for last in [next((p for p in reversed(one.points) if not p.invalid), one.points[-1])]
        ]
        page.heading("Over machines")
        page.paragraph(
            "The last campaign of each. They are not interleaved: no interval covers drift."
        )
        page.table("Table: the cell by machine and arm.", rows)
    for one in series:
        page.heading(f"{one.machine}, {one.arm}")
        begins = {change.at: change for change in one.changes}
        page.table(
            "Table: over time; a change begins a level of at least three campaigns.",
            [_show_point(p) | _show_change(begins.get(i)) for i, p in enumerate(one.points)],
        )
    page.footnotes()
    return page


def _show_point(point: Point) -> dict[str, str | Cell]:
    notes = (f"INVALID: {point.invalid}",) if point.invalid else ()
    value = Cell(show_seconds(point), notes, struck=bool(point.invalid))
    return {"campaign": point.campaign, "time per call": value, "n": str(point.n)}


def _show_change(change: Change | None) -> dict[str, str | Cell]:
    shown = told = ""
    if change is not None:
        slower = change.times > 1
        times = change.times if slower else 1 / change.times
        shown = f"{times:.2f}× {'slower' if slower else 'faster'}"
        differs = [
            f"{name}: {_show_fact(before)} → {_show_fact(after)}"
            for name, (before, after) in change.differs.items()
        ]
        told = "; ".join(differs) or "nothing that the documents record"
    return {"change": shown, "what differs from the campaign before": told}


def _show_fact(value: str | None) -> str:
    if value is None or len(value) <= _LONGEST:
        return value or NO_NUMBER
    return value[: _LONGEST - 1] + "…"
