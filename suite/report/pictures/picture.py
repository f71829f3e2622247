"""What the report's pictures show, as values: marks with their intervals along an axis, bars and samples.

Draws nothing and knows no library that does, so that a picture can be asserted without being seen.
Texts are plain and come from documents: whoever draws must take them as they stand.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from suite.cells.families import FAMILIES, WAYS

FOLDER = "plots"
"""Where in a campaign's folder the pictures lie."""

LONGEST_ALT = 125
"""Characters of an alternative text; screen readers cut or split longer ones."""

Place = TypeVar("Place", float, str)
"""A size along a sweep, or the label of a row."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A value with its 95 % CI, whose ends are None where there is none.

    ``struck``: the number is INVALID, to be seen and not believed.
    """

    value: float
    low: float | None = None
    high: float | None = None
    struck: bool = False


@dataclass(frozen=True, kw_only=True)
class Span:
    """A range of sizes in which two lines cross; None is an end that lies outside of the sweep."""

    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True, kw_only=True)
class Panel(Generic[Place]):
    """By arm its marks at these places of the ``axis``; None where it has no number there."""

    title: str
    places: tuple[Place, ...]
    marks: Mapping[str, tuple[Mark | None, ...]]
    axis: str = ""
    spans: tuple[Span, ...] = ()

    @property
    def drawn(self) -> list[Mark]:
        """The marks that there are, of all arms."""
        return [mark for marks in self.marks.values() for mark in marks if mark]


@dataclass(frozen=True, kw_only=True)
class Sweeps:
    """Lines over sizes, the panels side by side, with one logarithmic axis of values and its ``label``; the
    values' ``unit`` is ``s`` or ``examples/s``."""

    label: str
    panels: tuple[Panel[float], ...]
    unit: str


@dataclass(frozen=True, kw_only=True)
class Curves:
    """A panel of lines over the sizes of an ``axis``: by name the marks at its own sizes."""

    title: str
    axis: str
    lines: Mapping[str, Mapping[float, Mark]]

    @property
    def drawn(self) -> list[Mark]:
        """The marks of all lines."""
        return [mark for line in self.lines.values() for mark in line.values()]


@dataclass(frozen=True, kw_only=True)
class Ratios:
    """How many times as fast one side is, the panels side by side, with one logarithmic axis with this
    ``label`` and a line at 1; ``over`` and ``under`` it stands who wins there."""

    label: str
    panels: tuple[Curves, ...]
    over: str
    under: str


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Rows of times under titles, below each other, on one logarithmic axis with this ``label``.

    ``linked``: each is the one above after one change.
    """

    label: str
    panels: tuple[Panel[str], ...]
    linked: bool = False


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A whole in its parts, in seconds; a part under 0, as a difference of two cells can be, is left out."""

    label: str
    parts: Mapping[str, float]

    @property
    def whole(self) -> float:
        """What the parts add up to, in seconds."""
        return math.fsum(max(seconds, 0.0) for seconds in self.parts.values())

    @property
    def shares(self) -> dict[str, float]:
        """By part its share of the whole."""
        whole = self.whole or 1.0
        return {name: max(seconds, 0.0) / whole for name, seconds in self.parts.items()}


@dataclass(frozen=True, kw_only=True)
class Strip:
    """What one invocation measured, in its order: seconds a call.

    ``samples`` count from ``start`` on, where the invocation ``counts``; ``value`` is then their mean.
    """

    label: str
    warmup: tuple[float, ...]
    samples: tuple[float, ...]
    start: int
    counts: bool
    value: float | None


@dataclass(frozen=True, kw_only=True)
class Point:
    """A thing with a mark on each of two axes; ``up`` is None where the things are only put in order.

    ``best``: nothing is better than it both ways.
    """

    name: str
    across: Mark
    up: Mark | None
    best: bool


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Points by their labels, in order, on logarithmic axes, and what stands beside these.

    ``ties`` are the pairs of labels that are not shown to differ.  Without ``up`` each point has a row of
    its own.
    """

    points: Mapping[str, Point]
    ties: tuple[tuple[str, str], ...]
    across: str
    up: str


@dataclass(frozen=True, kw_only=True)
class Line:
    """What was read of an arm at instants in seconds; None: nothing then.  ``fell_at_s``: when it fell."""

    at_s: tuple[float, ...]
    values: tuple[float | None, ...]
    fell_at_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Courses:
    """By title a column of panels over seconds; each panel has by arm its line.  ``rows`` are what stands
    beside the panels of a row; all of it is on linear axes, the first row's from 0."""

    rows: tuple[str, ...]
    columns: Mapping[str, tuple[Mapping[str, Line], ...]]


Content = (
    Sweeps | Ratios | Dots | Scatter | Courses | tuple[Bar, ...] | dict[str, tuple[Strip, ...]]
)
"""Bars are of one length and divided into the same parts; strips are by arm its invocations side by side,
one arm below the other, each on a scale of its own."""

RATIOS, STEPS, PIPELINES, HOT, WHY = "ratios", "decomposition", "pipelines", "hot", "why"
"""The pictures that are of no family alone; the others have their family's name."""

_SUBJECTS = (family.name for family in FAMILIES.values() if family.subject)
_NAMES = (RATIOS, *_SUBJECTS, WAYS.name, STEPS, PIPELINES, HOT, WHY)

POSSIBLE_FILES = tuple(f"{FOLDER}/{name}.{ending}" for name in _NAMES for ending in ("svg", "png"))
"""Every file that a report's pictures can be, by its path in the campaign's folder."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture and the words that go with it.

    ``name`` is its file's, without ending.  ``title`` says what to see, ``caption`` how to read it,
    ``tables`` where the numbers stand.  ``arms`` are the plan's, so that an arm looks the same in every
    picture; ``banner`` must stand inside.
    """

    name: str
    title: str
    caption: str
    tables: tuple[str, ...]
    arms: tuple[str, ...]
    banner: str
    content: Content

    @property
    def alt(self) -> str:
        """What it shows, for those who don't see it: the banner and the title, without what is too much."""
        said = f"{self.banner}. {self.title}" if self.banner else self.title
        whole = [said.rsplit("; ", more)[0] for more in range(said.count("; ") + 1)]
        short = next((text for text in whole if len(text) < LONGEST_ALT), whole[-1])
        return f"{textwrap.shorten(short, LONGEST_ALT - 1, placeholder='…')}."
