"""What a campaign knows of its cells, on every arm and between the arms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, field

from suite.analysis.result.findings import Cause, Standing
from suite.analysis.result.numbers import Estimate, Ratio, Verdict
from suite.cells.cell import Param
from suite.cells.traits import Dispatch, Precision, Role
from suite.flags import Flag, find_invalid, pick
from suite.model import OutcomeName

WRONG = "wrong result:"
"""What the worker's reason begins with where a check refused a result."""

OVER_BUDGET = "budget"
"""What is in it where a call takes longer than the profile has for it."""

SteadyClass = Literal["flat", "warmup", "slowdown", "unsteady", "too few"]


class Amount(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The work of a call, as it was measured; ``bytes`` is what it moves, where that is its work."""

    amount: float
    unit: str
    bytes: float | None = None


class Outliers(Struct, frozen=True, kw_only=True):
    """How many values lie beyond Tukey's inner and outer fences; ``n`` values in all."""

    n: int
    mild: int
    far: int


class Checked(Struct, frozen=True, kw_only=True):
    """The ends of what the invocations' checks computed, and the widest tolerance among them."""

    low: float
    high: float
    tolerance: float


class ArmResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a campaign knows of one cell on one arm.

    ``value`` is in seconds per call, with the ends of its 95 % CI; where one is null, a flag says
    why.  ``rate`` is the work a second.  ``first_call`` is the cell's cold first call in seconds, never
    pooled with the samples.  ``flags`` (in the file: ``notes``) speak against the number or stand beside
    it.  ``values`` are the invocations that count, by block; ``steady`` counts them by the class of their
    series.  ``calls`` are the calls in a sample, ``on_gpu`` whether some work was seen on a GPU, and
    ``mean_power_w`` the GPU's power while the cell ran; ``peak_memory_bytes`` is the most of the GPU's memory
    that TensorFlow had in use in any invocation.
    """

    outcome: OutcomeName
    value: float | None
    low: float | None
    high: float | None
    n: int
    unit: str
    work: Amount
    rate: float | None = None
    first_call: Estimate | None = None
    flags: tuple[Flag, ...] = field(default=(), name="notes")
    values: Mapping[int, float] = field(default_factory=dict)
    steady: Mapping[SteadyClass, int] = field(default_factory=dict)
    outliers: Outliers | None = None
    calls: tuple[int, ...] = ()
    check: Checked | None = None
    on_gpu: bool = False
    mean_power_w: float | None = None
    peak_memory_bytes: int | float | None = None

    @property
    def estimate(self) -> Estimate | None:
        """The value with its interval; None: there is none."""
        if self.value is None:
            return None
        return Estimate(value=self.value, low=self.low, high=self.high, n=self.n)

    @property
    def invalid(self) -> tuple[Flag, ...]:
        """Why the number is INVALID: not to be believed, and never judged."""
        return find_invalid(self.flags)

    @property
    def is_wrong(self) -> bool:
        """Whether there is no number because a check refused the result."""
        return lacks_by(self.flags, WRONG)


def lacks_by(flags: Iterable[Flag], reason: str) -> bool:
    """Whether flags say that there is no number for this ``reason``, whose words those of it are."""
    missing = pick(flags, "missing")
    return any(reason in str(value) for flag in missing for value in flag.values.values())


Answer = Literal["slower", "passed", "undecided"]


class Bound(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a cell is slower by more than it may be: shown to be, shown not to be, or undecided.

    ``limit`` is what it has to exceed to be called slower, a share: the bound, or what the campaigns' noise
    makes where that is more; ``p`` the adjusted p-value of its being no slower than that.  An undecided one
    would be decided by so many ``blocks`` in all if these are like those (None: by no reasonable number).
    """

    answer: Answer
    p: float = field(name="p_holm")
    limit: float
    blocks: int | None = None


class Comparison(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An arm's time of a cell over another's, and what that means; where one is null, a flag says why.

    ``beside`` are flags that stand beside the ratio, ``invalid`` those for which a side is not to be
    believed.  ``bound`` is there where somebody asked how much slower it may be.
    """

    ratio: Ratio | None
    verdict: Verdict | None
    no_ratio: Flag | None = None
    no_verdict: Flag | None = None
    beside: tuple[Flag, ...] = ()
    invalid: tuple[Flag, ...] = ()
    bound: Bound | None = None


def set_down(
    ratio: Ratio | Flag,
    verdict: Verdict | Flag,
    *,
    beside: tuple[Flag, ...] = (),
    invalid: tuple[Flag, ...] = (),
) -> Comparison:
    """A comparison of what there is, or of why there is none."""
    return Comparison(
        ratio=ratio if isinstance(ratio, Ratio) else None,
        no_ratio=ratio if isinstance(ratio, Flag) else None,
        verdict=verdict if isinstance(verdict, Verdict) else None,
        no_verdict=verdict if isinstance(verdict, Flag) else None,
        beside=beside,
        invalid=invalid,
    )


class CellAnalysis(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One cell of the plan, in the plan's order, by arm.

    ``ratio`` and ``verdict`` are those of the first of the ``comparisons``, which hold by arm, the first
    one excepted, its time over the first arm's.  ``gpus`` hold the time of an arm on one of several GPUs
    over that of its ``first_gpu`` (see `ArmAnalysis`).
    ``compute`` are cells that do its computing alone,
    ``staged`` is whether it is a stage of a script that people ask about.  Where the GPU loses, or wastes
    most of itself, ``standing`` says how, and ``causes`` why, the heaviest first.
    """

    id: str
    scenario: str
    case: str
    params: Mapping[str, Param]
    role: Role
    kind: str
    precision: Precision
    dispatch: Dispatch | None = None
    one_shot: bool = False
    on_cpu: bool = False
    staged: bool = False
    compute: tuple[str, ...] = ()
    arms: Mapping[str, ArmResult]
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    verdict: str | None
    comparisons: Mapping[str, Comparison]
    gpus: Mapping[str, Comparison] = field(default_factory=dict)
    causes: tuple[Cause, ...]
    standing: Standing | None = None

    @property
    def lost(self) -> bool:
        """Whether the GPU loses it by a verdict."""
        return bool(self.standing and self.standing.loses and not self.standing.provisional)

    @property
    def ratios(self) -> dict[str, Ratio | Flag]:
        """By arm its ratio, or the flag that says why there is none."""
        return {arm: tell_ratio(comparison) for arm, comparison in self.comparisons.items()}

    @property
    def verdicts(self) -> dict[str, Verdict | Flag]:
        """By arm its verdict, or the flag that says why there is none."""
        return {arm: tell_verdict(comparison) for arm, comparison in self.comparisons.items()}


def tell_ratio(comparison: Comparison) -> Ratio | Flag:
    """The ratio, or why there is none."""
    return comparison.ratio or comparison.no_ratio or _demand()


def tell_verdict(comparison: Comparison) -> Verdict | Flag:
    """The verdict, or why there is none."""
    return comparison.verdict or comparison.no_verdict or _demand()


def _demand() -> Flag:
    raise ValueError("a comparison has neither a number nor a reason")
