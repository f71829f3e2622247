"""Groups of rows on one logarithmic axis: a mark an arm, its number beside it."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.report.pictures.picture import Dots, Mark, Picture, Rows
from suite.report.plots.marks import draw_mark
from suite.report.plots.sheet import (
    BACKING,
    WIDTH,
    Sheet,
    look_of,
    scale_up,
    share_of,
    span_of,
    tame,
    wrap,
)
from suite.report.text.units import show_seconds

_LEFT, _RIGHT, _BOTTOM = 1.85, 0.25, 0.48
_ROW, _ARM = 0.11, 0.13
"""Inches: a row, and what every arm in it adds."""

_LETTER = 0.066
"""Inches: a letter of the numbers right of the marks."""

_NAME = 24
"""Letters of an arm's name."""


def draw_dots(picture: Picture, dots: Dots) -> Figure:
    """The groups below each other, titles bold over their rows."""
    arms = list(
        dict.fromkeys(arm for group in dots.groups for row in group.rows for arm, _ in row.marks)
    )
    step = _ROW + _ARM * len(arms)
    titles = [wrap(group.title, 90, 1) for group in dots.groups]
    height = sum(0.3 + step * len(group.rows) for group in dots.groups)
    sheet = Sheet(picture, _BOTTOM + height + 0.08)
    width = WIDTH - _LEFT - _RIGHT
    axes = sheet.place(_LEFT, _BOTTOM, width, height)
    low, high = span_of(
        mark for group in dots.groups for row in group.rows for _, mark in row.marks
    )
    for arm, mark in (pair for group in dots.groups for row in group.rows for pair in row.marks):
        room = (0.2 + _LETTER * len(_word(arms, arm, mark))) / width
        high = max(high, low * (_find_end(mark) / low) ** (1 / (1 - room)))
    scale_up(axes, "x", (low, high), dots.unit)
    axes.set_ylim(0, height)
    axes.set_yticks([])
    axes.set_xlabel(dots.x_label)
    at = height
    for group, title in zip(dots.groups, titles, strict=True):
        y = _BOTTOM + at - 0.17
        sheet.write(0.12, y, "".join(title), fontweight="bold", va="center", bbox=BACKING)
        axes.axhline(at, color="#bbbbbb", linewidth=0.6)
        at -= 0.3
        for place, row in enumerate(group.rows):
            y = _BOTTOM + at - step * (place + 0.5)
            sheet.write(0.25, y, "\n".join(wrap(row.label, 26, 2)), va="center", fontsize=8.5)
        _draw_group(picture, axes, group, _Rows(arms=arms, top=at, step=step))
        at -= step * len(group.rows)
    return sheet.figure


def _word(arms: list[str], arm: str, mark: Mark) -> str:
    """What stands right of a mark: its number, and of several arms which one's it is."""
    name = "".join(wrap(arm, _NAME, 1)) + " " if len(arms) > 1 else ""
    return name + show_seconds(mark.value)


def _find_end(mark: Mark) -> float:
    return max(tame(mark.value), tame(mark.high or mark.value))


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Where rows lie: the first begins at ``top``, each is ``step`` high (inches), arms inside."""

    arms: list[str]
    top: float
    step: float


def _draw_group(picture: Picture, axes: Axes, group: Rows, lie: _Rows) -> None:
    arms = lie.arms
    for place, arm in enumerate(arms):
        look = look_of(picture, arm)
        path = []
        for index, row in enumerate(group.rows):
            mark = dict(row.marks).get(arm)
            y = lie.top - lie.step * (index + 0.5) - _ARM * (place - (len(arms) - 1) / 2)
            if mark is None:
                path.append((float("nan"), y))
                continue
            path.append((tame(mark.value), y))
            draw_mark(axes, look, y, mark, vertical=False)
            axes.text(
                share_of(_find_end(mark), axes.get_xlim()) + 0.015,
                y,
                _word(arms, arm, mark),
                transform=axes.get_yaxis_transform(),
                color=look.colour,
                fontsize=8,
                va="center",
                bbox=BACKING,
            )
        if group.linked:
            axes.plot(
                [x for x, _ in path],
                [y for _, y in path],
                color=look.colour,
                linestyle=look.stroke,
                linewidth=0.9,
                alpha=0.6,
                zorder=1.5,
            )
