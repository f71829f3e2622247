"""What all pictures have in common: size, letters, colours, the title and the banner on top, axes, marks.

Colours are Okabe and Ito's (2008), which the colour-blind can tell apart; on paper without colour
the marks and the strokes differ.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import LogLocator, MaxNLocator

from suite.report.pictures.picture import Mark, Picture
from suite.report.render.plain import show_privately
from suite.report.text.units import show_size

WIDTH = 7.6
"""Inches: a page's width, at which letters of 9 points can be read."""

INK, FAINT, ALARM = "#222222", "#666666", "#a00000"

STYLE = mpl.rc_params_from_file(
    Path(__file__).with_name("picture.mplstyle"), use_default_template=False
)

BACKING = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.85}
"""Behind text that stands on a drawing."""

_FARTHEST = 1e150
"""Beyond this, either way, logarithmic axes overflow; no clock and no rate gets there."""

_STEPS = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7))
"""Where ticks stand in a decade, of which the coarsest that gives `_FEWEST` is taken."""

_FEWEST, _MOST = 4, 10

Sides = tuple[float, float]
"""Where an axis begins and ends."""

Look = Mapping[str, Any]
"""How an arm looks, in matplotlib's words."""

_LOOKS: Sequence[Look] = (
    {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    {"color": "#D55E00", "marker": "s", "linestyle": (0, (5, 2))},
    {"color": "#009E73", "marker": "^", "linestyle": (0, (1, 1))},
    {"color": "#CC79A7", "marker": "D", "linestyle": (0, (5, 1, 1, 1))},
)


def look_of(picture: Picture, arm: str) -> Look:
    """An arm's look: by its place in the plan, the same in every picture; the first sixteen differ."""
    index = picture.arms.index(arm)
    form = _LOOKS[(index + index // len(_LOOKS)) % len(_LOOKS)]
    return {**form, "color": _LOOKS[index % len(_LOOKS)]["color"]}


@contextmanager
def own_style() -> Iterator[None]:
    """The defaults of the library and ours; nobody's settings reach a picture, nor ours outside."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def lay_out(picture: Picture, height: float, width: float = WIDTH) -> Figure:
    """A figure with the title and the banner, and ``height`` inches below, where the library finds
    every axis and its labels their room; ``width`` in inches."""
    letters = round(80 * width / WIDTH)
    title, banner = wrap(picture.title, letters, 4), wrap(picture.banner, letters)
    whole = height + 0.15 + 0.19 * len(f"{title}\n{banner}".splitlines()) + (0.1 if banner else 0)
    room = ConstrainedLayoutEngine(rect=(0.01, 0.005, 0.98, height / whole))
    figure = Figure(figsize=(width, whole), layout=room)
    figure.text(0.016, 1 - 0.08 / whole, title, fontsize=10.5, fontweight="bold", va="top")
    if banner:
        box = {"facecolor": "white", "edgecolor": ALARM, "pad": 2.0}
        place = (height + 0.08) / whole
        figure.text(0.02, place, banner, fontweight="bold", color=ALARM, va="bottom", bbox=box)
    return figure


def wrap(text: str, width: int, most: int = 3) -> str:
    """The text in lines of so many characters, cut after ``most`` of them."""
    plain = show_privately(text)
    return "\n".join(textwrap.wrap(plain, width, max_lines=most, placeholder=" …"))


def tame(value: float) -> float:
    """The value, kept within what can be drawn."""
    return min(max(value, 1 / _FARTHEST), _FARTHEST)


def find_sides(values: Iterable[float | None], share: float = 0.06) -> Sides:
    """From the lowest to the highest of these values, with so much of a logarithmic scale on both sides."""
    ends = [tame(value) for value in values if value is not None]
    room = max((max(ends) / min(ends)) ** share, 1.1)
    return min(ends) / room, max(ends) * room


def span_of(marks: Iterable[Mark]) -> Sides:
    """The sides of an axis on which these marks lie with their intervals."""
    return find_sides(end for mark in marks for end in (mark.value, mark.low, mark.high))


def pick_ticks(low: float, high: float) -> list[float]:
    """Round values within a range on a logarithmic scale: as few as ``_FEWEST``, where they can be."""
    narrow = MaxNLocator(5, steps=[1, 2, 5, 10])
    for locator in (*(LogLocator(subs=steps, numticks=_MOST) for steps in _STEPS), narrow):
        ticks = [float(tick) for tick in locator.tick_values(low, high) if low <= tick <= high]
        if len(ticks) >= _FEWEST:
            break
    return ticks


def thin(sizes: Sequence[float], letter: float) -> list[float]:
    """Of ascending sizes the last, and those whose labels have room; ``letter`` is the ratio for a letter."""
    kept = [sizes[-1]]
    for size in reversed(sizes[:-1]):
        if size * letter ** (len(show_size(kept[-1])) + 1) <= kept[-1]:
            kept.append(size)
    return kept


def scale_up(
    axes: Axes,
    which: Literal["x", "y"],
    sides: Sides,
    word: Callable[[float], str],
    ticks: Sequence[float] = (),
) -> None:
    """Makes one axis logarithmic from side to side, with these ticks or round ones."""
    ticks = ticks or pick_ticks(*sides)
    axes.set(**{f"{which}scale": "log", f"{which}lim": sides, f"{which}ticks": ticks})
    axes.set(**{f"{which}ticklabels": [word(tick) for tick in ticks]})
    axes.minorticks_off()


def draw_marks(
    axes: Axes,
    look: Look,
    along: Sequence[float],
    marks: Sequence[Mark | None],
    which: Literal["x", "y"],
) -> None:
    """Marks with their intervals, whose values are on the axis ``which``, and the line through them.

    The line is broken where a mark is missing or INVALID; that one is hollow and crossed.
    """
    for struck in sorted({mark.struck for mark in marks if mark}):
        kept = [mark if mark and mark.struck is struck else Mark(value=math.nan) for mark in marks]
        values = [tame(mark.value) for mark in kept]
        x, y = (along, values) if which == "y" else (values, along)
        ends = [mark.low for mark in kept], [mark.high for mark in kept]
        bars = [
            [abs(value - tame(end or math.nan)) for value, end in zip(values, side, strict=True)]
            for side in ends
        ]
        style = {**look, "markersize": 5, "linewidth": 1.4}
        if struck:
            style |= {"markerfacecolor": "white", "linestyle": "none"}
            axes.plot(x, y, **{**style, "marker": "x", "markersize": 9}, zorder=4)
        if not all(map(math.isnan, bars[0])):
            style |= {f"{which}err": bars}
        axes.errorbar(x, y, **style, elinewidth=1.0, capsize=2.5)
