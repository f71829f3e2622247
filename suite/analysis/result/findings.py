"""What explains the numbers: causes, what would help, waterfalls, parts of a step, limits and costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from suite.analysis.result.numbers import Estimate, Evidence, Ratio
from suite.cells.cell import Param
from suite.cells.traits import Effect, Removed

RuleName = Literal[
    "fallback",
    "input",
    "transfer",
    "start-up",
    "retracing",
    "overhead",
    "too small",
    "unknown",
]

Shown = Literal["faster", "slower"]
"""What cells one change apart show of it."""

PartName = Literal["input", "transfer", "dispatch", "compute"]

Bound = Literal["input", "compute", "both"]

PARTS: tuple[PartName, ...] = ("input", "transfer", "dispatch", "compute")

_LAST_DIGITS = 1e-9
"""A difference of a smaller share of a number is none: its digits end there."""

UNEXPLAINED = 0.20
"""A rest beyond this share of the step is called unexplained."""


class Speedup(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was measured to help: at the cell ``at`` a unit of work takes ``ratio`` times less time.

    ``how`` says what is different there.
    """

    how: Evidence
    at: str
    ratio: Ratio


class Cause(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a cell is slow: the rule, its evidence in numbers, and the gain measured for its remedy.

    ``seconds`` is what it takes a call, of what the GPU loses; ``share`` is the part of that which it
    explains, and the shares of a cell add up to 1 at most; None: not measured.  ``unknown`` is what no
    other explains.
    ``provisional``: the cell has no verdict, only a ratio that says so.
    """

    rule: RuleName
    confirmed: bool
    provisional: bool
    evidence: tuple[Evidence, ...]
    gain: Speedup | None = None
    seconds: Estimate | None = None
    share: float | None = None


class Standing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the GPU stands against the CPU in a cell that needs an explanation.

    ``loses``: the GPU is the slower one; else it wins or nobody can tell, but reaches only ``use``
    of its own best rate (None: there is no rate to compare).  ``winner`` is the nearest variant of the same
    work at which the GPU wins by most.  ``hopeless``: it loses at every variant that was measured, so
    that the CPU is the right device.  ``provisional``: the cell has no verdict, only a ratio that says so.
    ``lost`` are the seconds a call to explain: beyond the CPU's time, or, where the GPU does not lose, beyond
    that of the same work at its own best rate.
    """

    ratio: Ratio
    lost: Estimate | None = None
    loses: bool
    provisional: bool
    use: float | None = None
    winner: str | None = None
    hopeless: bool


class Improvement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change that whoever writes the script can make, by the pair of cells on an arm that shows most of it.

    ``change`` names it; ``effect`` says what it is to whoever makes it, ``costs`` what it costs besides.  Of
    the ``pairs`` of cells that differ in nothing else, so many are shown to be ``faster`` after it by more
    than the margin, and so many ``slower``.  The pair is from ``cell`` to where the ``gain`` is, and
    ``shows`` which of the two it is (None: neither, and no other pair is shown to be); a change that does
    both stands there twice.  ``provisional``: the profile gives no verdicts, as its intervals rest on few
    blocks.
    """

    change: Evidence
    effect: Effect
    costs: str
    arm: str
    cell: str
    gain: Speedup
    pairs: int
    faster: int
    slower: int
    shows: Shown | None
    provisional: bool


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measured stage: seconds a unit, and how many times less that is than at the stage before.

    ``changes`` are all changes since the stage before that was measured, and ``rules`` their
    causes; ``factor`` is None at the first.
    """

    cell: str
    changes: tuple[str, ...]
    rules: tuple[Removed, ...]
    value: Estimate
    factor: Ratio | None = None


class Spot(Struct, frozen=True, kw_only=True):
    """Where a waterfall was measured; ``pinned``: the work was on the CPU beside a visible GPU."""

    arm: str
    pinned: bool


class Waterfall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A script that people ask about in one place, times given a ``unit`` (``by_call``: a call).

    ``fixed`` are the values of its own axes; ``factor`` is what the whole way takes away.  ``posted``: its
    first step is the script itself, in a fresh process; or the first of the stages behind it.
    """

    name: str
    title: str
    unit: str
    by_call: bool
    fixed: Mapping[str, Param]
    spot: Spot
    steps: tuple[Step, ...]
    factor: Ratio
    posted: bool = False

    @property
    def largest(self) -> Step | None:
        """The step that takes away most; None where no step makes it shorter."""
        found = [step for step in self.steps if step.factor and step.factor.value > 1]
        return max(found, key=lambda step: step.factor.value if step.factor else 0.0, default=None)


class Contribution(Struct, frozen=True, kw_only=True):
    """Which share of the way from a script's difference to the fair one these changes make."""

    changes: tuple[str, ...]
    share: float


class NaiveGap(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a script says about two places, and what the fair numbers say: ``other`` over ``base``.

    ``factor``, at least 1, is by how much the script is off.  It ``reverses`` where it names one of them
    as the faster, and it is the other; it ``invents`` a difference where the fair numbers see none.
    ``differs``: at least one of both tells the places apart; ``provisional``: one of both has no verdict.
    ``posted``: as of both waterfalls.  ``gone`` are the changes that make a share of the way
    beyond doubt, in seconds a unit, the largest first; empty where both ends are as far apart.
    """

    name: str
    title: str
    fixed: Mapping[str, Param]
    other: Spot
    base: Spot
    naive: Ratio
    fair: Ratio
    factor: float
    reverses: bool
    invents: bool
    differs: bool
    provisional: bool = False
    posted: bool = False
    gone: tuple[Contribution, ...] = ()


class Decomposition(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A training step on an arm, in seconds: the whole, its parts, and the rest.

    ``parts`` that no cell could tell apart are None, and ``absent`` says why; what they take is in
    another part or in the rest, as said there.  The rest can be negative by noise.
    """

    cell: str
    arm: str
    whole: float
    parts: Mapping[PartName, float | None]
    absent: Mapping[PartName, Evidence]

    @property
    def rest(self) -> float:
        """What the parts do not explain, in seconds; nothing where only the last digits differ."""
        rest = self.whole - math.fsum(part or 0.0 for part in self.parts.values())
        return rest if abs(rest) > _LAST_DIGITS * self.whole else 0.0

    @property
    def unexplained(self) -> bool:
        """Whether the rest is too large to pass over."""
        return abs(self.rest) > UNEXPLAINED * self.whole


class Triple(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A pipeline and the model behind it on an arm: seconds a step of each alone and together.

    ``overlap`` is the share of the shorter of the two that is hidden behind the longer, 0 to 1.
    ``bound`` is what the step waits for: the longer part, ``both`` where they are within 10 %.
    ``evidence`` says what that rests on.  None: not measured.
    """

    pipeline: str
    arm: str
    input_s: float | None = None
    compute_s: float | None = None
    together: Estimate
    trivial_s: float | None = None
    overlap: float | None = None
    bound: Bound | None = None
    evidence: Evidence


class BreakEven(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """After how many steps the GPU breaks even: its first call takes longer than the CPU's, each step less.

    ``steps`` None: no saving is shown, or the first call takes no longer; ``never``: the interval shows
    that there is no saving.  ``saving_s`` is what each step saves against the CPU (negative: it loses that).
    """

    cell: str
    first_call_s: float
    cpu_first_call_s: float
    saving_s: float
    steps: Estimate | None = None
    never: bool
