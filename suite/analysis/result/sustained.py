"""What is left of a rate when work goes on: one cell that was kept going, on one arm."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from suite.analysis.result.numbers import Estimate, Evidence
from suite.flags import Flag
from suite.model import OutcomeName

Shape = Literal["kept", "settled", "fell", "rose", "unclear"]
"""Kept: what is left lies within 5 % with its whole interval.  Settled: it fell by under 10 % within 10 s, as
a boost ends.  Unclear: it goes to and fro too much."""


class Ends(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reading of the machine's at the beginning and at the end; None: it was not told."""

    begin: float | None = None
    end: float | None = None


class Course(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rate along the way, in work a second, and what the machine told meanwhile, at instants in seconds
    from the beginning; a series that was never told is empty."""

    at_s: tuple[float, ...]
    rate: tuple[float, ...]
    clock_mhz: tuple[float | None, ...] = ()
    power_w: tuple[float | None, ...] = ()
    temperature_c: tuple[float | None, ...] = ()


class Sustained(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A cell that was to be kept going for ``planned_s`` seconds on an arm; ``what`` is its case.

    ``reason``: why there are no numbers.  ``seconds`` is how long it ran.  ``begin`` and ``end`` are its
    rates in the first two seconds and in the last ``end_s``, in ``unit`` a second, ``left`` the second over
    the first, with an interval from this one run's samples; ``lowest`` is the lowest rate in between over the
    first, of any two seconds.  Where it ``fell``, ``fell_at_s`` is when, and ``held`` says what was seen to
    hold it back from then on.  The temperature at the beginning is that of the machine at rest.
    """

    arm: str
    cell: str
    what: str
    planned_s: float
    outcome: OutcomeName
    reason: str | Evidence = ""
    unit: str = ""
    seconds: float = 0.0
    begin: float | None = None
    end: float | None = None
    end_s: float = 0.0
    left: Estimate | None = None
    shape: Shape | None = None
    lowest: float | None = None
    fell_at_s: float | None = None
    held: tuple[Evidence, ...] = ()
    clock_mhz: Ends = Ends()
    power_w: Ends = Ends()
    temperature_c: Ends = Ends()
    course: Course | None = None
    flags: tuple[Flag, ...] = ()
