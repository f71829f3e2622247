"""Several campaigns beside each other: what ``compare.json`` holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from suite.analysis.result.arms import Machine
from suite.analysis.result.campaign import Plan
from suite.analysis.result.cells import ArmResult, Comparison, tell_ratio, tell_verdict
from suite.analysis.result.numbers import Ratio, Verdict
from suite.analysis.result.shortlist import Claim, Device, Exclusion
from suite.flags import Flag


class Column(Struct, frozen=True, kw_only=True):
    """One arm of one campaign; ``run`` counts from 1 in the order in which they were named."""

    run: int
    arm: str

    @property
    def name(self) -> str:
        """``2:cuda``: the arm ``cuda`` of the second campaign."""
        return f"{self.run}:{self.arm}"


class Pair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One comparison: the times of ``other`` over those of ``base``, by cell.

    ``margin`` is what a difference must exceed: the largest of 2 % and the noise floors of the campaigns
    that it rests on; ``floor_known`` is whether all of them have one.  Verdicts are about ``other``.
    ``flags`` stand beside every ratio.  ``distance_median`` and ``distance_p95`` are of
    |ratio - 1| over the sound cells.
    """

    margin: float
    cells: Mapping[str, Comparison]
    base: Column
    other: Column
    floor_known: bool
    flags: tuple[Flag, ...] = ()
    distance_median: float | None = None
    distance_p95: float | None = None

    @property
    def ratios(self) -> dict[str, Ratio | Flag]:
        """By cell its ratio, or the flag that says why there is none."""
        return {name: tell_ratio(one) for name, one in self.cells.items()}

    @property
    def verdicts(self) -> dict[str, Verdict | Flag]:
        """By cell its verdict, or the flag that says why there is none."""
        return {name: tell_verdict(one) for name, one in self.cells.items()}

    @property
    def sound(self) -> dict[str, Ratio]:
        """The ratios of cells that are not INVALID on any side."""
        return {n: one.ratio for n, one in self.cells.items() if one.ratio and not one.invalid}

    @property
    def interleaved(self) -> bool:
        """Whether both arms are of one campaign, so that ratios are paired by block; else they are
        Welch's, and drift between the campaigns is not in their intervals."""
        return self.base.run == self.other.run


class Kind(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A type of machines of which three instances or more were measured.

    ``instances`` are the ids of its campaigns by instance, ``failed`` the codes of controls that failed.
    ``cells`` are of calls; ``against`` holds the times over those of the first type (Welch), by device.
    """

    type: str | None = None
    machine: Machine
    instances: tuple[tuple[str, ...], ...]
    failed: tuple[str, ...] = ()
    cells: Mapping[str, Claim]
    against: Mapping[str, Mapping[Device, Ratio]] = field(default_factory=dict)


class Versus(Struct, frozen=True, kw_only=True):
    """Several campaigns side by side, with the noise floor of each (None: not known).

    ``kinds`` are the types of machines of which enough instances are among them, ``excluded`` (in the file:
    ``aside``) the campaigns that count for none.
    """

    schema: int
    campaigns: tuple[Plan, ...]
    noise_floors: tuple[float | None, ...]
    pairs: tuple[Pair, ...]
    kinds: tuple[Kind, ...]
    excluded: tuple[Exclusion, ...] = field(name="aside")


class RecheckedCell(Struct, frozen=True, kw_only=True):
    """One cell on one arm, as a campaign had it and as it was measured again; the ``ratio`` is now over
    before, or the flag that says why there is none."""

    cell: str
    arm: str
    before: ArmResult
    now: ArmResult
    ratio: Ratio | Flag
    reproduces: bool


class Rechecked(Struct, frozen=True, kw_only=True):
    """Some cells of the campaign ``before``, measured again by the campaign ``now``.

    ``seed`` drew the cells.  ``margin`` is what a difference must exceed: the largest of 2 % and the noise
    ``floors`` of both (None: not known).
    """

    before: str
    now: str
    seed: str
    margin: float
    floors: tuple[float | None, float | None]
    cells: tuple[RecheckedCell, ...]

    @property
    def reproduces(self) -> bool:
        """Whether every cell does."""
        return all(one.reproduces for one in self.cells)


class Gated(Struct, frozen=True, kw_only=True):
    """A cell of work of the new campaign against the base: shown to be slower by over the ``limit``, shown
    not to be, or undecided; then ``blocks`` in all would decide it (None: no reasonable number)."""

    cell: str
    arm: str
    limit: float
    ratio: Ratio
    answer: Literal["slower", "passed", "undecided"] = "undecided"
    p: float
    blocks: int | None = None


class Gate(Struct, frozen=True, kw_only=True):
    """Whether a campaign is slower than another; ``bound`` is how much slower cells may be.

    ``missing`` says of each cell that could not be judged why.  To measure the ``again`` ones for so many
    ``blocks`` on both sides would take ``minutes`` in all.
    """

    base: Plan
    new: Plan
    flags: tuple[Flag, ...]
    bound: float
    cells: tuple[Gated, ...]
    missing: tuple[Flag, ...]
    minutes: float

    def pick(self, answer: str) -> list[Gated]:
        """The cells with this answer, the largest ratio first."""
        found = [one for one in self.cells if one.answer == answer]
        return sorted(found, key=lambda one: -one.ratio.value)

    @property
    def again(self) -> list[Gated]:
        """The undecided cells that more blocks would decide."""
        return [one for one in self.pick("undecided") if one.blocks]

    @property
    def blocks(self) -> int:
        """As many blocks as the most undecided of them needs."""
        return max((one.blocks or 0 for one in self.again), default=0)
