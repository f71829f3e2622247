"""How often verdicts were false in campaigns in which nothing differs: what ``docs/record.md`` is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Sameness = Literal["itself", "second build"]
"""What an image was compared with, so that every difference is false."""


class Place(Struct, frozen=True, kw_only=True, order=True):
    """Where an image was compared with what: equal places are added up.

    ``cpus`` are the logical CPUs that were used, ``gpus`` are named where the ``arm`` has one.
    """

    sameness: Sameness
    cpu: str
    cpus: str
    gpus: tuple[str, ...]
    engine: str
    arm: str


class Trial(Struct, frozen=True, kw_only=True):
    """A campaign in which nothing differs: how many cells were judged, and which were called FASTER or
    SLOWER."""

    campaign: str
    place: Place
    judged: int
    false: tuple[str, ...]


class Rate(Struct, frozen=True, kw_only=True):
    """So many ``of`` so many, and the ends of the exact 95 % CI of the share behind that."""

    seen: int
    of: int
    low: float
    high: float


class Tally(Struct, frozen=True, kw_only=True):
    """Judged cells with a false verdict, and tables (campaigns) with at least one."""

    cells: Rate
    tables: Rate


class Record(Struct, frozen=True, kw_only=True):
    """All trials: by place, together (None: there is none), and the false verdicts by file."""

    places: Mapping[Place, Tally]
    together: Tally | None
    false: Mapping[str, tuple[str, ...]]
