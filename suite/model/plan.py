"""What is going to be done, and how far it has come: the plan of a campaign, and that of a survey."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.model.arm import Arm
from suite.model.document import SuiteIdentity

PLAN = "campaign.json"
"""The file in a campaign's folder that holds its plan."""

SURVEY = "survey.json"
"""The file that holds a survey's plan, in a folder of its own."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """How long the campaign should take, in seconds, container time of all its invocations.

    ``before_s`` was said before anything ran, ``calibrated_s`` after the calibration, and
    ``corrected_s`` after each finished block; ``actual_s`` is the container time spent so far.
    """

    before_s: float
    calibrated_s: float | None = None
    corrected_s: list[float] = field(default_factory=list)
    actual_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Again:
    """A block that is measured again on all arms, since one arm's invocation kept another pace in it.

    ``pace`` is that invocation's time over its siblings', over all cells.  Of the block, only invocations
    from this ``repeat`` on count.
    """

    arm: str
    block: int
    pace: float
    repeat: int


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """The plan of a campaign, fixed before its first block, and how far it has come.

    ``calls`` is K, the calls in a sample, by arm and cell, frozen by the calibration.
    ``excluded`` gives by arm and cell the outcome and reason that the calibration found for cells
    that no block then tries.  ``commands`` are the exact words that repeat the campaign.
    ``not_run`` says by arm why it was left out; one of the plan's, why its calibration was refused.
    ``settings`` is what else was asked for and must stay the same when the campaign goes on: engine, cpus,
    telemetry, gpu and local_python (a UUID and a path as hashes), base_image, cuda_image (with its
    registry's digest).  ``controls`` are the ids of the cells that the control invocations run, none in
    profiles that have no controls.  ``blocks`` can grow up to ``most_blocks`` when a look finds the
    intervals too wide; ``looks`` holds what each look saw.  ``again`` lists the blocks that are measured
    again, in the order in which that was decided.  ``survey`` names the survey that the campaign
    is a part of, ``rechecks`` the campaign of which it measures some cells again; ``at_once`` is how many
    of its survey's campaigns are at work at the same time, each on a GPU of its own;
    ``calibrated_by`` is the campaign that found K for this one, which then has no calibration.
    ``arms`` are the names of the arms that are compared, with the first; ``every_arm`` says what each is,
    and each of the control invocations'.
    """

    schema: int
    id: str
    created: datetime
    profile: ProfileName
    seed: int
    label: str | None
    arms: list[str]
    blocks: int
    cells: list[Cell]
    suite: SuiteIdentity
    prediction: Prediction
    warmup_s: float
    measure_s: float
    budget_s: float
    calls: dict[str, dict[str, int]] = field(default_factory=dict)
    excluded: dict[str, dict[str, Excluded]] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)
    command: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None
    controls: list[str] = field(default_factory=list)
    most_blocks: int | None = None
    looks: list[InterimLook] = field(default_factory=list)
    again: list[Again] = field(default_factory=list)
    simulated: bool = False
    price: float | None = None
    price_currency: str = "USD"
    survey: str | None = None
    at_once: int = 1
    calibrated_by: str | None = None
    rechecks: str | None = None
    every_arm: list[Arm] = field(default_factory=list)

    def arm(self, name: str) -> Arm:
        """The arm of that name, one of the plan's or of its controls'.

        Raises:
            KeyError: there is none.
        """
        return {one.name: one for one in self.every_arm}[name]

    def first_counted(self, block: int) -> int:
        """The first repeat of a block's invocations that can count."""
        return max((one.repeat for one in self.again if one.block == block), default=0)

    @property
    def gpu_arms(self) -> list[str]:
        """Those of its arms that have a GPU."""
        return [name for name in self.arms if self.arm(name).gpu]

    def find_arm(self, *, gpu: bool) -> Arm | None:
        """The first arm with a GPU, or without, that is no control; None: the plan has none."""
        plain = (one for one in self.every_arm if one.control is None and one.gpu == gpu)
        return next(plain, None)


@dataclass(frozen=True, kw_only=True)
class SurveyMember:
    """One campaign of a survey: the GPU that it is about (nvidia-smi's index, ``0:1`` for a MIG
    instance), whether the others are at work at the same time, and its id, which is its folder's name.
    """

    gpu: str
    at_once: bool
    campaign: str


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The plan of a survey: the same campaign on each GPU of a machine in turn, and on all at once.

    It goes round by round: in each, every GPU has a block alone, and all have one at once, in random
    order.  The members stand next to it in the folder of results.  ``cpus`` are the CPUs that a GPU's
    worker has while all are at work, by GPU, as the kernel writes them; alone it has all.
    ``whole_cores`` is whether no two GPUs share a core; None: which CPUs are one core is not known.
    """

    schema: int
    id: str
    created: datetime
    profile: ProfileName
    seed: int
    label: str | None
    rounds: int
    gpus: list[str]
    cpus: dict[str, str]
    members: list[SurveyMember]
    suite: SuiteIdentity
    whole_cores: bool | None = None
    command: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None


@dataclass(frozen=True, kw_only=True)
class InterimLook:
    """What a look after a block saw: how many of the cells with numbers were known well enough."""

    block: int
    precise: int
    cells: int
    enough: bool


@dataclass(frozen=True, kw_only=True)
class Excluded:
    """Why the blocks do not try a cell: the calibration's outcome (skipped or failed) and reason."""

    outcome: Literal["skipped", "failed"]
    reason: str
