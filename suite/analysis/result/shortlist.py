"""Machines to choose from: what ``shortlist.json`` holds, and the prices that people give."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from suite.analysis.result.arms import Machine
from suite.analysis.result.numbers import Crossover, Estimate, Ratio
from suite.flags import Flag
from suite.ranges import LONGEST_NAME, RANGES

Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]

Device = Literal["cpu", "gpu"]

OLD_DAYS = 90
"""A price of more days ago is marked."""


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
    is told of.  ``known``: it is told apart from other instances.  ``labelled``: its type is the campaign's
    label.  ``old``: the price is.  ``failed`` are the codes of controls that failed, and ``invalid`` where
    nothing is to be believed; ``flags`` are what else has to be said of it.
    """

    type: str | None = None
    labelled: bool = False
    machine: Machine
    instances: tuple[tuple[str, ...], ...]
    known: bool
    offer: Offer | None = None
    old: bool = False
    failed: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()


class Claim(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is said of a machine, or of a type of machines, at one cell.

    ``seconds`` are for a unit, by device, or ``missing`` says why there are none.  ``ratio`` is the GPU's
    time over the CPU's.  Of a type each instance is one observation, and ``needed`` (in the file:
    ``instances_needed``) says how many of them would put the times and the ratio (``gpu/cpu``)
    within 5 %, by the spread that was seen.
    """

    seconds: Mapping[Device, Estimate] = field(default_factory=dict)
    missing: Mapping[Device, Flag] = field(default_factory=dict)
    ratio: Ratio | None = None
    needed: Mapping[str, int] = field(default_factory=dict, name="instances_needed")


class Entry(Claim, frozen=True, kw_only=True, omit_defaults=True):
    """A choice in one table; ``choice`` and ``ties`` are numbers of choices, from 1 on.

    ``cost`` is what a million units cost on the ``cheapest`` device, or on both where nobody can tell.
    ``rank`` counts the choices that are cheaper beyond doubt; None: there is no cost, no interval, or a
    control failed.  ``best`` (in the file: ``pareto``): none is both cheaper and faster.
    ``against`` is its cost over the first one's (Welch).
    """

    choice: int
    rank: int | None = None
    ties: tuple[int, ...] = ()
    best: bool = field(default=False, name="pareto")
    crossover: Crossover | None = None
    cheapest: tuple[Device, ...] = ()
    cost: Estimate | None = None
    against: Ratio | None = None


class Ranking(Struct, frozen=True, kw_only=True):
    """The choices by what they cost at one cell.

    Times are for a ``unit`` (an example, or a call) of so much work; ``axis`` is that of the sweep that
    the crossovers are of.
    """

    cell: str
    unit: str
    amount: float
    work: str
    axis: str | None
    entries: tuple[Entry, ...]


class Exclusion(Struct, frozen=True, kw_only=True):
    """A campaign that is not in the tables, by its number as it was named, and why."""

    run: int
    campaign: str
    flag: Flag


class Shortlist(Struct, frozen=True, kw_only=True):
    """Machines by what work costs on them; ``asked`` is the day by which a price is old, ``workload``
    what was asked for."""

    schema: int
    workload: str | None
    asked: dt.date
    choices: tuple[Choice, ...]
    rankings: tuple[Ranking, ...]
    excluded: tuple[Exclusion, ...] = field(name="aside")
