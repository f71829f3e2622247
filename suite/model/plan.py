"""What is going to be done, and how far it has come: the plan of a campaign."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.input_limits import LABEL, NAME, RANGES
from suite.model.arm import Arm, group_versions
from suite.model.document import CallSeconds, Filled, Seconds, SuiteIdentity

Name = Annotated[str, NAME]
Blocks = Annotated[int, RANGES["blocks"]]
Seed = Annotated[int, RANGES["seed"]]
Label = Annotated[str, LABEL]
"""What `suite.model.rules` asks of a field beyond its type."""

PLAN = "campaign.json"
"""The file in a campaign's folder that holds its plan."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """How long the campaign should take, in seconds, container time of all its invocations.

    ``before_s`` was said before anything ran, ``calibrated_s`` once K was found, and
    ``corrected_s`` after each finished block; ``actual_s`` is the container time spent so far.
    """

    before_s: Seconds
    calibrated_s: Seconds | None = None
    corrected_s: list[Seconds] = field(default_factory=list)
    actual_s: Seconds = 0.0


@dataclass(frozen=True, kw_only=True)
class Again:
    """A block that is measured again on all arms, since one arm's invocation kept another pace in it.

    ``pace`` is that invocation's time over its siblings', over all cells.  Of the block, only invocations
    from this ``repeat`` on count.
    """

    arm: str
    block: int
    pace: CallSeconds
    repeat: Annotated[int, RANGES["repeat"]]


@dataclass(frozen=True, kw_only=True)
class Sustained:
    """The cells that are kept going for so many ``seconds`` each, to see what is left of their rates.

    Each arm that is no control runs them once, as block 0, each in a process of its own.
    """

    seconds: Seconds
    cells: list[Cell]


@dataclass(frozen=True, kw_only=True)
class Campaign:
    """The plan of a campaign, fixed before its first block, and how far it has come.

    ``calls`` is K, the calls in a sample, by arm and cell, frozen by the first block.
    ``slow`` has the seconds of a call by arm and cell where it took longer there than the warm-up time.
    ``excluded`` gives by arm and cell the outcome and reason that the first block found for cells
    that no other then tries.  ``commands`` are the exact words that repeat the campaign.
    ``not_run`` says by arm why it was left out; one of the plan's, why it was refused.
    ``settings`` is what else was asked for and must stay the same when the campaign goes on: engine, cpus,
    telemetry, the type of the machine as a person states it, gpu and local_python (a UUID and a path as
    hashes), base_image, cuda_image (with its registry's digest).  ``controls`` are the ids of the cells that
    the control invocations run, none in profiles that have no controls.
    Where there are ``most_blocks``, a look after each block from the third on says which cells rest, and with
    that how many ``blocks`` there are to be; ``looks`` holds what each saw.  None: all cells are in all
    blocks.  ``again`` lists the blocks that are measured again, in the order in which that was decided.
    ``rechecks`` names the campaign of which this one measures some cells again, ``calibrated_by`` the one
    that found K for this one: itself where its first block finds it.  None: a calibration found it, as block
    0, which measured all cells and does not count; no campaign begins so any more.
    ``arms`` are the names of the arms that are compared, with the first; ``every_arm`` says what each is,
    and each of the control invocations'.  ``sustained`` are no cells that are compared (None: none).
    """

    schema: int
    id: Name
    created: datetime
    profile: ProfileName
    seed: Seed
    label: Label | None
    arms: list[str]
    blocks: Blocks
    cells: list[Cell]
    suite: SuiteIdentity
    prediction: Prediction
    warmup_s: Seconds
    measure_s: Seconds
    budget_s: Seconds
    calls: dict[str, dict[str, Annotated[int, RANGES["calls"]]]] = field(default_factory=dict)
    slow: dict[str, dict[str, CallSeconds]] = field(default_factory=dict)
    excluded: dict[str, dict[str, Excluded]] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)
    command: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    stopped: str | None = None
    controls: list[str] = field(default_factory=list)
    most_blocks: Blocks | None = None
    looks: list[InterimLook] = field(default_factory=list)
    again: list[Again] = field(default_factory=list)
    simulated: bool = False
    price: Annotated[float, RANGES["price"]] | None = None
    price_currency: str = "USD"
    calibrated_by: str | None = None
    rechecks: Name | None = None
    every_arm: list[Arm] = field(default_factory=list)
    sustained: Sustained | None = None

    @property
    def every_cell(self) -> list[Cell]:
        """The cells that are compared, and those that are kept going."""
        return [*self.cells, *(self.sustained.cells if self.sustained else ())]

    @property
    def calibration(self) -> int:
        """The block that finds K, if one does: 1, which counts as any other; or 0, a calibration."""
        return 1 if self.calibrated_by == self.id else 0

    def arm(self, name: str) -> Arm:
        """The arm of that name, one of the plan's or of its controls'.

        Raises:
            KeyError: there is none.
        """
        return {arm.name: arm for arm in self.every_arm}[name]

    def calibrating_arm(self, name: str) -> str:
        """The arm that finds K for this one: arms that are compared as equals share it."""
        arm = self.arm(name)
        if arm.control == "hidden" and name not in self.arms:
            return self.arms[0]
        if arm.of is None or arm.control == "hidden":
            return name
        return self.calibrating_arm(arm.of)

    def first_counted(self, block: int) -> int:
        """The first repeat of a block's invocations that can count."""
        return max((again.repeat for again in self.again if again.block == block), default=0)

    def resting(self, block: int) -> list[str]:
        """The cells that are not measured in a block, by the last look before it."""
        before = (look.resting for look in reversed(self.looks) if look.block < block)
        return next(before, [])

    def has_turn(self, arm: str, block: int) -> bool:  # noqa: ARG002  of an inquiry each block differs
        """Whether an arm that is compared is to run in a block."""
        return arm not in self.not_run

    @property
    def version_groups(self) -> list[tuple[str, ...]]:
        """The arms that are versions of each other, as `group_versions` has it."""
        groups = group_versions(map(self.arm, self.arms))
        return [tuple(arm.name for arm in group) for group in groups]

    @property
    def gpu_arms(self) -> list[str]:
        """Those of its arms that have a GPU."""
        return [name for name in self.arms if self.arm(name).gpu]

    def find_arm(self, *, gpu: bool) -> Arm | None:
        """The first arm with a GPU, or without, that is not a control; None: the plan has none.

        Of several GPUs it is the first: what a campaign says of causes, steps and limits is told of that one.
        """
        plain = (arm for arm in self.every_arm if arm.control is None and arm.gpu == gpu)
        return next(plain, None)


@dataclass(frozen=True, kw_only=True)
class InterimLook:
    """What a look after a block saw: how many of the cells with numbers were known well enough, and whether
    more blocks would be of no use.  The ``resting`` are in no block after it, until the next look.  Where a
    number of blocks is named later on, that is one more, at which all are awake."""

    block: int
    precise: int
    cells: int
    enough: bool
    resting: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Excluded:
    """Why later blocks do not try a cell: its outcome where K was found (skipped or failed), and reason."""

    outcome: Literal["skipped", "failed"]
    reason: Filled
