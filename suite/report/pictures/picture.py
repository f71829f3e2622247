"""What the report's pictures show, as values: marks with their intervals, lines, rows and bars.

Draws nothing and knows no library that does, so that a picture can be asserted without being seen.
Texts are plain and come from documents: whoever draws must take them as they stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from suite.cells.families import FAMILIES, WAYS

FOLDER = "plots"
"""Where in a campaign's folder the pictures lie."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A value with its 95 % CI, whose ends are None where there is none.

    ``struck``: the number is INVALID, to be seen and not believed.
    """

    value: float
    low: float | None = None
    high: float | None = None
    struck: bool = False

    def scale(self, share: float) -> Mark:
        """The same of so much more or less."""
        low, high = (None if end is None else end * share for end in (self.low, self.high))
        return replace(self, value=self.value * share, low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class Line:
    """An arm's marks along an axis; None where a size has no number, so that the line is broken."""

    arm: str
    marks: tuple[tuple[float, Mark | None], ...]


@dataclass(frozen=True, kw_only=True)
class Span:
    """A range of sizes in which two lines cross; None is an end that lies outside of the sweep."""

    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Lines over one axis of sizes, both axes logarithmic."""

    title: str
    x_label: str
    lines: tuple[Line, ...]
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Sweeps:
    """Panels side by side with one vertical axis; ``unit`` is ``s`` or ``examples/s``."""

    unit: str
    y_label: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A label and a mark for each arm that has one."""

    label: str
    marks: tuple[tuple[str, Mark], ...]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows under a title; ``linked``: each is the one above after one change."""

    title: str
    rows: tuple[Row, ...]
    linked: bool = False


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Groups of rows below each other on one logarithmic axis."""

    unit: str
    x_label: str
    groups: tuple[Rows, ...]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A named share of a bar, in seconds; under 0 where a difference of two cells came out so."""

    name: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A whole in its parts, which have the same names and order in every bar of a picture."""

    label: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """Bars of one length, each divided by what its parts are of it."""

    x_label: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, kw_only=True)
class Waterfall:
    """The steps of one case on one arm, from what people time to the fair number: each after one change.

    Those of the same title are drawn as one; titles of the same ``subject`` differ in a size only.
    Values are in seconds.
    """

    subject: str
    title: str
    arm: str
    steps: tuple[tuple[str, Mark], ...]


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
class Strips:
    """An arm's invocations side by side, one arm below the other, each on a scale of its own."""

    arms: tuple[tuple[str, tuple[Strip, ...]], ...]


Content = Sweeps | Dots | Stacks | Strips


STEPS, PIPELINES = "decomposition", "pipelines"
"""The pictures that are of no family alone; the others have their family's name."""

_NAMES = (*(one.name for one in FAMILIES.values() if one.subject), WAYS.name, STEPS, PIPELINES)

POSSIBLE_FILES = tuple(f"{FOLDER}/{name}.{ending}" for name in _NAMES for ending in ("svg", "png"))
"""Every file that a report's pictures can be, by its path in the campaign's folder."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A picture and the words that go with it.

    ``name`` is its file's, without ending.  ``title`` says what to see, ``caption`` how to read it,
    ``alt`` the essential numbers in words, ``tables`` where all of them stand.  ``arms`` are the
    plan's, so that an arm looks the same in every picture; ``banner`` must stand inside.
    """

    name: str
    title: str
    caption: str
    alt: str
    tables: tuple[str, ...]
    arms: tuple[str, ...]
    banner: str
    content: Content
