"""Numbers with their intervals, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from suite.flags import Flag

FEWEST = 3
"""Under three invocations an interval says more about Student's t than about the machine."""

LEVEL = 0.05
"""The chance of any false FASTER or SLOWER in a whole comparison."""

WORK_LEVEL, OTHER_LEVEL = 0.04, 0.01
"""How that chance is shared out: cells of work, which the report counts, and all other cells, so that
no verdict on work depends on how many prices and controls were measured beside it."""

MARGIN = 0.02
"""A difference of less is none, however significant: code alignment alone makes as much (Mytkowicz
et al. 2009)."""

EQUIVALENCE = 0.05
"""Two times within this are equivalent.  Fixed, because noise must not widen it."""

INNER = 0.90
"""Confidence of the interval that has to lie within it: two one-sided tests at 5 % are one 90 % CI."""

LEVELS_APART, SETTLED = 0.10, 5
"""At a look of a sequential campaign, with fewer pairs than so many, no smaller difference counts: processes can
fall on levels some per cent apart, and three agree on one by chance whatever the level of the test."""

VerdictName = Literal["FASTER", "SLOWER", "EQUIVALENT", "INCONCLUSIVE", "INVALID"]

Answer = Literal["crosses", "always", "never", "equal", "not monotone", "undecided"]


Value = int | float | str | tuple[str, ...]


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that supports a finding, or says what is different somewhere.

    ``values`` are what its sentence tells: seconds, bytes and shares as they are, names, or lists of names.
    """

    code: str
    values: Mapping[str, Value] = field(default_factory=dict)


def cite(code: str, **values: Value) -> Evidence:
    """The evidence with this code and these values; ``suite/report/text/evidence.py`` has its sentence."""
    return Evidence(code=code, values=values)


class Estimate(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value in the unit of what went in, by ``n`` invocations.

    ``low`` and ``high`` bound the 95 % CI; of a ratio ``inner_low`` and ``inner_high`` bound the 90 % one,
    and ``p`` is the two-sided p-value of "no difference".  All are None where there is none, and ``flags``
    (in the file: ``notes``) say why.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    flags: tuple[Flag, ...] = field(default=(), name="notes")
    inner_low: float | None = None
    inner_high: float | None = None
    p: float | None = None

    @property
    def least(self) -> float:
        """The lower end of the interval; without one, the value."""
        return self.value if self.low is None else self.low

    @property
    def most(self) -> float:
        """The upper end of the interval; without one, the value."""
        return self.value if self.high is None else self.high


Ratio = Estimate
"""The ratio of two arms' times, other over base: under 1 the other arm is faster.  Its ``n`` is the number of
blocks in which both have a value (across campaigns: of invocations of the arm that has fewer)."""


class Verdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one comparison of one cell means; ``name`` is about the other arm, against the base.

    ``reason`` is what it rests on, ``p`` the Holm-adjusted p-value where there is one, by the larger of the
    ratio's own spread and the one that its family makes probable.  INVALID has no
    reason of its own: the ``flags`` say why.  ``blocks``, of INCONCLUSIVE ones: as many in all would
    decide it if the next are like these; None where no reasonable number would.
    """

    name: VerdictName
    reason: Evidence | None = None
    p: float | None = field(default=None, name="p_holm")
    blocks: int | None = None
    flags: tuple[Flag, ...] = ()

    @property
    def names_winner(self) -> bool:
        """Whether one of the arms is the faster one."""
        return self.name in {"FASTER", "SLOWER"}

    @property
    def code(self) -> str:
        """The reason in a word for programs."""
        return self.reason.code if self.reason else self.flags[0].code


class Crossover(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Along which sizes the other arm wins, by verdicts alone.

    ``answer``: ``crosses`` (once: between ``low`` and ``high``, which are measured sizes, the winner
    changes, to the other arm where ``rising``); ``always`` (the other arm is FASTER at every size),
    ``never`` (SLOWER at every size), ``equal`` (EQUIVALENT at every size), ``not monotone`` (the winner
    changes more than once), or ``undecided`` (anything else).  ``wins``, ``loses``, ``equal`` and
    ``undecided`` are the sizes with each verdict; INCONCLUSIVE and INVALID ones, and those without a
    verdict, are undecided.
    """

    answer: Answer
    low: float | None = None
    high: float | None = None
    rising: bool = False
    wins: tuple[float, ...] = ()
    loses: tuple[float, ...] = ()
    equal: tuple[float, ...] = ()
    undecided: tuple[float, ...] = ()


class Reach(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The best rate of an arm along a sweep, in work a second, and the size it has it at.

    ``short_until`` is the largest size up to which every rate is far below; None where the first
    one is not.
    """

    axis: str
    unit: str
    best: float
    best_at: float
    short_until: float | None = None


def derive_rate(amount: float, seconds: float) -> float | None:
    """Work per second; None where there is no work to count or no finite number comes out."""
    rate = amount / seconds if amount > 0 else math.inf
    return rate if math.isfinite(rate) and rate > 0 else None
