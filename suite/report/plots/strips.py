"""Raw samples in the order in which they were taken: invocations side by side, arms below each other."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.report.pictures.picture import Mark, Picture, Strip, Strips
from suite.report.plots.sheet import (
    FAINT,
    INK,
    WIDTH,
    Look,
    Sheet,
    look_of,
    scale_up,
    span_of,
    tame,
    wrap,
)

_LEFT, _RIGHT, _BOTTOM, _HEIGHT, _BETWEEN = 0.85, 0.15, 0.42, 1.75, 0.62

_GAP = 0.12
"""The share of an invocation's width that lies between two."""


def draw_strips(picture: Picture, strips: Strips) -> Figure:
    """An axis an arm; hollow marks are warm-up, crosses do not count, the bar is the invocation's mean."""
    count = len(strips.arms)
    sheet = Sheet(picture, _BOTTOM + count * _HEIGHT + (count - 1) * _BETWEEN + 0.3)
    for place, (arm, invocations) in enumerate(strips.arms):
        bottom = _BOTTOM + (count - 1 - place) * (_HEIGHT + _BETWEEN)
        axes = sheet.place(_LEFT, bottom, WIDTH - _LEFT - _RIGHT, _HEIGHT)
        taken = [value for one in invocations for value in (*one.warmup, *one.samples)]
        scale_up(axes, "y", span_of(Mark(value=value) for value in taken), "s")
        axes.set_xlim(0, len(invocations))
        axes.grid(visible=False, axis="x")
        for index, one in enumerate(invocations):
            _draw_invocation(axes, look_of(picture, arm), one, index)
        ticks = [index + 0.5 for index in range(len(invocations))]
        axes.set_xticks(ticks, [" ".join(wrap(one.label, 9, 1)) for one in invocations], fontsize=8)
        axes.set_title(" ".join(wrap(arm, 60, 1)), loc="left", fontsize=9, fontweight="bold")
        axes.set_ylabel("time per call")
    axes.set_xlabel("block, and in it one sample after the other")
    return sheet.figure


def _draw_invocation(axes: Axes, look: Look, one: Strip, index: int) -> None:
    every = [*one.warmup, *one.samples]
    wide = (1 - 2 * _GAP) / max(1, len(every) - 1)
    along = [index + _GAP + wide * number for number in range(len(every))]
    first = len(one.warmup) + one.start if one.counts else len(every)
    fresh, late = slice(0, len(one.warmup)), slice(len(one.warmup), first)
    values = [tame(value) for value in every]
    if index:
        axes.axvline(index, color="#bbbbbb", linewidth=0.6)
    dots = {"linestyle": "none", "markersize": 3.2, "markeredgewidth": 0.7}
    axes.plot(along[fresh], values[fresh], marker="o", mec=FAINT, mfc="white", **dots)  # type: ignore[arg-type]
    axes.plot(along[late], values[late], marker="x", color=FAINT, **dots)  # type: ignore[arg-type]
    axes.plot(along[first:], values[first:], marker=look.marker, color=look.colour, **dots)  # type: ignore[arg-type]
    if one.value is not None:
        ends = [along[first] if first < len(along) else index, along[-1]]
        axes.plot(ends, [tame(one.value)] * 2, color=INK, linewidth=1.6, zorder=4)
