"""Lines over seconds: a column of panels for each kind of work, what was read below each other."""

from __future__ import annotations

import math
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from suite.report.pictures.picture import Courses, Line, Picture
from suite.report.plots import sheet
from suite.report.render.plain import show_privately

_FIRST, _OTHER = 1.9, 1.1
"""Inches of the row that the picture is about, and of each below."""


_FARTHEST = 1e12


def draw_courses(picture: Picture, courses: Courses) -> Figure:
    """The panels of a row share their axis of values, those of a column that of seconds."""
    rows, columns = len(courses.rows), len(courses.columns)
    heights = [_FIRST, *[_OTHER] * (rows - 1)]
    figure = sheet.lay_out(picture, math.fsum(heights) + 0.4 + 0.19 * (len(picture.arms) + 1))
    every = figure.subplots(
        *(rows, columns), sharex="col", sharey="row", squeeze=False, height_ratios=heights
    )
    for column, (title, panels) in enumerate(courses.columns.items()):
        for axes, lines in zip(every[:, column], panels, strict=True):
            for arm, line in lines.items():
                _draw_line(axes, picture, arm, line)
        place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
        every[0][column].legend(title=sheet.wrap(title, 40, 1), **place)
        ends = [line.at_s[-1] for lines in panels for line in lines.values()]
        _scale(every[-1][column], "x", 0.0, max(ends, default=1.0))
        every[-1][column].set_xlabel("seconds")
    for row, label in enumerate(courses.rows):
        every[row][0].set_ylabel(show_privately(label))
        drawn = [panels[row].values() for panels in courses.columns.values()]
        values = [
            _tame(v) for lines in drawn for line in lines for v in line.values if v is not None
        ]
        room = 0.06 * (max(values) - min(values)) or 1.0
        _scale(every[row][0], "y", min(values) - room if row else 0.0, max(values) + room)
    return figure


def _scale(axes: Axes, which: Literal["x", "y"], low: float, high: float) -> None:
    """A linear axis from side to side, with round ticks between them."""
    ticks = MaxNLocator(5 if which == "y" else 7).tick_values(low, high)
    within = [float(tick) for tick in ticks if low <= tick <= high]
    axes.set(**{f"{which}lim": (low, high), f"{which}ticks": within})


def _tame(value: float) -> float:
    """The value, kept within what linear axes can have: a document can say anything."""
    return min(max(value, -_FARTHEST), _FARTHEST)


def _draw_line(axes: Axes, picture: Picture, arm: str, line: Line) -> None:
    look = {name: v for name, v in sheet.look_of(picture, arm).items() if name != "marker"}
    values = [math.nan if value is None else _tame(value) for value in line.values]
    axes.plot(line.at_s, values, **look, linewidth=1.4, label=sheet.wrap(arm, 24, 1))
    if line.fell_at_s is not None:
        axes.axvline(line.fell_at_s, color=look["color"], linewidth=0.9, linestyle=(0, (2, 2)))
