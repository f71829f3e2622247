"""Several campaigns beside each other: what ``compare.json`` holds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from suite.analysis.result.arms import Machine
from suite.analysis.result.campaign import Analysis, Plan
from suite.analysis.result.cells import Comparison, tell_ratio, tell_verdict
from suite.analysis.result.numbers import Crossover, Estimate, Ratio, Verdict
from suite.flags import Flag
from suite.input_limits import LONGEST_NAME, RANGES

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]

Device = Literal["cpu", "gpu"]

Unpriced = Literal["types", "contradiction", "currency"]

OLD_DAYS = 90
"""A price of more days ago is marked."""


class Column(Struct, frozen=True, kw_only=True):
    """One arm of one campaign; ``run`` counts from 1 in the order in which they were named."""

    run: int
    arm: str

    @property
    def name(self) -> str:
        """``2:cuda``: the arm ``cuda`` of the second campaign."""
        return f"{self.run}:{self.arm}"


class Tally(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The cells of work of a comparison by their verdicts, the largest difference first.

    ``unjudged`` are INVALID, or have no verdict.  ``mean`` is the geometric mean of the ratios of the
    ``averaged``, each of which counts once, and None where there are under two; its interval is over blocks.
    Averaged are those with a sound ratio that has an interval (where none has one, with a sound ratio).
    """

    faster: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    equivalent: tuple[str, ...] = ()
    inconclusive: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    averaged: tuple[str, ...] = ()
    mean: Ratio | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """All of them."""
        return (
            *self.faster,
            *self.slower,
            *self.equivalent,
            *self.inconclusive,
            *self.unjudged,
        )


class Pair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One comparison: the times of ``other`` over those of ``base``, by cell.

    ``margin`` is what a difference must exceed: the largest of 2 % and the noise floors of the campaigns
    that it rests on; ``floor_known`` is whether all of them have one.  Verdicts are about ``other``.
    ``lost`` are, where a bound was asked about, the cells of work with sound numbers in the base and none in
    the other, too few to be judged, or not of the same work; ``differing``, where cells were measured again,
    those that do not reproduce.  ``flags`` stand beside every ratio.
    ``distance_median`` and ``distance_p95`` are of |ratio - 1| over the sound cells.  ``work`` has wins and
    losses; None where cells were measured again.
    """

    margin: float
    cells: Mapping[str, Comparison]
    base: Column
    other: Column
    floor_known: bool
    lost: tuple[str, ...] = ()
    differing: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    distance_median: float | None = None
    distance_p95: float | None = None
    work: Tally | None = None

    @property
    def name(self) -> str:
        """``2:cuda against 1:cuda``."""
        return f"{self.other.name} against {self.base.name}"

    @property
    def ratios(self) -> dict[str, Ratio | Flag]:
        """By cell its ratio, or the flag that says why there is none."""
        return {name: tell_ratio(row) for name, row in self.cells.items()}

    @property
    def verdicts(self) -> dict[str, Verdict | Flag]:
        """By cell its verdict, or the flag that says why there is none."""
        return {name: tell_verdict(row) for name, row in self.cells.items()}

    @property
    def sound(self) -> dict[str, Ratio]:
        """The ratios of cells that are not INVALID on any side."""
        return {n: row.ratio for n, row in self.cells.items() if row.ratio and not row.invalid}

    @property
    def interleaved(self) -> bool:
        """Whether both arms are of one campaign, so that ratios are paired by block; else they are
        Welch's, and drift between the campaigns is not in their intervals."""
        return self.base.run == self.other.run


class Offer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a type of machine costs an hour, on which terms; who says so, and of which day that is."""

    type: Name
    terms: Name = "on-demand"
    hourly: Annotated[float, Meta(gt=RANGES["price"].least, le=RANGES["price"].most)]
    currency: Annotated[str, Meta(pattern="^[A-Z]{3}$", max_length=3)]
    source: Name
    date: dt.date


class Choice(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A machine at a price.

    ``instances`` are the ids of its campaigns by instance: three or more are of a type, which is then what
    the row is about.  ``known``: it is told apart from other instances.  ``types`` are what its documents,
    or else its campaigns' labels (``labelled``), call its type: one, unless they contradict each other.
    ``old``: the price is.  ``unpriced`` says why it has none though there is one: its campaigns contradict
    each other about its type or its price, or this is in another currency than the prices that were given.
    ``failed`` are the codes of controls that failed, and ``invalid`` where nothing is to be believed;
    ``flags`` are what else has to be said of it.  ``wins``, ``losses`` and ``ties`` are the cells of the
    rankings in which it is cheaper than the baseline beyond doubt (where none has a price: faster), costlier,
    or neither; a cell in which one of both has no rank is in none.
    """

    types: tuple[str, ...] = ()
    labelled: bool = False
    machine: Machine
    instances: tuple[tuple[str, ...], ...]
    known: bool
    offer: Offer | None = None
    old: bool = False
    unpriced: Unpriced | None = None
    failed: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    wins: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A choice in one table; ``choice`` and ``ties`` are numbers of choices, from 1 on.

    ``seconds`` are for a unit of work, by device, or ``missing`` says why there are none.  ``ratio`` is the
    GPU's time over the CPU's.  ``cost`` is what a million units cost on the ``cheapest`` device, or on both
    where nobody can tell.  ``rank`` counts the choices that are cheaper (of a table without any price:
    faster) beyond doubt; None: there is no number to rank by, no interval, or a control failed.  ``best``
    (in the file: ``pareto``): none is cheaper beyond doubt and as fast within the margin.
    Of a type each instance is one observation, and ``needed`` (in
    the file: ``instances_needed``) says how many of them would put the times and the ratio (``gpu/cpu``)
    within 5 %, by their spread.
    """

    choice: int
    seconds: Mapping[Device, Estimate] = field(default_factory=dict)
    missing: Mapping[Device, Flag] = field(default_factory=dict)
    ratio: Ratio | None = None
    needed: Mapping[str, int] = field(default_factory=dict, name="instances_needed")
    rank: int | None = None
    ties: tuple[int, ...] = ()
    best: bool = field(default=False, name="pareto")
    crossover: Crossover | None = None
    cheapest: tuple[Device, ...] = ()
    cost: Estimate | None = None

    @property
    def fastest(self) -> Estimate | None:
        """The time on the faster device; None: there is none."""
        return min(self.seconds.values(), key=lambda time: time.value, default=None)


class Ranking(Struct, frozen=True, kw_only=True):
    """The choices by what they cost at one cell; ``priced``: some have a price, else they go by time.

    Times are for a ``unit`` (an example, or a call) of so much work; ``axis`` is that of the sweep that
    the crossovers are of.
    """

    cell: str
    unit: str
    amount: float
    work: str
    axis: str | None
    priced: bool
    entries: tuple[Entry, ...]


class Versus(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Several campaigns side by side, with the noise floor of each (None: not known) and the controls that
    failed, by campaign.

    ``rows`` says of what the tables are: of cells, with the ``pairs`` of arms that are compared; or of
    machines (and types of machines), with the ``choices`` and their ``rankings``.  ``bound`` is how much
    slower cells may be, a share, where somebody asked, and ``lacking`` the columns that are then missing.
    ``copied`` says, by campaign, why its values are another's as well.
    ``seed`` is what drew the cells where the second campaign measured some of the first once more.
    ``excluded`` (in the file: ``aside``) say why campaigns count for no machine; ``where`` has each one's
    number as it was named, ``run``, and its id, ``campaign``.  ``asked`` is the day by which a price is
    old, ``listed`` whether a file of prices was given, ``workload`` what was asked for.  ``baseline`` is the
    number of the choice whose campaign was named first, of those that were admitted.
    """

    schema: int
    rows: Literal["cell", "machine", "type"]
    campaigns: tuple[Plan, ...]
    noise_floors: tuple[float | None, ...]
    failed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()
    bound: float | None = None
    lacking: tuple[str, ...] = ()
    copied: Mapping[str, Flag] = field(default_factory=dict)
    seed: str | None = None
    asked: dt.date | None = None
    listed: bool = False
    workload: str | None = None
    choices: tuple[Choice, ...] = ()
    baseline: int | None = None
    rankings: tuple[Ranking, ...] = ()
    excluded: tuple[Flag, ...] = field(default=(), name="aside")

    def pick(self, answer: str) -> list[tuple[Pair, str, Comparison]]:
        """The cells of all pairs with this answer to ``bound``, the largest ratio first."""
        answered = [
            (compared.ratio.value, pair, cell, compared)
            for pair in self.pairs
            for cell, compared in pair.cells.items()
            if compared.ratio and compared.bound and compared.bound.answer == answer
        ]
        return [row[1:] for row in sorted(answered, key=lambda row: -row[0])]

    @property
    def holds(self) -> bool:
        """Whether nothing that was asked for failed.

        What was measured again reproduces.  No cell is slower by over the bound, some can be judged, and none
        that the base has is missing.  In both, no control failed and no values are another campaign's.  Of
        machines, one is left.
        """
        if self.rows != "cell":
            return bool(self.choices)
        if self.seed is None and self.bound is None:
            return True
        if self.failed or self.copied or any(pair.differing for pair in self.pairs):
            return False
        if self.bound is None:
            return True
        judged = [*self.pick("passed"), *self.pick("undecided")]
        missing = self.lacking or any(pair.lost for pair in self.pairs)
        return bool(judged) and not missing and not self.pick("slower")


def list_failed(analyses: Iterable[Analysis]) -> dict[str, tuple[str, ...]]:
    """By campaign the controls that failed, of those where one did."""
    failed = {analysis.campaign.id: analysis.controls.failed for analysis in analyses}
    return {name: codes for name, codes in failed.items() if codes}
