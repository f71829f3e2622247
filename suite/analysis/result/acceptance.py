"""A campaign judged against a sheet of requirements: what ``accept.json`` holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from suite.analysis.result.arms import Machine
from suite.analysis.result.campaign import Plan
from suite.analysis.result.limits import Price
from suite.analysis.result.numbers import Estimate, Evidence
from suite.flags import Flag
from suite.model import SuiteIdentity

Answer = Literal["pass", "fail", "undecided"]

Side = Literal["at least", "at most", "exactly"]

What = Literal[
    "rate",
    "time",
    "first_call",
    "price",
    "spread",
    "as_fast_as",
    "slower_than",
    "faster_from",
    "expected",
    "noise_floor",
    "controls",
    "machine",
    "fact",
]
"""What a requirement is about, by the key that says so in a sheet."""


class Check(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cell on one arm beside what a line wants of it.

    ``value`` has the interval at the level of the sheet: seconds, work a second, money, or a ratio, in the
    units of the analysis; ``found`` is that of a fact, as text.  ``reason`` or ``flags`` say why nothing was
    decided.  So many ``blocks`` in all would decide it if the next are like these, or (``both``) of this
    campaign and of the one that it is held against; ``apart`` is how far the value is from the
    requirement, a share.  ``figure`` is what is published, of which the value is a share.
    """

    answer: Answer
    arm: str = ""
    cell: str = ""
    of: str = ""
    value: Estimate | None = None
    found: str = ""
    reason: Evidence | None = None
    flags: tuple[Flag, ...] = ()
    blocks: int | None = None
    both: bool = False
    apart: float | None = None
    figure: Evidence | None = None


class Line(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A requirement, as it stands on this ``line`` of the sheet, and what came of it.

    ``wanted`` are the sheet's own words; ``bound`` is their number in the units of the analysis, and
    ``scale`` how much the ``unit`` is that they name.  ``of`` is what they are about where that is no
    cell: a fact, an axis, a quantity; ``against`` is the arm or the campaign that the ratio is to.
    """

    number: int
    line: int
    clause: str = ""
    what: What
    wanted: str
    of: str = ""
    cells: str = ""
    arm: str = ""
    against: str = ""
    side: Side
    bound: float | None = None
    scale: float = 1.0
    unit: str = ""
    answer: Answer
    checks: tuple[Check, ...]

    @property
    def worst(self) -> Check:
        """The check that the answer rests on: the farthest on the wrong side, else the nearest to it."""
        chosen = [check for check in self.checks if check.answer == self.answer]
        sign = -1 if self.answer == "fail" else 1
        return min(chosen, key=lambda check: sign * (check.apart or 0.0))


class Deciding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """More blocks of a campaign: how many in all, for which lines, and what the added ones take."""

    blocks: int
    more: int
    lines: tuple[int, ...]
    seconds: float | None = None
    money: float | None = None


class Acceptance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a campaign is against a sheet.

    ``digest`` is the SHA-256 of the sheet, ``samples`` a hash over all samples of the campaign.  Each of the
    ``counted`` checks has an interval at the ``confidence`` that makes all of them hold at once at 95 %.
    ``wrong`` counts the cells whose results a check refused, by arm; ``failed`` are the codes of controls
    that failed, by campaign.
    """

    schema: int
    sheet: str
    digest: str
    title: str = ""
    signed_by: tuple[str, ...] = ()
    answer: Answer
    lines: tuple[Line, ...]
    counted: int
    confidence: float
    campaign: Plan
    samples: str
    suite: SuiteIdentity
    analysed_by: str
    machine: Machine
    machine_type: str | None = None
    software: str | None = None
    driver: str | None = None
    arms: tuple[str, ...]
    blocks: int
    price: Price | None = None
    flags: tuple[Flag, ...] = ()
    wrong: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decides: Deciding | None = None

    def pick(self, answer: Answer) -> list[Line]:
        """The lines with this answer."""
        return [line for line in self.lines if line.answer == answer]


def conclude(answers: Iterable[Answer]) -> Answer:
    """What several come to: one that fails fails all; all pass, or nobody knows."""
    every = set(answers)
    return "fail" if "fail" in every else "pass" if every == {"pass"} else "undecided"
