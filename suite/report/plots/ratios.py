"""Ratios as lines over sizes on both sides of 1, narrow enough for a column of a page or a telephone."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.report.pictures.picture import Curves, Picture, Ratios
from suite.report.plots import sheet
from suite.report.render.plain import show_privately
from suite.report.text.units import show_size, show_tick

_WIDTH = 5.2
"""Inches: at 400 pixels its letters of 9 points are 10 pixels high."""

_LETTER = 0.022
"""The share of the picture's width that a letter of a size needs."""


def draw_ratios(picture: Picture, ratios: Ratios) -> Figure:
    """The panels side by side, with one axis of values."""
    count = len(ratios.panels)
    lines = max(len(panel.lines) for panel in ratios.panels)
    figure = sheet.lay_out(picture, 3.1 + 0.19 * (lines + 1), _WIDTH)
    every = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    marks = [mark for panel in ratios.panels for mark in panel.drawn]
    low, high = sheet.find_sides(
        [1.0, *(end for mark in marks for end in (mark.value, mark.low, mark.high))], 0.1
    )
    sheet.scale_up(every[0], "y", (low, high), lambda value: f"{show_tick(value, '')}×")
    every[0].set_ylabel(show_privately(ratios.label))
    for axes, panel in zip(every, ratios.panels, strict=True):
        _draw_panel(picture, axes, panel, count)
        axes.axhspan(low, 1, facecolor="#0000000d", zorder=0)
        axes.axhline(1, color=sheet.INK, linewidth=1.2, zorder=1)
        for words, place, side in ((ratios.over, 0.98, "top"), (ratios.under, 0.02, "bottom")):
            style = {"transform": axes.transAxes, "fontsize": 9, "color": sheet.FAINT, "va": side}
            axes.text(0.03, place, sheet.wrap(words, 26, 1), **style, bbox=sheet.BACKING)
    return figure


def _draw_panel(picture: Picture, axes: Axes, panel: Curves, count: int) -> None:
    sizes = sorted({size for line in panel.lines.values() for size in line})
    shown = [sheet.tame(size) for size in sizes]
    ticks = sheet.thin(shown, (shown[-1] / shown[0]) ** (_LETTER * count))
    sheet.scale_up(axes, "x", sheet.find_sides(shown, 0.06), show_size, ticks)
    axes.set_xlabel(show_privately(panel.axis))
    for name, line in panel.lines.items():
        look = sheet.look_of(picture, name)
        sheet.draw_marks(axes, look, list(map(sheet.tame, line)), list(line.values()), "y")
        axes.plot([], [], **look, markersize=5, label=sheet.wrap(name, 30, 1))
    # One line that is called as its panel needs no title.
    title = None if list(panel.lines) == [panel.title] else sheet.wrap(panel.title, 30, 1)
    axes.legend(title=title, loc="lower left", bbox_to_anchor=(0, 1), alignment="left")
