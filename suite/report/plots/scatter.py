"""Machines as marks: what they cost against what they reach, both axes logarithmic."""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure

from suite.report.pictures.picture import Picture, Scatter
from suite.report.plots import sheet
from suite.report.text.units import show_tick

_HEIGHT = 4.2
"""Inches."""


def draw_scatter(picture: Picture, scatter: Scatter) -> Figure:
    """A mark with its letter for each machine; hollow where another is cheaper and as fast."""
    figure = sheet.lay_out(picture, _HEIGHT)
    axes = figure.subplots()
    word = partial(show_tick, unit="")
    sheet.scale_up(axes, "x", sheet.span_of(x for x, _ in scatter.points.values()), word)
    sheet.scale_up(
        axes, "y", sheet.span_of(y for _, y in scatter.points.values()), lambda v: f"{v:.3g}"
    )
    axes.set_xlabel(scatter.across)
    axes.set_ylabel(scatter.up)
    for label, (x, y) in scatter.points.items():
        look = {"color": sheet.INK, "marker": "o", "linestyle": "none"}
        if label not in scatter.best:
            look["markerfacecolor"] = "white"
        across = sheet.tame(x.value)
        sheet.draw_marks(axes, look, [across], [y], "y")
        axes.annotate(
            sheet.wrap(label, 12, 1),
            (across, sheet.tame(y.value)),
            xytext=(7, 4),
            textcoords="offset points",
            fontsize=8.5,
            bbox=sheet.BACKING,
        )
    return figure
