"""One mark with its interval: full where it counts, hollow and crossed where it is INVALID."""

from __future__ import annotations

from matplotlib.axes import Axes

from suite.report.pictures.picture import Mark
from suite.report.plots.sheet import Look, tame


def draw_mark(axes: Axes, look: Look, along: float, mark: Mark, *, vertical: bool) -> None:
    """The mark at ``along`` of the axis that is not its own; its own is vertical or not."""
    value = tame(mark.value)
    x, y = (along, value) if vertical else (value, along)
    if mark.low is not None and mark.high is not None:
        ends = [[value - tame(mark.low)], [tame(mark.high) - value]]
        axes.errorbar(
            x,
            y,
            yerr=ends if vertical else None,
            xerr=None if vertical else ends,
            fmt="none",
            ecolor=look.colour,
            elinewidth=1.0,
            capsize=2.5,
            alpha=0.5 if mark.struck else 1.0,
        )
    axes.plot(
        [x],
        [y],
        marker=look.marker,
        markersize=5,
        color=look.colour,
        markerfacecolor="white" if mark.struck else look.colour,
        linestyle="none",
        zorder=3,
    )
    if mark.struck:
        axes.plot([x], [y], marker="x", markersize=9, color=look.colour, linestyle="none", zorder=4)
