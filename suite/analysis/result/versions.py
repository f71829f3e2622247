"""What two versions of an arm differ in: results, speed by cell and by part, and at which step it changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct, field

from suite.analysis.result.cells import Checked, Comparison
from suite.analysis.result.numbers import Estimate, Ratio, Verdict

VersionPart = Literal[
    "start-up",
    "first-call",
    "tracing",
    "dispatch",
    "fit",
    "predict",
    "tf.data",
    "kernels",
    "transfer",
]
"""What can become slower: imports and what a process does once; what a cell's first call takes beyond its
trace and an ordinary call; tracing a function; a call, however small; what Keras's ``fit`` does around a
step, and its ``predict`` around a call; the input pipeline; arithmetic; copies."""

VERSION_PARTS: tuple[VersionPart, ...] = get_args(VersionPart)

Unit = Literal["start", "call", "step"]


class Differing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cell that computes otherwise on two arms: ``wrong`` are those of which a check refused the result;
    without one, what the checks computed on each lies too far apart.  It has no verdict on its speed."""

    cell: str
    wrong: tuple[str, ...] = ()
    base: Checked | None = None
    other: Checked | None = None


class PartRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a part takes of one cell: ``own`` seconds a unit on the base arm, and the difference (``seconds``)
    and the ``ratio`` of that on the other arm.

    ``ratio`` is None where the part took nothing in some block of an arm, or less, as a difference of two
    noisy times can; then the difference is all that is known.
    """

    own: float
    seconds: Estimate
    ratio: Ratio | None = None
    verdict: Verdict | None = None


class PartChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of what calls take, on two versions of an arm, other against base.

    ``cells`` are those that it is read off, and ``rows`` what each says.  ``ratio`` is of the part's own
    seconds: the mean of the rows that have one (None: none has); and ``least``, where something of another
    part may be in it, without as much of that as there can be.  ``own`` and ``seconds`` are the mean of all
    rows: seconds a ``unit`` on the base, and the difference; None where the cells' own seconds are too
    unlike, or the mean difference says another way than what the ratio is judged to be.  All parts of every
    two arms that are compared are one family of tests for their ``verdict``; None: there are fewer than three
    blocks, or the profile gives none.  ``effect`` is how much the warm cells of work take longer for it, as a
    share of their time, on average.  ``contains`` are parts that no cell of this campaign can tell from it.
    """

    name: VersionPart
    cells: tuple[str, ...]
    unit: Unit
    own: float | None = None
    seconds: Estimate | None = None
    ratio: Ratio | None = None
    least: Ratio | None = None
    verdict: Verdict | None = None
    effect: float = 0.0
    contains: tuple[VersionPart, ...] = ()
    rows: Mapping[str, PartRow] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether it is shown to be faster or slower."""
        return self.verdict is not None and self.verdict.names_winner


class VersionChange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two arms of one family on one device: the oldest and another; where it is not known which is older, the
    first of the plan.

    ``software`` is by name what is known of both and differs: the base's, and the other's.  ``differs`` are
    the cells whose results differ, which have to be told before any speed.  ``cells`` are the other's times
    over the base's.  ``parts`` begin with those that changed, the largest ``effect`` first; then come the
    others in the order of `VERSION_PARTS`.
    """

    base: str
    other: str
    software: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    differs: tuple[Differing, ...] = ()
    cells: Mapping[str, Comparison] = field(default_factory=dict)
    parts: tuple[PartChange, ...] = ()

    @property
    def changed(self) -> list[PartChange]:
        """The parts that are shown to be faster or slower, the one that matters most first."""
        return [part for part in self.parts if part.changed]

    @property
    def equal(self) -> list[PartChange]:
        """The parts that are shown to be equal."""
        return [part for part in self.parts if part.verdict and part.verdict.name == "EQUIVALENT"]


Course = Literal["changed", "equal", "open"]


class VersionStep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two neighbours in a list of versions: ``other`` over ``base``, the one before it."""

    base: str
    other: str
    ratio: Ratio | None = None
    verdict: Verdict | None = None


class VersionCourse(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a cell or a part went along a list of versions.

    ``steps`` are all neighbours, and ``whole`` is the last over the first.  ``contains`` are the parts that
    can't be told from a part on some of the versions.  ``changed``: between those neighbours that have a
    verdict.  ``equal``: no two neighbours differ, nor do the ends.  ``open``: anything else, such as a drift
    of which no single step is shown.
    """

    answer: Course
    steps: tuple[VersionStep, ...]
    whole: VersionStep
    contains: tuple[VersionPart, ...] = ()

    @property
    def changes(self) -> list[VersionStep]:
        """The steps at which it changed."""
        return [step for step in self.steps if step.verdict and step.verdict.names_winner]


class VersionSteps(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Three or more arms of one family on one device, the oldest first: by cell and by part at which step
    it changed.  ``software`` is what differs between neighbours, by the later of the two.  All neighbours of
    all cells are one family of tests; their parts are in one with all that are told (`PartChange`)."""

    arms: tuple[str, ...]
    cells: Mapping[str, VersionCourse] = field(default_factory=dict)
    parts: Mapping[VersionPart, VersionCourse] = field(default_factory=dict)
    software: Mapping[str, Mapping[str, tuple[str, str]]] = field(default_factory=dict)
