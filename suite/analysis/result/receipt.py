"""The evidence for one cell's numbers, or one try's: what each invocation or run measured, where, and what it
saw meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from suite.analysis.result.cells import SteadyClass
from suite.model import Isolation, OutcomeName


class Turn(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One invocation's part in a cell.

    ``document`` is its file and ``digest`` that file's SHA-256.  ``warmup`` and ``samples`` are seconds
    per call; of these those from ``start`` on are steady, and ``value`` is their mean.  ``on`` counts nodes
    by device, ``elsewhere`` names what was not on the cell's own.  ``seen`` has by name what the machine
    did meanwhile (see ``suite.model.CellResult.evidence`` and the gauges of the telemetry).  ``case`` is the
    cell's: of a run of a script, the tries that it had.
    """

    arm: str
    block: int
    repeat: int
    last: bool
    document: str
    digest: str
    isolation: Isolation
    outcome: OutcomeName
    case: str = ""
    started: datetime | None = None
    warmup: tuple[float, ...] = ()
    samples: tuple[float, ...] = ()
    start: int = 0
    steady: SteadyClass | None = None
    value: float | None = None
    calls: int | None = None
    on: Mapping[str, int] = field(default_factory=dict)
    elsewhere: tuple[str, ...] = ()
    check: str | None = None
    seen: Mapping[str, float] = field(default_factory=dict)


class Receipt(Struct, frozen=True, kw_only=True):
    """A cell with its question, and its turns in the order of arms and blocks; ``scripted``: it is a
    script, which has a process of its own; ``cpus``: those that its process could use, where they were not
    all."""

    cell: str
    question: str
    scripted: bool
    cpus: str
    turns: tuple[Turn, ...]


class TryReceipt(Struct, frozen=True, kw_only=True):
    """A try, called ``cell`` as a cell is.

    ``runs`` are by their numbers its own and those beside them, ``pairs`` the numbers of those that its gain
    is made of, the run without it first.
    """

    cell: str
    runs: Mapping[int, Turn]
    pairs: tuple[tuple[int, int], ...]
