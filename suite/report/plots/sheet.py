"""What all pictures have in common: size, letters, colours, the title and the banner on top.

Colours are Okabe and Ito's (2008), which the colour-blind can tell apart; on paper without colour
the marks and the strokes differ.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

from suite.report.pictures.picture import Mark, Picture
from suite.report.render.plain import show_plainly
from suite.report.text.units import show_tick

WIDTH = 7.6
"""Inches: a page's width, at which letters of 9 points can be read."""

DPI = 150
"""Of the PNG."""

INK, FAINT, ALARM = "#222222", "#666666", "#a00000"

STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so that every machine has it
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in somebody's label is a dollar sign
    "axes.unicode_minus": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "path",  # looks the same where the font is not installed
    "svg.hashsalt": "crossover",
    "savefig.dpi": DPI,
}

BACKING = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
"""Behind text that stands on a drawing."""

_FARTHEST = 1e150
"""Beyond this, either way, logarithmic axes overflow; no clock and no rate gets there."""


Sides = tuple[float, float]
"""Where an axis begins and ends."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """How an arm looks."""

    colour: str
    marker: str
    stroke: str | tuple[int, tuple[int, ...]]


_LOOKS = (
    Look(colour="#0072B2", marker="o", stroke="-"),
    Look(colour="#D55E00", marker="s", stroke=(0, (5, 2))),
    Look(colour="#009E73", marker="^", stroke=(0, (1, 1))),
    Look(colour="#CC79A7", marker="D", stroke=(0, (5, 1, 1, 1))),
)


def look_of(picture: Picture, arm: str) -> Look:
    """An arm's look: by its place in the plan, the same in every picture."""
    place = picture.arms.index(arm) if arm in picture.arms else len(picture.arms)
    return _LOOKS[place % len(_LOOKS)]


@contextmanager
def own_style() -> Iterator[None]:
    """The defaults of the library and ours; nobody's settings reach a picture, nor ours outside."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


class Sheet:
    """A figure with its title and banner, and room below for ``height`` inches of drawing.

    Measures are inches; `place` turns them into the shares that matplotlib wants.
    """

    def __init__(self, picture: Picture, height: float) -> None:
        lines = wrap(picture.title, 80, 4)
        banner = wrap(picture.banner, 80)
        head = 0.12 + 0.19 * len(lines) + 0.24 * len(banner)
        self.height = head + height
        self.figure = Figure(figsize=(WIDTH, self.height))
        self.top = self.height - head
        y = self.height - 0.08
        for line in lines:
            self.write(0.12, y, line, fontsize=10.5, fontweight="bold", va="top")
            y -= 0.19
        for line in banner:
            box = {"facecolor": "white", "edgecolor": ALARM, "pad": 2.0, "linewidth": 1.0}
            self.write(0.16, y - 0.04, line, fontweight="bold", color=ALARM, va="top", bbox=box)
            y -= 0.24

    def write(self, x: float, y: float, text: str, **style: Any) -> None:
        """Text at a point, measured from the lower left."""
        self.figure.text(x / WIDTH, y / self.height, text, **style)

    def place(self, left: float, bottom: float, width: float, height: float) -> Axes:
        """Axes in this rectangle."""
        return self.figure.add_axes(
            (left / WIDTH, bottom / self.height, width / WIDTH, height / self.height)
        )


def wrap(text: str, width: int, most: int = 3) -> list[str]:
    """The text in lines of so many characters, cut after ``most`` of them."""
    return textwrap.wrap(show_plainly(text), width, max_lines=most, placeholder=" …")


def tame(value: float) -> float:
    """The value, kept within what can be drawn."""
    return min(max(value, 1 / _FARTHEST), _FARTHEST)


def span_of(marks: Iterable[Mark]) -> Sides:
    """From the lowest to the highest end of these marks, with a little room on both sides."""
    seen = list(marks)
    ends = [tame(end) for one in seen for end in (one.value, one.low, one.high) if end is not None]
    return widen(min(ends), max(ends))


def widen(low: float, high: float, share: float = 0.06) -> Sides:
    """A range on a logarithmic scale with so much of it added on both sides, and never none."""
    room = max((high / low) ** share, 1.1)
    return low / room, high * room


def pick_ticks(low: float, high: float) -> list[float]:
    """Round values within a range on a logarithmic scale, at least two and at most ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    stride = max(1, math.ceil((last - first) / 9))
    choices: Sequence[Sequence[float]] = (
        (1,),
        (1, 3),
        (1, 2, 5),
        (1, 1.5, 2, 3, 4, 5, 6, 8),
        [one / 10 for one in range(10, 100)],
    )
    for choice in choices if stride == 1 else choices[:1]:
        ticks = [
            step * 10.0**power
            for power in range(first, last + 1)
            if power % stride == 0
            for step in choice
            if low <= step * 10.0**power <= high
        ]
        if len(ticks) >= 4 or (stride > 1 and ticks):
            return ticks[:: math.ceil(len(ticks) / 10)]
    return [low * (high / low) ** share for share in (0.2, 0.8)]


def scale_up(axes: Axes, which: Literal["x", "y"], sides: Sides, unit: str) -> None:
    """Makes one axis logarithmic from side to side, with ticks in human units."""
    label_ticks(axes, which, sides, [(one, show_tick(one, unit)) for one in pick_ticks(*sides)])


def label_ticks(
    axes: Axes, which: Literal["x", "y"], sides: Sides, ticks: Sequence[tuple[float, str]]
) -> None:
    """Makes one axis logarithmic from side to side, with these ticks and their labels."""
    axes.set(**{f"{which}scale": "log", f"{which}lim": sides})
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator([tick for tick, _ in ticks]))
    axis.set_major_formatter(FixedFormatter([text for _, text in ticks]))
    axis.set_minor_locator(NullLocator())
    axes.tick_params(length=3)


def share_of(value: float, sides: Sides) -> float:
    """Where a value stands between two others on a logarithmic scale: 0 to 1."""
    low, high = sides
    return math.log(value / low) / math.log(high / low)
