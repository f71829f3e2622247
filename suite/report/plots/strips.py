"""Raw samples in the order in which they were taken: invocations side by side, arms below each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from suite.report.pictures.picture import Picture, Strip
from suite.report.plots import sheet
from suite.report.text.units import show_tick

_GAP = 0.12
"""The share of an invocation's width that lies between two."""


def draw_strips(picture: Picture, strips: Mapping[str, Sequence[Strip]]) -> Figure:
    """An axis an arm; hollow marks are warm-up, crosses do not count, the bar is the invocation's mean."""
    figure = sheet.lay_out(picture, 0.2 + 2.3 * len(strips))
    every = figure.subplots(len(strips), 1, squeeze=False)[:, 0]
    for axes, (arm, invocations) in zip(every, strips.items(), strict=True):
        taken = [value for strip in invocations for value in (*strip.warmup, *strip.samples)]
        sheet.scale_up(axes, "y", sheet.find_sides(taken), partial(show_tick, unit="s"))
        axes.set_xlim(0, len(invocations))
        axes.grid(visible=False, axis="x")
        for index, strip in enumerate(invocations):
            _draw_invocation(axes, sheet.look_of(picture, arm), strip, index)
        ticks = [index + 0.5 for index in range(len(invocations))]
        axes.set_xticks(ticks, [sheet.wrap(strip.label, 9, 1) for strip in invocations], fontsize=8)
        axes.set_title(sheet.wrap(arm, 60, 1), loc="left", fontsize=9, fontweight="bold")
        axes.set_ylabel("time per call")
    every[-1].set_xlabel("block, and in it one sample after the other")
    return figure


def _draw_invocation(axes: Axes, look: sheet.Look, strip: Strip, index: int) -> None:
    values = [sheet.tame(value) for value in (*strip.warmup, *strip.samples)]
    wide = (1 - 2 * _GAP) / max(1, len(values) - 1)
    along = [index + _GAP + wide * number for number in range(len(values))]
    warm = len(strip.warmup)
    first = warm + strip.start if strip.counts else len(values)
    if index:
        axes.axvline(index, color="#bbbbbb", linewidth=0.6)
    for part, style in (
        (slice(0, warm), {"marker": "o", "color": sheet.FAINT, "markerfacecolor": "white"}),
        (slice(warm, first), {"marker": "x", "color": sheet.FAINT}),
        (slice(first, None), look),
    ):
        dots = {**style, "linestyle": "none", "markersize": 3.2, "markeredgewidth": 0.7}
        axes.plot(along[part], values[part], **dots)
    if strip.value is not None:
        ends = [*along[first : first + 1], along[-1]]
        mean = [sheet.tame(strip.value)] * 2
        axes.plot([ends[0], ends[-1]], mean, color=sheet.INK, linewidth=1.6, zorder=4)
