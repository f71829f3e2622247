"""Bars of one length, divided by what their parts are of them; hatched, so that grey tells too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from suite.report.pictures.picture import Bar, Picture
from suite.report.plots import sheet
from suite.report.text.units import show_seconds

_FILLS = (
    ("#56B4E9", ""),
    ("#E69F00", "///"),
    ("#009E73", "\\\\\\"),
    ("#F0E442", "|||"),
    ("#CC79A7", "---"),
)
"""A part's colour and hatch.  Straight lines only: a hatch of circles makes a file of megabytes."""

_SMALLEST = 0.07
"""A part with a smaller share has no room for its number."""


def draw_stacks(picture: Picture, bars: Sequence[Bar]) -> Figure:
    """The bars below each other, the names of the parts over them."""
    rows = range(len(bars))
    figure = sheet.lay_out(picture, 0.85 + 0.27 * len(bars))
    axes = figure.subplots()
    begin = [0.0 for _ in rows]
    for (colour, hatch), name in zip(_FILLS, bars[0].parts, strict=False):
        shares = [bar.shares[name] for bar in bars]
        look: Any = {"color": colour, "hatch": hatch, "edgecolor": sheet.INK, "linewidth": 0.6}
        drawn = axes.barh(rows, shares, 0.72, begin, label=name, **look)
        labels = [f"{100 * share:.0f} %" if share >= _SMALLEST else "" for share in shares]
        axes.bar_label(drawn, labels, label_type="center", fontsize=8, bbox=sheet.BACKING)
        begin = [math.fsum(ends) for ends in zip(begin, shares, strict=True)]
    for row, bar in zip(rows, bars, strict=True):
        axes.text(1.02, row, show_seconds(bar.whole), va="center", fontsize=8.5)
    axes.set(xlim=(0, 1), ylim=(len(bars) - 0.5, -0.5), xlabel="share of the step")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    names = [sheet.wrap(bar.label.replace("/", " "), 42, 2) for bar in bars]
    axes.set_yticks(rows, names, fontsize=7.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(_FILLS), columnspacing=1.2)
    return figure
