"""Machines as marks: what they cost against what they reach, or what they reach alone, row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.transforms import Affine2D, Bbox

from suite.report.pictures.picture import Mark, Picture, Point, Scatter
from suite.report.plots import sheet
from suite.report.text.units import show_tick

_HEIGHT, _ROW, _AXIS = 4.6, 0.27, 0.6
"""Inches: two logarithmic axes; a row where there is one, and the axis below the rows."""

BEST, _LINE = "#0072B2", "#999999"

_LETTERS = 11
"""Points: what is also read on a screen as narrow as a phone's."""

_NAMED = 8
"""Of more machines only those that nothing is better than have their names beside them."""

_ROOM = 5.0
"""Points to either side of a mark that no label covers."""

_STEPS = (10, 16, 24, 32)
"""Points from a mark to its label, the nearest first."""

_WAYS = ((1, 1), (1, -1), (-1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1))
"""To which sides of its mark a label can stand; the first four are clear of its intervals."""

_BOWS = (0.25, -0.25, 0.4, -0.4, 0.15, -0.15)
"""How far the line between two marks can be bent: a share of its length, to either side."""

_TOUCH, RING = 8.0, 22.0
"""Points: two marks that are no further apart have a ring of this width around them in place of a line."""

_PARTS = 24
"""At so many points it is known where a bent line runs."""

Array = np.ndarray[Any, Any]

Place = tuple[float, float]

Bar = tuple[Place, Place]
"""From where to where something reaches, in the axes' values."""


def draw_scatter(picture: Picture, scatter: Scatter) -> Figure:
    """A mark with its intervals for each machine, full where nothing is better, and lines between ties."""
    points = scatter.points
    rows = not scatter.up
    figure = sheet.lay_out(picture, _AXIS + _ROW * len(points) if rows else _HEIGHT)
    axes = figure.subplots()
    across = sheet.span_of(point.across for point in points.values())
    sheet.scale_up(axes, "x", across, partial(show_tick, unit=""))
    axes.set_xlabel(scatter.across)
    if rows:
        names = [sheet.wrap(f"{label} {point.name}", 34, 1) for label, point in points.items()]
        axes.set_ylim(len(points) - 0.5, -0.5)
        axes.set_yticks(range(len(points)), names)
        axes.grid(visible=False, axis="y")
    else:
        ups = sheet.span_of(point.up for point in points.values() if point.up)
        sheet.scale_up(axes, "y", ups, lambda value: f"{value:.3g}")
        axes.set_ylabel(scatter.up)
    bars = {
        label: _draw_point(axes, point, point.up or Mark(value=row))
        for row, (label, point) in enumerate(points.items())
    }
    # Only once the axes have their room is it known where the marks stand.
    figure.draw_without_rendering()
    to_points = axes.transData + Affine2D().scale(72 / figure.dpi)
    marks = {label: to_points.transform(bar[0]) for label, (bar, *_) in bars.items()}
    taken = [Bbox(to_points.transform(bar)) for _, *reach in bars.values() for bar in reach]
    for pair in scatter.ties:
        at, (first, second) = (
            [marks[label] for label in pair],
            [bars[label][0][0] for label in pair],
        )
        if np.hypot(*(at[1] - at[0])) <= _TOUCH:
            taken.append(Bbox([at[0], at[0]]).padded(RING / 2))
            axes.plot(*first, "o", markersize=RING, fillstyle="none", color=_LINE, zorder=1.5)
            continue
        others = [mark for label, mark in marks.items() if label not in pair]
        bend, line = find_bow(*at, others=others)
        taken += [Bbox([part, part]).padded(0.7) for part in line]
        _join(axes, first, second, bend)
    if not rows:
        _label(axes, points, bars, marks, taken)
    return figure


def _draw_point(axes: Axes, point: Point, up: Mark) -> tuple[Bar, Bar, Bar]:
    """Draws a mark with its intervals; returns where it stands, and from where to where these reach."""
    color = BEST if point.best else sheet.INK
    (x, left, right), (y, low, high) = (
        [
            sheet.tame(mark.value if end is None else end)
            for end in (mark.value, mark.low, mark.high)
        ]
        for mark in (point.across, up)
    )
    if point.across.struck:
        axes.plot(x, y, marker="x", color=color, markersize=10, linestyle="none", zorder=4)
    axes.errorbar(
        x,
        y,
        xerr=None if point.across.low is None else [[x - left], [right - x]],
        yerr=None if up.low is None else [[y - low], [high - y]],
        color=color,
        marker="o" if point.best else "D",
        markersize=6.5 if point.best else 5,
        markerfacecolor=color if point.best else "white",
        elinewidth=1.0,
        capsize=2.5,
    )
    return ((x, y), (x, y)), ((left, y), (right, y)), ((x, low), (x, high))


def find_bow(first: Array, second: Array, *, others: Sequence[Array]) -> tuple[float, Array]:
    """How far the line between two marks is bent so that it passes by all others, and where it then runs; all
    in points.  Where none passes by, the one that comes least near."""
    across = second - first
    lines = {}
    for bend in _BOWS:
        # As matplotlib's arc3: a quadratic curve, whose middle point lies so far to the side.
        middle = (first + second) / 2 + bend * np.array([across[1], -across[0]])
        way = np.linspace(0, 1, _PARTS)[:, None]
        lines[bend] = (1 - way) ** 2 * first + 2 * way * (1 - way) * middle + way**2 * second
    clear = {
        bend: min((float(np.hypot(*(line - at).T).min()) for at in others), default=math.inf)
        for bend, line in lines.items()
    }
    bend = next((bend for bend in lines if clear[bend] > _ROOM), max(lines, key=clear.__getitem__))
    return bend, lines[bend]


def _join(axes: Axes, first: Place, second: Place, bend: float) -> None:
    bow = FancyArrowPatch(
        first,
        second,
        arrowstyle="-",
        connectionstyle=f"arc3,rad={bend}",
        shrinkA=0,
        shrinkB=0,
        color=_LINE,
        linewidth=1.2,
        zorder=1.5,
    )
    bow.set_in_layout(False)
    axes.add_patch(bow)


def _label(
    axes: Axes,
    points: Mapping[str, Point],
    bars: Mapping[str, Sequence[Bar]],
    marks: Mapping[str, Array],
    taken: Sequence[Bbox],
) -> None:
    """A letter beside each mark, or its name; none lies on another, on a mark or on a line.  What there is no
    room for is left to the table."""
    scale = 72 / axes.figure.dpi
    inside = Bbox(axes.bbox.get_points() * scale)
    taken = [*taken, *(Bbox([at - _ROOM, at + _ROOM]) for at in marks.values())]
    for label in sorted(points, key=lambda label: not points[label].best):
        best, at = points[label].best, marks[label]
        tries: list[tuple[str, Sequence[float]]] = [(sheet.wrap(label, 12, 1), _STEPS)]
        if best or len(points) <= _NAMED:
            # Far from its mark a name is soon nearer to another.
            tries.insert(0, (sheet.wrap(f"{label} {points[label].name}", 26, 1), _STEPS[:2]))
        for word, steps in tries:
            text = axes.annotate(
                word,
                bars[label][0][0],
                (0, 0),
                textcoords="offset points",
                size=_LETTERS,
                weight="bold" if best else "normal",
                ha="center",
                va="center",
            )
            text.set_in_layout(False)
            size = np.array(text.get_window_extent().size) * scale
            room = _find_room(at, size, steps, taken, inside)
            if room is not None:
                taken.append(room)
                text.xyann = (room.p0 + room.p1) / 2 - at
                break
            text.remove()


def _find_room(
    at: Array, size: Array, steps: Sequence[float], taken: Sequence[Bbox], inside: Bbox
) -> Bbox | None:
    """The nearest place of a label of this size beside a mark, all in points; None: there is none."""
    for step, way in product(steps, _WAYS):
        middle = at + np.array(way) * (size / 2 + step * (0.6 if all(way) else 1.0))
        box = Bbox([middle - size / 2, middle + size / 2])
        within = inside.contains(*box.p0) and inside.contains(*box.p1)
        if within and not any(box.overlaps(other) for other in taken):
            return box
    return None
