"""The picture of work that was kept going: its rate along the way, and what the machine told meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.sustained import Course, Sustained
from suite.report.pictures.captions import title_picture
from suite.report.pictures.picture import HOT, Courses, Line, Picture
from suite.report.text.texts import TEXTS
from suite.report.text.units import show_percent

_ROWS = {
    "rate": "share of its\nfirst rate, %",
    "clock_mhz": "clock, MHz",
    "power_w": "power, W",
    "temperature_c": "temperature,\n°C",
}
"""What is read, by its name in a course."""


def depict_sustained(analysis: Analysis) -> Picture | None:
    """The courses of products on the left and of copies on the right; None where there is none."""
    drawn: dict[str, list[tuple[Sustained, Course]]] = {}
    for kept in analysis.sustained:
        if kept.course is not None:
            drawn.setdefault(TEXTS["kept-going"][kept.what], []).append((kept, kept.course))
    if not drawn:
        return None
    rows = [
        row for row in _ROWS if any(getattr(c, row) for every in drawn.values() for _, c in every)
    ]
    columns = {
        title: tuple(
            {
                kept.arm: _draw_line(kept, course, row)
                for kept, course in every
                if getattr(course, row)
            }
            for row in rows
        )
        for title, every in drawn.items()
    }
    return title_picture(
        analysis,
        HOT,
        f"What is left when work goes on: {_state(analysis.sustained)}",
        Courses(rows=tuple(_ROWS[row] for row in rows), columns=columns),
        caption=[TEXTS["pictures"]["hot"]],
        missing=[
            f"{TEXTS['kept-going'][kept.what]} on {kept.arm}"
            for kept in analysis.sustained
            if kept.course is None
        ],
    )


def _draw_line(kept: Sustained, course: Course, row: str) -> Line:
    values: Sequence[float | None] = getattr(course, row)
    if row != "rate":
        return Line(at_s=course.at_s, values=tuple(values))
    shares = tuple(100 * rate / (kept.begin or 1.0) for rate in course.rate)
    return Line(at_s=course.at_s, values=shares, fell_at_s=kept.fell_at_s)


def _state(every: Sequence[Sustained]) -> str:
    """What is left of each: ``products on cuda keep 62 %``."""
    return "; ".join(
        f"{TEXTS['kept-going'][kept.what]} on {kept.arm} {show_percent(kept.left.value)}"
        for kept in every
        if kept.left is not None
    )
