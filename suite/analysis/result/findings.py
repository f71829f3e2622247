"""What explains the numbers: findings, causes, and the steps from a script to its fair number and on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from suite.analysis.result.limits import Band
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

PartName = Literal["input", "transfer", "dispatch", "compute"]

PARTS: tuple[PartName, ...] = ("input", "transfer", "dispatch", "compute")

NEAR = 0.10
"""A step that takes at most so much longer than one of its parts alone takes as long as the part."""

Tag = Literal[
    "best",
    "published",
    "expected",
    "use",
    "of-peak",
    "of-roofline",
    "step",
    "wakes",
    "part",
    "pipeline",
    "fed",
    "feeding",
    "break-even",
    "cost",
    "price-ratio",
    "change",
    "gain",
    "gap",
    "gone",
    "posted",
]


Gap = Literal["wrong-winner", "invented", "unjudged", "off-by", "alike"]
Repaid = Literal["after", "at once", "never", "not shown"]
Fed = Literal["from", "not here", "undecided"]
Shown = Literal["faster", "slower", ""]
Meaning = Literal[Shown, Band, Gap, Repaid, Fed, "input", "compute", "both", "unexplained"]
"""What a finding means, by its tag; empty: nothing is shown, or there is nothing to decide."""


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that was found out about a cell on an arm: a row of the table of findings.

    ``tag`` says what it is, ``of`` what of that; ``value`` is in ``unit`` (none for ratios of times), and
    ``share`` is 0 to 1.  Both None: not known, and the ``evidence`` says why.  ``at`` is the cell that it
    stands beside, ``against`` the arm, ``beside`` the number.  ``provisional``: no verdict stands behind it.
    By their tags:

    - ``best``: the best rate at a precision (``of``: ``fp32 products``, ``memory``), its share of the
      theoretical peak; ``verdict`` is the kindest band among those ``published``, whose shares are of
      the figure that the evidence names, at the cell of the most similar size.
    - ``expected``: the rate of products, the memory or a copy (``of``: ``copy to the device``) beside what
      such a machine should give: the lowest and highest figure and their sources, the rate as a share of
      the low end (which can be over 1), and the band; empty: unknown, and a second evidence says why.
    - ``use``: a cell's rate as a share of the arm's best at its precision (``at``); ``of-peak``: of the
      published peak; ``of-roofline``: of the smaller of the best rate and the memory's bandwidth times its
      operations a byte (Williams, Waterman and Patterson 2009).
    - ``step``: seconds of a training step; ``part``: what a part of it takes, and its share; one that
      nobody can tell is in another one or in the rest, which can be negative by noise.
    - ``wakes``: seconds for handing over to a thread and back (``at``), where that is most of a call of a
      function, and its share of one.
    - ``pipeline``: seconds a step ``of`` a pipeline and the model behind it, each alone and together.  The
      share is that of the shorter one that runs behind the longer one, the verdict what the step waits for.
    - ``fed``: seconds a step ``of`` a pipeline and the model behind it on ``beside`` CPUs, each alone and
      together; and the ``ratio`` of both together to the step alone, with an interval that holds with those
      of all other numbers of CPUs.  Its share is what a step loses by its pipeline, and the verdict
      ``input`` (bound), ``compute`` (not), or none.
    - ``feeding``: from how many CPUs on a step is not input-bound: its value is enough, and the low end of
      that is shown to be too few (0: none is).
    - ``break-even``: after how many steps the GPU's longer first call is amortized; ``beside`` it what
      each step saves, in seconds (negative: loses).
    - ``cost``: what a million steps or examples (``of``) cost; ``price-ratio``: the GPU is cheaper as long as
      a machine with it costs less than so many times one with the CPU alone.
    - ``gain``: how many times less time a unit of work takes ``at`` another cell; ``change``: the same of a
      change that whoever writes the script can make.  Its evidence: the change, where the gain is, what the
      change costs, in how many of the pairs it is shown to be faster, and in how many slower.
    - ``gap``: a script's ratio of two places, the fair one ``beside`` it; against the same arm: against the
      CPU beside the GPU.  Its second evidence are the kinds of the changes between the two.  ``gone``: the
      share of the gap between them that changes make beyond doubt.
    - ``posted``: seconds a step of a script (``of``) in an epoch once warm, and ``beside`` it those of all
      the epochs that others made: of its first one, and that one so many times.
    """

    tag: Tag
    arm: str
    cell: str
    of: str = ""
    at: str = ""
    against: str = ""
    value: Estimate | None = None
    unit: str = ""
    beside: Estimate | None = None
    share: float | None = None
    verdict: Meaning = ""
    provisional: bool = False
    evidence: tuple[Evidence, ...] = ()

    @property
    def number(self) -> Estimate:
        """The value of a finding that always has one.

        Raises:
            ValueError: it is not known.
        """
        if self.value is None:
            raise ValueError(f"{self.tag} of {self.cell} on {self.arm} has no value")
        return self.value


class Cause(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a cell is slow: the rule, its evidence in numbers, and the gains measured for its remedies.

    ``gain`` is that of a change that keeps the results, ``otherwise`` that of one that changes the training;
    a change of what is timed gains nothing.

    ``seconds`` is what it takes a call, of what the GPU loses; ``share`` is the part of that which it
    explains, and the shares of a cell add up to 1 at most; None: not measured.  ``unknown`` is what no
    other explains.
    ``provisional``: the cell has no verdict, only a ratio that says so.
    """

    rule: RuleName
    confirmed: bool
    provisional: bool
    evidence: tuple[Evidence, ...]
    gain: Finding | None = None
    otherwise: Finding | None = None
    seconds: Estimate | None = None
    share: float | None = None


class Standing(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How the GPU stands against the CPU in a cell that needs an explanation.

    ``loses``: the GPU is the slower one; else it wins or nobody can tell, but reaches only ``use``
    of its own best rate (None: there is no rate to compare).  ``winner`` is the nearest variant of the same
    work at which the GPU wins; without one, the nearest larger size at which it does; ``winner_otherwise``:
    going there changes the training.  ``hopeless``: why it loses is known, and the CPU is the right device:
    the GPU wins at larger sizes alone, which are other work (``winner``), or it loses at every variant that
    should help it (larger, with fewer calls, or a script's last stage), of which one at least was measured.
    ``untried``: where it wins at no variant, the axes along which nothing larger was measured.
    ``provisional``: the cell has no verdict, only a ratio.  ``open``: by a sequential rule it is not yet
    beyond doubt which cause is the main one.
    ``lost`` are the seconds a call to explain: beyond the CPU's time, or, where the GPU does not lose, beyond
    that of the same work at its own best rate.
    """

    ratio: Ratio
    lost: Estimate | None = None
    loses: bool
    provisional: bool
    use: float | None = None
    winner: str | None = None
    winner_otherwise: bool = False
    hopeless: bool
    open: bool = False
    untried: tuple[str, ...] = ()


class Step(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A measured stage: seconds a unit, and how many times less that is than at the stage before.

    ``changes`` are all changes since the stage before that was measured, ``rules`` their causes, and
    ``effects`` their kinds: several where nobody can tell what each kind makes.  ``factor`` is None at the
    first, which has no kind.
    """

    cell: str
    changes: tuple[str, ...]
    rules: tuple[Removed, ...]
    value: Estimate
    factor: Ratio | None = None
    effects: tuple[Effect, ...] = ()


class Total(Struct, frozen=True, kw_only=True):
    """What all steps of a waterfall make that are of the same kind, or of the same kinds taken together."""

    effects: tuple[Effect, ...]
    factor: Ratio


class Spot(Struct, frozen=True, kw_only=True):
    """Where a waterfall was measured; ``pinned``: the work was on the CPU beside a visible GPU."""

    arm: str
    pinned: bool


class Waterfall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A script that people ask about in one place, times given a ``unit`` (``by_call``: a call).

    ``fixed`` are the values of its own axes; ``factor`` is what the whole way takes away, and ``totals``
    what each kind of its changes does.  ``fair`` is the cell of the fair number: of the step that ends the
    changes of what is timed, as long as none before it changes the training; empty: it was not measured.
    ``posted``: its first step is the script itself, in a fresh process; or the first of the stages behind it.
    """

    name: str
    title: str
    unit: str
    by_call: bool
    fixed: Mapping[str, Param]
    spot: Spot
    steps: tuple[Step, ...]
    factor: Ratio
    totals: tuple[Total, ...] = ()
    fair: str = ""
    posted: bool = False

    @property
    def off(self) -> Ratio | None:
        """How many times too long the script's timing is; None: nobody can tell it from what else changed."""
        timing = [total for total in self.totals if "timing" in total.effects]
        alone = len(timing) == 1 and timing[0].effects == ("timing",)
        return timing[0].factor if self.fair and alone else None


class Elsewhere(Struct, frozen=True, kw_only=True):
    """What somebody published of a script on another machine: seconds a step, and of so many ``epochs``."""

    script: str
    machine: str
    software: str
    epochs: int
    step_s: float
    whole_s: float
    source: str
    date: str
