"""A cell over many campaigns: what ``make history`` tells."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field


class Point(Struct, frozen=True, kw_only=True):
    """What one campaign knows of the cell on an arm: its value in seconds with the ends of its interval.

    ``invalid`` says why it is not to be believed.  ``facts`` are what it ran on and in, by name.
    """

    campaign: str
    created: datetime
    value: float
    low: float | None
    high: float | None
    n: int
    invalid: str | None = None
    facts: Mapping[str, str | None] = field(default_factory=dict)


class Change(Struct, frozen=True, kw_only=True):
    """A level that begins with the point ``at``: times as long a call as on the level before.

    ``differs`` are the facts that are not the same at the point before: what each was, and is.
    """

    at: int
    times: float
    differs: Mapping[str, tuple[str | None, str | None]]


class Series(Struct, frozen=True, kw_only=True):
    """The cell on one machine and arm, in the order of the campaigns."""

    machine: str
    arm: str
    points: tuple[Point, ...]
    changes: tuple[Change, ...] = ()
