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
    did meanwhile (see ``suite.model.CellResult.evidence`` and the gauges of the telemetry).
    """

    arm: str
    block: int
    repeat: int
    last: bool
    document: str
    digest: str
    isolation: Isolation
    outcome: OutcomeName
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
    script, which has a process of its own."""

    cell: str
    question: str
    scripted: bool
    turns: tuple[Turn, ...]


class RunReceipt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a script: its ``number`` in the campaign, the tries that it had, and what it told.

    ``document`` is its file and ``digest`` that file's SHA-256.  ``seconds`` are wall seconds a step over
    ``steps`` steps (None: it failed, for the ``reason``), ``first_step`` those of the first; ``seen`` has by
    name what else it told (see `suite.model.CellResult.evidence`).
    """

    number: int
    arm: str
    block: int
    case: str
    document: str
    digest: str
    seconds: float | None = None
    first_step: float | None = None
    steps: int | None = None
    reason: str = ""
    seen: Mapping[str, float] = field(default_factory=dict)


class TryReceipt(Struct, frozen=True, kw_only=True):
    """A try, called ``cell`` as a cell is, with its runs and those beside them, and the pairs that its gain
    is made of: numbers of runs without and with it."""

    cell: str
    runs: tuple[RunReceipt, ...]
    pairs: tuple[tuple[int, int], ...]
