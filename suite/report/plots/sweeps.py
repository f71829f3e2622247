"""Sweeps as lines over sizes: a mark a cell with its interval, and who is who above."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from suite.report.pictures.picture import Panel, Picture, Sweeps
from suite.report.plots import sheet
from suite.report.render.plain import show_privately
from suite.report.text.units import show_size, show_tick

_MISSING_ROOM = 0.05
"""The share of the height, at its foot, that the dashes of an arm's missing numbers need."""

_DASH: Mapping[str, Any] = {
    "marker": "_",
    "linestyle": "none",
    "markersize": 12,
    "markeredgewidth": 2,
}

_LETTER = 0.0115
"""The share of a page's width that a letter of a size needs."""

_HATCHES = ("", "////", "....")
"""Of ranges, which can lie on each other."""


def draw_sweeps(picture: Picture, sweeps: Sweeps) -> Figure:
    """The panels side by side, with one axis of values."""
    count = len(sweeps.panels)
    titles = [sheet.wrap(panel.title, 90 // count) for panel in sweeps.panels]
    entries = max(len(panel.marks) + len(panel.spans) for panel in sweeps.panels)
    lines = entries + max(title.count("\n") for title in titles)
    figure = sheet.lay_out(picture, 2.5 + 0.19 * lines)
    every = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    low, high = sheet.span_of(mark for panel in sweeps.panels for mark in panel.drawn)
    if any(None in marks for panel in sweeps.panels for marks in panel.marks.values()):
        low /= (high / low) ** (_MISSING_ROOM * len(picture.arms))
    sheet.scale_up(every[0], "y", (low, high), partial(show_tick, unit=sweeps.unit))
    every[0].set_ylabel(show_privately(sweeps.label))
    for axes, panel, title in zip(every, sweeps.panels, titles, strict=True):
        sizes = [sheet.tame(size) for size in panel.places]
        sides = sheet.find_sides(sizes, 0.04)
        ticks = sheet.thin(sizes, (sizes[-1] / sizes[0]) ** (_LETTER * count))
        sheet.scale_up(axes, "x", sides, show_size, ticks)
        axes.set_xlabel(show_privately(panel.axis))
        handles = [*_draw_lines(picture, axes, panel, sizes), *_shade(axes, panel, sides)]
        place = {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
        axes.legend(handles=handles, title=title, **place)
    return figure


def _shade(axes: Axes, panel: Panel[float], sides: sheet.Sides) -> Iterator[Artist]:
    """The ranges in which the winner changes."""
    for place, span in enumerate(panel.spans):
        low, high = span.low or sides[0], span.high or sides[1]
        grey: dict[str, Any] = {"facecolor": "#bbbbbb80", "edgecolor": sheet.FAINT, "zorder": 0.5}
        hatch, label = _HATCHES[place % len(_HATCHES)], sheet.wrap(span.label, 60, 1)
        yield axes.axvspan(low, high, **grey, hatch=hatch, label=label)


def _draw_lines(
    picture: Picture, axes: Axes, panel: Panel[float], sizes: Sequence[float]
) -> Iterator[Artist]:
    """Each arm's line, with a dash at the foot where it has no number; what tells who it is."""
    foot = axes.get_xaxis_transform()
    for place, (arm, marks) in enumerate(panel.marks.items()):
        look = sheet.look_of(picture, arm)
        sheet.draw_marks(axes, look, sizes, marks, "y")
        lost = [size for size, mark in zip(sizes, marks, strict=True) if mark is None]
        heights = [0.02 + 0.045 * place] * len(lost)
        axes.plot(lost, heights, **_DASH, color=look["color"], transform=foot)
        yield Line2D([], [], **look, markersize=5, label=sheet.wrap(arm, 24, 1))
