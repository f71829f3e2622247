"""Why a script is slow, and what would help: all that ``why.json`` holds, and all that is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from suite.analysis.result.arms import Machine
from suite.analysis.result.limits import Price
from suite.analysis.result.numbers import Estimate, Evidence
from suite.flags import Flag
from suite.model import SuiteIdentity
from suite.model.why import Cause, Kind, Training

SCHEMA = 1
"""The number of ``why.json``, which has a history of its own."""

Standing = Literal["named", "nothing", "undecided", "noisy", "failed", "simulated"]
"""What came out for an arm: a cause is named; nothing that was tried helps; not all could be tried or
decided; the machine was too noisy to say; the script did not run there; the GPU's driver is a stand-in, so
that no time there is one."""

TryStanding = Literal[
    "helps",
    "otherwise",
    "no gain",
    "undecided",
    "superseded",
    "failed",
    "no effect",
    "withdrawn",
    "not tried",
]
"""What came out for a try: its gain's interval lies above 10 %; it trains otherwise and is less than
twice as fast, so that it was not looked at again; it gives less, or nothing was seen of it;
that is open; it seemed to help, and was tried again on top of what helped more; its runs failed; the change
never took effect; it helps and trains otherwise than it promised; it had no run."""


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fix, which is a change to write: its ``text`` at ``line``, what it gives, and what it makes of the
    training; or a ceiling, which is what could be given at most: ``text`` says what was taken away, and
    nothing is said of the training, since it is never offered as a change.

    ``name`` is the try's.  ``gain`` is the time before over the time after, its simultaneous interval, by so
    many alternated pairs of runs.  ``needs`` is what it costs besides.
    """

    name: str
    text: str
    gain: Estimate
    training: Training | None = None
    line: int | None = None
    needs: str = ""


class Named(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cause that was found, by the best of what was tried of it.

    ``share`` is of the unchanged script's time, 3 % at least.  ``on`` names the fixes that were made before:
    it was found on top of them.  ``fix`` keeps the training where any such helps about as much; ``ceilings``
    are those of this cause, the tightest first.
    """

    cause: Cause
    arm: str
    line: int | None
    share: float
    fix: Change | None = None
    ceilings: tuple[Change, ...] = ()
    on: tuple[str, ...] = ()


class Tried(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change that applies to the script on an arm, and what came of it.

    ``on`` names the fixes that were made in both runs of a pair; a try can be there several times, on others.
    ``gain`` is by wall time, its simultaneous interval over all that was tried and its ``n`` pairs (None: no
    pair); ``cpu_gain`` by CPU seconds of the process.  ``applied`` is how often the change took effect in a
    run.  ``training`` is what it made of the training (None: not seen).
    ``reason`` is in the words of whoever gave it up: a run's, or the plan's.
    """

    arm: str
    name: str
    cause: Cause
    kind: Kind
    text: str
    standing: TryStanding
    line: int | None = None
    needs: str = ""
    on: tuple[str, ...] = ()
    gain: Estimate | None = None
    cpu_gain: float | None = None
    applied: int = 0
    training: Training | None = None
    reason: str = ""


class Together(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The best fixes of an arm made at once, against the unchanged script; ``step`` is its seconds then.

    ``training`` is what that which changes it most makes of it (None: not seen of one of them).
    """

    tries: tuple[str, ...]
    gain: Estimate
    step: float
    training: Training | None = None


class ArmSpeed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The unchanged script on one arm, in seconds, and how its questions ended there.

    ``step`` is a training step within the window, the steps ``window`` (from, to; None: no base run came
    through), with its interval where there were three runs; ``epoch_s`` and ``epoch_steps`` are of a whole
    epoch (None: the script has none).  ``first_step_s`` and ``setup_s`` (from its first line to its first
    step) come besides.  ``clock`` is what progress was counted by: ``fit``, ``train_on_batch``, ``function``
    or ``tape``, at ``line``.  ``batch`` is in examples.  ``runs`` and ``spent_s`` are all of this arm's.
    ``compared_after`` so many steps weights were compared at the latest (None: never).
    ``unknown`` is the share of the time that nothing explains that was found.  ``repeats`` is by what factor
    the same run's wall time differed.  ``epoch_cost`` is in the price's currency.  ``reason`` says why
    it failed, or ``unproven`` why no number here is proven to be the GPU's.
    """

    standing: Standing
    gpu: bool
    tensorflow: str | None = None
    step: Estimate | None = None
    epoch_s: float | None = None
    epoch_steps: int | None = None
    epoch_cost: float | None = None
    first_step_s: float | None = None
    setup_s: float | None = None
    window: tuple[int, int] | None = None
    clock: str = ""
    line: int | None = None
    batch: int | None = None
    runs: int = 0
    spent_s: float = 0.0
    compared_after: int | None = None
    unknown: float | None = None
    repeats: float | None = None
    notes: tuple[str, ...] = ()
    reason: str = ""
    unproven: Evidence | None = None


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a script is slow on each arm, and what would help.

    ``causes`` hold the heaviest first, of all arms; empty where nothing was found.  ``tried`` is all that
    applies to the script, by arm in the order in which it was tried; ``together`` is by arm.  ``ratios`` are
    a step's time on an arm over the first arm's.  ``by_batch`` holds the ratio of the GPU's time over the
    CPU's by examples a step, where both arms had them, and ``gpu_wins_from`` is the batch from which on the
    GPU is the faster one (None: not known).
    ``hash`` is the script's SHA-256, ``text`` the script where it was to be included.
    ``flags`` are those that stand over every table.
    """

    schema: int
    suite: SuiteIdentity
    analysed_by: str
    campaign: str
    folder: str
    created: datetime
    command: str
    budget_s: float
    script: str
    hash: str
    arguments: tuple[str, ...] = ()
    text: str | None = None
    machine: Machine
    flags: tuple[Flag, ...] = ()
    arms: Mapping[str, ArmSpeed]
    causes: tuple[Named, ...]
    tried: tuple[Tried, ...]
    together: Mapping[str, Together]
    ratios: Mapping[str, Estimate] = field(default_factory=dict)
    by_batch: Mapping[int, Estimate] = field(default_factory=dict)
    gpu_wins_from: int | None = None
    price: Price | None = None
    stopped: str | None = None

    @property
    def troubled(self) -> bool:
        """Whether the script failed on an arm."""
        return any(speed.standing == "failed" for speed in self.arms.values())

    def find_causes(self, arm: str) -> list[Named]:
        """The causes of one arm, the heaviest first."""
        return [cause for cause in self.causes if cause.arm == arm]
