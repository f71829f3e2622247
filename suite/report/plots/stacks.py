"""Bars of one length, divided by what their parts are of them; hatched, so that grey tells too."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from suite.report.pictures.breakdowns import measure
from suite.report.pictures.picture import Picture, Stacks
from suite.report.plots.sheet import BACKING, INK, WIDTH, Sheet, wrap
from suite.report.text.units import show_seconds

_LEFT, _RIGHT, _BOTTOM, _ROW = 2.45, 0.9, 0.48, 0.34
_FILLS = (
    ("#56B4E9", ""),
    ("#E69F00", "///"),
    ("#009E73", "\\\\\\"),
    ("#F0E442", "|||"),
    ("#CC79A7", "---"),
    ("#999999", "xxx"),
    ("#FFFFFF", "+++"),
)
"""Straight lines only: a hatch of circles makes a file of megabytes."""

_SMALLEST = 0.07
"""A part with a smaller share has no room for its number."""


def draw_stacks(picture: Picture, stacks: Stacks) -> Figure:
    """The bars below each other, the names of the parts over them."""
    names = list(dict.fromkeys(part.name for bar in stacks.bars for part in bar.parts))
    fills = {name: _FILLS[place % len(_FILLS)] for place, name in enumerate(names)}
    height = _ROW * len(stacks.bars)
    sheet = Sheet(picture, _BOTTOM + height + 0.32)
    axes = sheet.place(_LEFT, _BOTTOM, WIDTH - _LEFT - _RIGHT, height)
    axes.set_xlim(0, 1)
    axes.set_ylim(len(stacks.bars), 0)
    axes.set_yticks([])
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel(stacks.x_label)
    for place, bar in enumerate(stacks.bars):
        whole, begin = measure(bar), 0.0
        for part in bar.parts:
            share = max(part.seconds, 0.0) / whole
            if share == 0:
                continue
            colour, hatch = fills[part.name]
            axes.barh(
                place + 0.5,
                share,
                0.72,
                begin,
                color=colour,
                hatch=hatch,
                edgecolor=INK,
                linewidth=0.6,
            )
            if share >= _SMALLEST:
                axes.text(
                    begin + share / 2,
                    place + 0.5,
                    f"{100 * share:.0f} %",
                    ha="center",
                    va="center",
                    fontsize=8,
                    bbox=BACKING,
                )
            begin += share
        y = _BOTTOM + height - _ROW * (place + 0.5)
        sheet.write(0.12, y, _break(bar.label), va="center", fontsize=8)
        sheet.write(WIDTH - _RIGHT + 0.08, y, show_seconds(whole), va="center", fontsize=8.5)
    axes.legend(
        handles=[
            Patch(
                facecolor=fills[name][0],
                hatch=fills[name][1],
                edgecolor=INK,
                linewidth=0.6,
                label=" ".join(wrap(name, 24, 1)),
            )
            for name in names
        ],
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=min(len(names), 5),
        frameon=False,
        fontsize=8,
        borderaxespad=0.3,
        handlelength=1.6,
        columnspacing=1.2,
    )
    return sheet.figure


def _break(label: str) -> str:
    """A cell's name in two lines, broken between axes."""
    lines = wrap(label.replace("/", "/ "), 40, 2)
    return "\n".join(line.replace("/ ", "/") for line in lines)
