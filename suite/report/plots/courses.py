"""Lines over seconds: a column of panels for each kind of work, what was read below each other."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.report.pictures.picture import Courses, Line, Picture
from suite.report.plots import sheet
from suite.report.render.plain import show_privately

_FIRST, _OTHER = 1.9, 1.1
"""Inches of the row that the picture is about, and of each below."""


def draw_courses(picture: Picture, courses: Courses) -> Figure:
    """The panels of a row share their axis of values, those of a column that of seconds."""
    rows, columns = len(courses.rows), len(courses.columns)
    heights = [_FIRST, *[_OTHER] * (rows - 1)]
    figure = sheet.lay_out(picture, math.fsum(heights) + 0.4 + 0.19 * (len(picture.arms) + 1))
    every = figure.subplots(
        *(rows, columns), sharex="col", sharey="row", squeeze=False, height_ratios=heights
    )
    for column, (title, panels) in enumerate(courses.columns.items()):
        for row, (label, lines) in enumerate(zip(courses.rows, panels, strict=True)):
            axes = every[row][column]
            for arm, line in lines.items():
                _draw_line(axes, picture, arm, line)
            if not column:
                axes.set_ylabel(show_privately(label))
        every[0][column].set_ylim(bottom=0)
        place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
        every[0][column].legend(title=sheet.wrap(title, 40, 1), **place)
        every[-1][column].set(xlabel="seconds", xlim=(0, None))
    return figure


def _draw_line(axes: Axes, picture: Picture, arm: str, line: Line) -> None:
    look = {name: v for name, v in sheet.look_of(picture, arm).items() if name != "marker"}
    values = [math.nan if value is None else sheet.tame(value) for value in line.values]
    axes.plot(line.at_s, values, **look, linewidth=1.4, label=sheet.wrap(arm, 24, 1))
    if line.fell_at_s is not None:
        axes.axvline(line.fell_at_s, color=look["color"], linewidth=0.9, linestyle=(0, (2, 2)))
