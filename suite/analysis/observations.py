"""The table of observations: what was measured, one row for each campaign, arm, block and cell.

It is the spine of the analysis: `suite.analysis.compare` sets some of its rows beside others, and
``cells.csv`` is this table (docs/guide.md has its columns).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from statistics import geometric_mean

from suite.analysis.result.arms import ArmAnalysis
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult
from suite.flags import Flag, find_invalid

LARGEST = 1e100
"""No amount, size or rate is larger, and no inverse of one; a document can hold any number."""

HOUR_S = 3600.0
MILLION = 1e6

IDENTITY = ("gpu.0.uuid", "engine.machine.id")
"""Facts, hashed, that tell one machine from another that is built alike; the first that is known counts,
since in somebody else's container a machine's id lasts until it boots again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """One cell in one block of an arm; None: missing, or not known.

    ``seconds`` are per call, the mean of the invocation's samples, and ``work`` is per call, in ``unit``.
    ``machine`` is a name that stays the same while the machine's parts do.  ``suite`` is a hash of the
    measured part of the suite: only rows with the same one are of the same work.  ``flags`` are what
    speaks against the number, or stands beside it.  ``block`` is None where no block
    was begun or has a value; of a block that was begun and gave no number, ``seconds`` is None.
    """

    campaign: str
    created: datetime
    label: str | None = None
    machine: str = ""
    machine_type: str | None = None
    cpu: str | None = None
    cpus: str | None = None
    gpu: str | None = None
    suite: str
    tensorflow: str | None = None
    arm: str
    block: int | None
    cell: str
    family: str
    seconds: float | None
    work: float
    unit: str
    price_hourly: float | None = None
    currency: str | None = None
    flags: tuple[Flag, ...] = ()
    profile: str
    role: str

    @property
    def invalid(self) -> tuple[Flag, ...]:
        """Why the number is INVALID: not to be believed, and never judged."""
        return find_invalid(self.flags)

    @property
    def cost(self) -> float | None:
        """What a million units of work cost; None: it has no price."""
        seconds = self.seconds_per_work
        if seconds is None or self.price_hourly is None:
            return None
        return divide(seconds, HOUR_S / (MILLION * self.price_hourly))

    @property
    def seconds_per_work(self) -> float | None:
        """Seconds for a unit of work; None: no work is declared that makes sense."""
        return divide(self.seconds, self.work)


COLUMNS = tuple(field.name for field in fields(Observation))
"""The columns of ``cells.csv``, in their order."""

Measure = Callable[[Observation], float | None]
"""What of an observation is compared: its seconds, seconds for a unit of work, or money."""


def take_seconds(row: Observation) -> float | None:
    """Seconds per call."""
    return row.seconds


def divide(value: float | None, by: float) -> float | None:
    """A value divided; None where the quotient is not a number that could be worked with."""
    if value is None or not 1 / LARGEST < by < LARGEST:
        return None
    quotient = value / by
    return quotient if 1 / LARGEST < quotient < LARGEST else None


def select(table: Iterable[Observation], **columns: object) -> list[Observation]:
    """The rows that have these values in these columns."""
    wanted = columns.items()
    return [row for row in table if all(getattr(row, name) == value for name, value in wanted)]


def values_by_block(
    rows: Iterable[Observation], measure: Measure = take_seconds
) -> dict[int, float]:
    """The measured values of the rows of one cell on one arm, by block."""
    values = ((row.block, measure(row)) for row in rows)
    return {block: value for block, value in values if block is not None and value is not None}


def pool(rows: Iterable[Observation], instance: int) -> list[Observation]:
    """The blocks of an instance of a machine as one observation of each cell and arm: the geometric mean.

    ``instance`` takes the block's place.
    """
    groups: dict[tuple[str, str], list[Observation]] = {}
    for row in rows:
        groups.setdefault((row.cell, row.arm), []).append(row)
    pooled = []
    for group in groups.values():
        values = [row.seconds for row in group if row.seconds is not None]
        seconds = geometric_mean(values) if values else None
        pooled.append(replace(group[0], block=instance if values else None, seconds=seconds))
    return pooled


def observe(analysis: Analysis, cells: Collection[str] | None = None) -> list[Observation]:
    """The table of a campaign, or of these cells alone: cells in the plan's order, by arm, by block."""
    context = {arm: _describe_arm(analysis, about) for arm, about in analysis.arms.items()}
    table: list[Observation] = []
    for cell in analysis.cells:
        if cells is not None and cell.id not in cells:
            continue
        for arm, about in analysis.arms.items():
            result = cell.arms[arm]
            common = (flag for flag in analysis.flags if flag.where.get("arm", arm) == arm)
            flags = (*result.flags, *(flag for flag in common if flag not in result.flags))
            table += observe_cell(
                result,
                about.blocks,
                **context[arm],
                arm=arm,
                cell=cell.id,
                family=cell.scenario,
                role=cell.role,
                flags=flags,
            )
    return table


def observe_cell(
    result: ArmResult, blocks: Iterable[int], **columns: object
) -> Iterator[Observation]:
    """The rows of a cell on an arm, one for each block that was begun or has a value."""
    every: list[int | None] = [*sorted({*blocks, *result.values})]
    for block in every or [None]:
        yield Observation(
            **columns,  # type: ignore[arg-type]
            block=block,
            seconds=None if block is None else result.values.get(block),
            work=result.work.amount,
            unit=result.work.unit,
        )


def name_machine(analysis: Analysis) -> str:
    """A name for the machine that stays the same while its parts do, and tells nobody whose it is.

    A processor, how many are used, memory in GiB, GPUs; and four letters more where a GPU's hashed UUID, or
    the machine's own hash, tells machines that are built alike apart.
    """
    machine = analysis.machine
    memory = f"{machine.memory_bytes / 2**30:.0f}GiB" if machine.memory_bytes else None
    used = f"{machine.cpus_used}cpus" if machine.cpus_used else None
    parts = [machine.cpu or "unknown", used, memory, *machine.gpus]
    name = "-".join(filter(None, parts))
    identities = (
        [
            str(value)
            for arm in analysis.arms.values()
            for value in arm.facts.get(fact, ())
            if value is not None
        ]
        for fact in IDENTITY
    )
    hashes = next(filter(None, identities), [])
    joined = "/".join(sorted({name, *hashes}))
    mark = hashlib.sha256(joined.encode()).hexdigest()[:4] if hashes else ""
    plain = re.sub(r"[^a-z0-9]+", "-", name[:100].lower()).strip("-")
    return "-".join(filter(None, [plain or "unknown", mark]))


def _describe_arm(analysis: Analysis, about: ArmAnalysis) -> dict[str, object]:
    """The columns that are the same in all rows of an arm."""
    plan, machine, price = analysis.campaign, analysis.machine, analysis.price
    return {
        "campaign": plan.id,
        "created": plan.created,
        "label": plan.label,
        "machine": name_machine(analysis),
        "machine_type": _join_fact(about, "engine.machine.type"),
        "cpu": machine.cpu,
        "cpus": machine.cpus_used,
        # Of an arm on one of several GPUs its own.
        "gpu": _join_fact(about, "gpu.0.name") if about.device else "; ".join(machine.gpus) or None,
        "suite": analysis.suite.content,
        "tensorflow": _join_fact(about, "tensorflow.version"),
        "price_hourly": price.hourly if price else None,
        "currency": price.currency if price else None,
        "profile": plan.profile,
    }


def _join_fact(about: ArmAnalysis, name: str) -> str | None:
    """A fact's values, of which there are several where it changed meanwhile."""
    values: Mapping[str, None] = dict.fromkeys(str(v) for v in about.facts.get(name, ()) if v)
    return "; ".join(values) or None
