"""The analysis of a campaign: what ``summary.json`` holds, and all that a report is made of."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import zip_longest
from typing import Literal

from msgspec import Struct, field, structs

from suite.analysis.result.arms import ArmAnalysis, Death, Machine, Spent, Watching
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.findings import Elsewhere, Finding, Tag, Waterfall
from suite.analysis.result.limits import Price
from suite.analysis.result.numbers import OTHER_LEVEL, Crossover, Ratio, Reach, Verdict
from suite.analysis.result.sustained import Sustained
from suite.analysis.result.tools import Tools
from suite.analysis.result.versions import VersionChange, VersionSteps
from suite.cells.cell import Param
from suite.cells.traits import Headline, ProfileName
from suite.flags import Flag, find_invalid, pick
from suite.model import Prediction, SuiteIdentity, name_files

Told = Literal["held", "failed", "too wide"]
"""What a control tells; too wide: it would look the same whether or not it held."""

SCHEMA = 2
"""The number of ``summary.json`` and its kin, which has a history of its own."""


class Rested(Struct, frozen=True, kw_only=True):
    """How many ``cells`` of the plan were measured no longer, from a ``block`` on."""

    block: int
    cells: int


class Plan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was planned, and how far it came; durations in seconds.

    ``folder`` is its name alone.  ``not_run`` says by arm why it was left out, ``stopped`` why the
    campaign ended early, ``rechecks`` of which campaign it measured some cells again.  ``rested`` are the
    blocks from which on other numbers of cells rested.
    """

    id: str
    folder: str
    created: datetime
    profile: ProfileName
    seed: int
    label: str | None = None
    blocks: int
    warmup_s: float
    measure_s: float
    budget_s: float
    command: str
    prediction: Prediction
    not_run: Mapping[str, str] = field(default_factory=dict)
    stopped: str | None = None
    rechecks: str | None = None
    rested: tuple[Rested, ...] = ()

    def name_file(self, arm: str) -> str:
        """What a file about one arm is called where files of several campaigns lie, without its ending."""
        return f"{self.folder}-{name_files(arm)}"


class SweepAnalysis(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cells that differ in one axis only, by their ids, sizes ascending, and what they show.

    ``main`` is one that a report opens with, drawn as ``headline`` says.  ``crossovers`` are by arm
    against the first; ``reaches`` are by arm.  ``eager``: every call dispatches many operations from Python,
    one by one, so that who wins is about that more than about computing.
    """

    scenario: str
    case: str
    axis: str
    fixed: Mapping[str, Param]
    cells: tuple[str, ...]
    unit: str
    main: bool = False
    eager: bool = False
    headline: Headline | None = None
    crossovers: Mapping[str, Crossover] = field(default_factory=dict)
    reaches: Mapping[str, Reach] = field(default_factory=dict)


def judge_equal(verdicts: Collection[Verdict]) -> Told:
    """What verdicts tell of cells that must not differ: held where none does, and half of them or more are
    EQUIVALENT, which is a 90 % CI within ±5 %."""
    names = [verdict.name for verdict in verdicts if verdict.name != "INVALID"]
    if any(verdict.names_winner for verdict in verdicts):
        return "failed"
    return "held" if names and 2 * names.count("EQUIVALENT") >= len(names) else "too wide"


class Family(Struct, frozen=True, kw_only=True):
    """One comparison of which the truth is known: ``other`` against ``base`` over some cells."""

    base: str
    other: str
    ratios: Mapping[str, Ratio]
    verdicts: Mapping[str, Verdict]

    @property
    def flagged(self) -> list[str]:
        """The cells with a verdict FASTER or SLOWER."""
        return [name for name, verdict in self.verdicts.items() if verdict.names_winner]

    @property
    def answer(self) -> Told:
        """Whether what must not differ does not."""
        return judge_equal(self.verdicts.values())

    @property
    def signs(self) -> tuple[int, int]:
        """In how many cells the other was faster and slower, whatever the verdict."""
        values = [ratio.value for ratio in self.ratios.values()]
        return sum(value < 1 for value in values), sum(value > 1 for value in values)


class ExtraWork(Struct, frozen=True, kw_only=True):
    """A cell that does known extra work, against its honest twin on one arm.

    ``truth`` is the ratio of their work, ``p`` its two-sided p-value in the paired t test; None: nothing
    to test it by.
    """

    arm: str
    cell: str
    honest: str
    ratio: Ratio
    truth: float
    p: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the ratio agrees with the truth, at the level of everything that is not work; None:
        there is no interval.  A 95 % CI alone would miss it in one sound control of twenty."""
        if self.ratio.low is None or self.ratio.high is None:
            return None
        within = self.ratio.low <= self.truth <= self.ratio.high
        return within or (self.p is not None and self.p >= OTHER_LEVEL)

    @property
    def answer(self) -> Told:
        """Held where it agrees with the truth and excludes 1, which is no extra work."""
        if self.holds is False:
            return "failed"
        seen = self.ratio.low is not None and self.ratio.low > 1
        return "held" if seen else "too wide"


class FamilyMean(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is typical of a family's cells of work on an arm, against the first arm.

    ``staged``: these are the stages of scripts, which stand apart from all others.  ``ratio`` is the
    geometric mean of the ratios of the ``counted`` cells, those with a ratio and no INVALID arm (None: there
    are none), a block that one of them lacks included; ``cells`` are all of them.  ``wins``, ``loses``,
    ``equal`` and ``undecided`` count verdicts FASTER, SLOWER, EQUIVALENT and INCONCLUSIVE; the others have
    none, or are INVALID.
    """

    family: str
    staged: bool
    arm: str
    cells: int
    counted: int
    ratio: Ratio | None
    wins: int
    loses: int
    equal: int
    undecided: int


class Controls(Struct, frozen=True, kw_only=True):
    """What the campaign says about itself.

    ``twins`` compare each arm with its twin, ``cuda_hidden`` the CUDA image without GPU with the CPU's,
    ``again`` the arms of an A/A campaign.  ``input_only`` holds, by cell and other arm, the verdicts of
    cells that must be neither FASTER nor SLOWER.
    """

    twins: tuple[Family, ...]
    cuda_hidden: Family | None
    again: tuple[Family, ...]
    extra_work: tuple[ExtraWork, ...]
    input_only: Mapping[str, Mapping[str, Verdict]]

    @property
    def input_differs(self) -> list[tuple[str, str, Verdict]]:
        """The verdicts that name a winner where no arm's device takes part: cell, other arm, verdict."""
        return [
            (cell, arm, verdict)
            for cell, arms in self.input_only.items()
            for arm, verdict in arms.items()
            if verdict.names_winner
        ]

    @property
    def failed(self) -> tuple[str, ...]:
        """The codes of the controls that failed."""
        hidden = (self.cuda_hidden,) if self.cuda_hidden else ()
        failures = {
            "twins": any(family.flagged for family in self.twins),
            "again": any(family.flagged for family in self.again),
            "hidden": any(family.flagged for family in hidden),
            "extra-work": any(extra.holds is False for extra in self.extra_work),
            "input-only": bool(self.input_differs),
        }
        return tuple(code for code, failed in failures.items() if failed)


class Analysis(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that is known of a campaign.

    ``suite`` measured; ``analysed_by`` is the version of the one that analysed, without a commit, so that
    another checkout gives the same bytes.  ``arms`` are in the plan's order, and all are compared with
    the first.  ``cpu`` and ``gpu`` are those that are each other's rivals (of several GPUs the first).
    ``flags`` are those of the whole campaign and of every invocation that does not count.
    ``troubled``: a cell failed, disagrees or is INVALID.  ``share`` is what of its levels a sequential
    campaign's last look could spend; None: levels are fixed.  ``margin`` is what a difference must exceed to
    count; ``noise_floor`` is None where no twin ran; ``noise_unexplained`` is what of it the twins' own
    intervals leave.  ``means`` are by family and arm.  ``spent`` is by arm, those of controls too.
    ``software_differs`` are the arms that ran other software than the first, and nobody asked for that;
    ``versions`` compare arms of one family that did so on purpose, and ``version_steps`` are lists of three
    or more of these.
    ``limits`` are rates above a theoretical peak, times under their bounds, and rates far below what others
    measured; ``hardware`` is what there is to say of the GPUs and of what they should give, good or bad.
    ``elsewhere`` is what others published of scripts that were measured here, ``tools`` what others' tools
    say, where their outputs are kept.  ``price`` is None where none was given, and no finding is a cost then.
    ``sustained`` are the cells that were kept going, which are none of ``cells``.
    Durations in seconds, sizes in bytes, ratios of times: under 1 the arm is faster than the first.
    """

    schema: int
    suite: SuiteIdentity
    analysed_by: str
    campaign: Plan
    machine: Machine
    arms: Mapping[str, ArmAnalysis]
    cpu: str | None = None
    gpu: str | None = None
    flags: tuple[Flag, ...] = ()
    troubled: bool
    share: float | None = None
    margin: float
    noise_floor: float | None
    noise_unexplained: float | None
    cells: tuple[CellAnalysis, ...]
    means: tuple[FamilyMean, ...] = ()
    sweeps: tuple[SweepAnalysis, ...] = field(default=(), name="crossovers")
    controls: Controls
    software_differs: tuple[str, ...] = ()
    versions: tuple[VersionChange, ...] = ()
    version_steps: tuple[VersionSteps, ...] = ()
    watching: Watching | None = None
    spent: Mapping[str, Spent]
    deaths: tuple[Death, ...] = ()
    findings: tuple[Finding, ...] = ()
    waterfalls: tuple[Waterfall, ...] = ()
    elsewhere: tuple[Elsewhere, ...] = ()
    limits: tuple[Flag, ...] = ()
    hardware: tuple[Flag, ...] = ()
    tools: Tools | None = None
    price: Price | None = None
    sustained: tuple[Sustained, ...] = ()

    def find(self, tag: Tag, **where: str) -> list[Finding]:
        """The findings with a tag, in the plan's order, of which these fields have these values."""
        return [
            finding
            for finding in self.findings
            if finding.tag == tag
            and all(getattr(finding, name) == value for name, value in where.items())
        ]

    @property
    def base(self) -> str:
        """The arm that the others are compared with: the plan's first."""
        return next(iter(self.arms))

    @property
    def others(self) -> list[str]:
        """The arms that are compared with the first."""
        return list(self.arms)[1:]

    @property
    def rivals(self) -> list[str]:
        """The others of which it is asked who wins: those that are no versions of an arm before them.  None,
        though there are others: all arms are versions of one, and what is asked is what changed."""
        groups: dict[str, list[str]] = {}
        for change in self.versions:
            groups.setdefault(change.base, [change.base]).append(change.other)
        of_others = ([arm for arm in self.arms if arm in group][1:] for group in groups.values())
        versions = {arm for group in of_others for arm in group}
        return [arm for arm in self.others if arm not in versions]

    @property
    def leading(self) -> list[str]:
        """The rivals, but of several GPUs the first alone."""
        return [arm for arm in self.rivals if self.arms[arm].first_gpu is None]

    @property
    def by_gpu(self) -> list[Analysis]:
        """The campaign with the first of several GPUs as the base of the others, for each image that ran on
        them: what is told of arms is then told of one GPU against another.  None where the base of all is
        that GPU's arm, or where there is one GPU.
        """
        views = []
        for first in dict.fromkeys(arm.first_gpu for arm in self.arms.values() if arm.first_gpu):
            others = [name for name, arm in self.arms.items() if arm.first_gpu == first]
            cells = (
                structs.replace(cell, comparisons={arm: cell.gpus[arm] for arm in others})
                for cell in self.cells
            )
            arms = {name: self.arms[name] for name in (first, *others)}
            views.append(structs.replace(self, arms=arms, cells=tuple(cells)))
        return views

    @property
    def blocks_done(self) -> int:
        """The blocks that every arm has."""
        return min(len(arm.blocks) for arm in self.arms.values())

    @property
    def block_s(self) -> float:
        """The container seconds of a block of all cells, controls included, by those that were measured; a
        calibration took about as long as one.  0: there was neither."""
        done, rested = self.blocks_done, 0
        for row, end in zip_longest(self.campaign.rested, self.campaign.rested[1:]):
            rested += row.cells * ((end.block if end else done + 1) - row.block)
        turns = done + any(arm.calibrated for arm in self.arms.values())
        whole = turns - rested / max(1, len(self.cells))
        return math.fsum(spent.total_s for spent in self.spent.values()) / whole if turns else 0.0

    def results(self, arm: str) -> dict[str, ArmResult]:
        """What is known of the cells on one arm, by their ids."""
        return {cell.id: cell.arms[arm] for cell in self.cells}

    @property
    def work(self) -> list[CellAnalysis]:
        """The cells that people come for: neither prices nor inputs, controls or references."""
        return [cell for cell in self.cells if cell.role == "work"]

    @property
    def asked(self) -> list[CellAnalysis]:
        """Those of them that are asked about first: the sizes of the main sweeps, and scripts as they are
        posted with their fair numbers."""
        ids = {id_ for sweep in self.main_sweeps for id_ in sweep.cells}
        for waterfall in self.waterfalls:
            if waterfall.posted:
                ids |= {waterfall.steps[0].cell, waterfall.fair}
        return [cell for cell in self.work if cell.id in ids]

    @property
    def main_sweeps(self) -> list[SweepAnalysis]:
        """The sweeps that a report opens with, in its order."""
        return [sweep for sweep in self.sweeps if sweep.main]

    def compares(self, sweep: SweepAnalysis, other: str) -> bool:
        """Whether any cell of the sweep has a ratio of that arm to the first."""
        return any(
            cell.id in sweep.cells and isinstance(cell.ratios[other], Ratio) for cell in self.cells
        )

    @property
    def excluded(self) -> tuple[Flag, ...]:
        """The invocations that do not count."""
        return pick(self.flags, "excluded")

    @property
    def wrong(self) -> dict[str, list[str]]:
        """By arm the cells whose results a check refused there."""
        wrong = {arm: [c.id for c in self.cells if c.arms[arm].is_wrong] for arm in self.arms}
        return {arm: cells for arm, cells in wrong.items() if cells}

    @property
    def invalid(self) -> tuple[Flag, ...]:
        """Why nothing of the campaign is to be judged."""
        return find_invalid(self.flags)
