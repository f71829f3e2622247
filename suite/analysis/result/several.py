"""Several campaigns beside each other: what ``compare.json`` holds, and a survey's ``summary.json``."""

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
from suite.model import Survey


class Contrast(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Times over other times by cell, and what they amount to.

    ``margin`` is what a difference must exceed: the largest of 2 % and the noise floors of the campaigns
    that it rests on.  ``typical`` is the median ratio of a survey's cells that tell of a GPU.
    """

    margin: float
    cells: Mapping[str, Comparison]
    typical: float | None = None

    @property
    def ratios(self) -> dict[str, Ratio | Flag]:
        """By cell its ratio, or the flag that says why there is none."""
        return {name: tell_ratio(one) for name, one in self.cells.items()}

    @property
    def verdicts(self) -> dict[str, Verdict | Flag]:
        """The same of verdicts."""
        return {name: tell_verdict(one) for name, one in self.cells.items()}

    @property
    def sound(self) -> dict[str, Ratio]:
        """The ratios of cells that are not INVALID on any side."""
        return {n: one.ratio for n, one in self.cells.items() if one.ratio and not one.invalid}


class Column(Struct, frozen=True, kw_only=True):
    """One arm of one campaign; ``run`` counts from 1 in the order in which they were named."""

    run: int
    arm: str

    @property
    def name(self) -> str:
        """``2:cuda``: the arm ``cuda`` of the second campaign."""
        return f"{self.run}:{self.arm}"


class Pair(Contrast, frozen=True, kw_only=True, omit_defaults=True):
    """One comparison: the times of ``other`` over those of ``base``, by cell.

    Verdicts are about ``other``.  ``floor_known`` is whether both campaigns have a noise floor.
    ``flags`` stand beside every ratio.  ``distance_median`` and ``distance_p95`` are of
    |ratio - 1| over the sound cells.
    """

    base: Column
    other: Column
    floor_known: bool
    flags: tuple[Flag, ...] = ()
    distance_median: float | None = None
    distance_p95: float | None = None

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


class Surveyed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The analysis of a survey.

    ``alone`` and ``at_once`` name the campaigns by GPU. ``apart`` holds each GPU but the first against
    the first, both alone; ``contention`` (in the file: ``at_once``) each GPU at once against itself
    alone; ``pooled`` the geometric mean over the GPUs at once against that alone; all are paired by
    round. Of the ``cells``, ``on_gpu`` are those that time again and again what was seen to run on a GPU,
    as opposed to starts, input pipelines, and work that is pinned to the processor. ``spreads`` are the
    slowest GPU's time over the fastest one's, by cell, where all have a number that counts. ``unpaired``
    (in the file: ``rounds_not_at_once``) are the rounds whose turn at once does not count, because some
    GPU did not finish it. ``overlap`` is the least share of an invocation's measuring, over those at
    once, in which all others measured too; None: there is none.
    """

    schema: int
    analysed_by: str
    survey: Survey
    flags: tuple[Flag, ...] = ()
    unpaired: tuple[int, ...] = field(default=(), name="rounds_not_at_once")
    alone: Mapping[str, str] = field(name="campaigns_alone")
    at_once: Mapping[str, str] = field(name="campaigns_at_once")
    apart: Mapping[str, Contrast]
    contention: Mapping[str, Contrast] = field(name="at_once")
    pooled: Contrast = field(name="at_once_all")
    cells: tuple[str, ...]
    on_gpu: tuple[str, ...]
    spreads: Mapping[str, float] = field(default_factory=dict)
    overlap: float | None = None

    def of_gpu(self, contrast: Contrast) -> dict[str, Ratio]:
        """The sound ratios of cells that tell of a GPU: samples of work that was seen on one."""
        return {name: one for name, one in contrast.sound.items() if name in self.on_gpu}
