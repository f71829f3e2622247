"""Sweeps as lines over sizes: a mark a cell, its interval, the arm's name at the line's end."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.report.pictures.picture import Line, Mark, Panel, Picture, Span, Sweeps
from suite.report.plots.marks import draw_mark
from suite.report.plots.sheet import (
    BACKING,
    FAINT,
    INK,
    WIDTH,
    Sheet,
    Sides,
    label_ticks,
    look_of,
    scale_up,
    share_of,
    span_of,
    tame,
    widen,
    wrap,
)
from suite.report.render.plain import show_plainly
from suite.report.text.units import show_size

_LEFT, _BOTTOM, _HEIGHT = 0.85, 0.48, 3.3
_LETTER, _BOLD, _GAP = 0.068, 0.083, 0.09
"""Inches: a letter of a label, a bold one, and what must lie between two labels."""

_NAME = 12
"""Letters of an arm's name in a line."""

_MISSING_ROOM = 0.05
"""The share of the height, at its foot, that the dashes of an arm's missing numbers need."""

_LINE_ROOM = 0.065
"""Names of lines likewise, one above the other."""


def draw_sweeps(picture: Picture, sweeps: Sweeps) -> Figure:
    """The panels side by side, with one range of values."""
    count = len(sweeps.panels)
    names = 0.25 + _BOLD * min(max(map(len, picture.arms)), _NAME)
    between = names + 0.05
    width = (WIDTH - _LEFT - names - (count - 1) * between) / count
    titles = [wrap(panel.title, int(width * 15)) for panel in sweeps.panels]
    head = 0.1 + 0.16 * max(map(len, titles))
    sheet = Sheet(picture, _BOTTOM + _HEIGHT + head)
    lines = [line for panel in sweeps.panels for line in panel.lines]
    low, high = span_of(mark for line in lines for _, mark in line.marks if mark)
    if any(mark is None for line in lines for _, mark in line.marks):
        low /= (high / low) ** (_MISSING_ROOM * len(picture.arms))
    values = low, high
    for place, (panel, title) in enumerate(zip(sweeps.panels, titles, strict=True)):
        axes = sheet.place(_LEFT + place * (width + between), _BOTTOM, width, _HEIGHT)
        scale_up(axes, "y", values, sweeps.unit)
        _draw_panel(picture, axes, panel, values, width)
        axes.set_title("\n".join(title), loc="left", fontsize=8.5, color=FAINT)
        axes.set_xlabel(show_plainly(panel.x_label))
        if place == 0:
            axes.set_ylabel(show_plainly(sweeps.y_label))
        else:
            axes.tick_params(labelleft=False)
    return sheet.figure


def _draw_panel(picture: Picture, axes: Axes, panel: Panel, values: Sides, width: float) -> None:
    sizes = sorted({size for line in panel.lines for size, _ in line.marks})
    sides = widen(tame(sizes[0]), tame(sizes[-1]), 0.04)
    ticks = _thin(sizes, sides, width)
    label_ticks(axes, "x", sides, [(one, show_size(one)) for one in ticks])
    for place, span in enumerate(panel.spans):
        _draw_span(axes, span, sides, place)
    for place, line in enumerate(panel.lines):
        _draw_line(picture, axes, line, place)
    _name_lines(picture, axes, panel.lines, (sides, values), width)


def _draw_line(picture: Picture, axes: Axes, line: Line, place: int) -> None:
    look = look_of(picture, line.arm)
    for part in _split(line):
        axes.plot(
            [size for size, _ in part],
            [tame(mark.value) for _, mark in part],
            color=look.colour,
            linestyle=look.stroke,
            linewidth=1.4,
        )
    for size, mark in line.marks:
        if mark is not None:
            draw_mark(axes, look, tame(size), mark, vertical=True)
        else:
            axes.text(
                tame(size),
                0.005 + 0.045 * place,
                "—",
                transform=axes.get_xaxis_transform(),
                color=look.colour,
                ha="center",
                fontsize=12,
                fontweight="bold",
            )


def _split(line: Line) -> list[list[tuple[float, Mark]]]:
    """The stretches of a line without a missing or an invalid number in them."""
    parts: list[list[tuple[float, Mark]]] = [[]]
    for size, mark in line.marks:
        if mark is None or mark.struck:
            parts.append([])
        else:
            parts[-1].append((tame(size), mark))
    return [part for part in parts if len(part) > 1]


def _draw_span(axes: Axes, span: Span, sides: Sides, place: int) -> None:
    low, high = span.low or sides[0], span.high or sides[1]
    axes.axvspan(low, high, facecolor="#bbbbbb", alpha=0.5, linewidth=0, zorder=0.5)
    axes.axvspan(low, high, facecolor="none", edgecolor=FAINT, linewidth=0.8, zorder=0.6)
    right = share_of((low * high) ** 0.5, sides) > 0.55
    axes.annotate(
        span.label,
        (low if right else high, 0.985 - 0.06 * place),
        xycoords=axes.get_xaxis_transform(),
        xytext=(-6 if right else 6, 0),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        color=INK,
        fontsize=8.5,
        bbox=BACKING,
    )


def _name_lines(
    picture: Picture,
    axes: Axes,
    lines: Sequence[Line],
    both: tuple[Sides, Sides],
    width: float,
) -> None:
    """Each line's name right of its last mark; ``both`` are the axes' ends, ``width`` inches."""
    sides, values = both
    ends = []
    for line in lines:
        there = [(size, mark) for size, mark in line.marks if mark is not None]
        if there:
            size, mark = there[-1]
            ends.append((share_of(tame(mark.value), values), share_of(tame(size), sides), line.arm))
    ends.sort()
    heights = _spread([height for height, _, _ in ends])
    for height, (_, along, arm) in zip(heights, ends, strict=True):
        axes.text(
            along + 0.08 / width,
            height,
            "\n".join(wrap(arm, _NAME, 2)),
            transform=axes.transAxes,
            color=look_of(picture, arm).colour,
            fontweight="bold",
            va="center",
        )


def _spread(heights: Sequence[float]) -> list[float]:
    """Heights in ascending order, pushed up where two would touch, and down from the top."""
    spread = list(heights)
    for place in range(1, len(spread)):
        spread[place] = max(spread[place], spread[place - 1] + _LINE_ROOM)
    top = 1 - _LINE_ROOM / 2
    for place in reversed(range(len(spread))):
        spread[place] = min(spread[place], top)
        top = spread[place] - _LINE_ROOM
    return spread


def _thin(sizes: Sequence[float], sides: Sides, width: float) -> list[float]:
    """Of sizes in ascending order those whose labels have room on so many inches; the last has."""

    def find_ends(size: float) -> tuple[float, float]:
        middle, half = width * share_of(size, sides), _LETTER * len(show_size(size)) / 2
        return middle - half - _GAP / 2, middle + half + _GAP / 2

    *others, last = map(tame, sizes)
    kept: list[float] = []
    end = float("-inf")
    for size in others:
        begin, after = find_ends(size)
        if end <= begin and after <= find_ends(last)[0]:
            kept.append(size)
            end = after
    return [*kept, last]
