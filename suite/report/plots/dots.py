"""Rows under titles on one logarithmic axis: a mark an arm, its number beside it."""

from __future__ import annotations

import math
from functools import partial

from matplotlib.figure import Figure

from suite.report.pictures.picture import Dots, Picture
from suite.report.plots import sheet
from suite.report.text.units import show_seconds, show_tick

_ROW, _ARM, _LINE, _TITLE, _AXIS = 0.04, 0.115, 0.125, 0.28, 0.45
"""Inches: a row, what every arm in it adds, a line of its label, a title, and the axis below."""


def draw_dots(picture: Picture, dots: Dots) -> Figure:
    """The panels below each other, titles bold over their rows."""
    arms = list(dict.fromkeys(arm for panel in dots.panels for arm in panel.marks))
    labels = [[sheet.wrap(row, 42, 2) for row in panel.places] for panel in dots.panels]
    lines = [max(row.count("\n") + 1 for row in rows) for rows in labels]
    steps = [max(_ROW + _ARM * len(arms), _LINE * number) for number in lines]
    heights = [step * len(rows) for step, rows in zip(steps, labels, strict=True)]
    figure = sheet.lay_out(picture, _AXIS + math.fsum(_TITLE + height for height in heights))
    grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)
    every = grid[:, 0]
    drawn = [mark for panel in dots.panels for mark in panel.drawn]
    sheet.scale_up(every[0], "x", sheet.span_of(drawn), partial(show_tick, unit="s"))
    every[-1].set_xlabel(dots.label)
    for axes, panel, rows, step in zip(every, dots.panels, labels, steps, strict=True):
        number = len(rows)
        axes.set_title(sheet.wrap(panel.title, 60, 1), loc="left", fontsize=9, fontweight="bold")
        axes.set_ylim(number - 0.5, -0.5)
        axes.set_yticks(range(number), rows, fontsize=7.5)
        axes.grid(visible=False, axis="y")
        for arm, marks in panel.marks.items():
            look = sheet.look_of(picture, arm)
            line = look if dots.linked else {**look, "linestyle": "none"}
            lower = (arms.index(arm) - (len(arms) - 1) / 2) * _ARM / step
            along = [index + lower for index in range(number)]
            sheet.draw_marks(axes, line, along, marks, "x")
            # Of several arms, which one's it is.
            name = f"{sheet.wrap(arm, 24, 1)} " if len(arms) > 1 else ""
            for y, mark in zip(along, marks, strict=True):
                if mark:
                    axes.annotate(
                        name + show_seconds(mark.value),
                        (sheet.tame(mark.high or mark.value), y),
                        xytext=(7, 0),
                        textcoords="offset points",
                        color=look["color"],
                        fontsize=7.5,
                        va="center",
                        bbox=sheet.BACKING,
                    )
    return figure
