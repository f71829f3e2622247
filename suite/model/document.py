"""What an invocation leaves behind: its document, the cells' outcomes, the containers and what was seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from suite.cells.cell import Cell, Param, Work
from suite.cells.traits import ProfileName
from suite.input_limits import FILLED, RANGES

Scalar = str | int | float | bool | None
"""The value of one fact; ``None`` is "looked for and not there"."""

Seconds = Annotated[float, RANGES["seconds"]]
CallSeconds = Annotated[float, RANGES["call"]]
Bytes = Annotated[int, RANGES["bytes"]]
Filled = Annotated[str, FILLED]
"""What `suite.model.rules` asks of a field beyond its type."""

OutcomeName = Literal["measured", "skipped", "failed", "pending"]
InvocationStatus = Literal["running", "complete", "interrupted"]
Isolation = Literal["container", "none", "unseen"]
"""What the worker ran in: a container of ours, nothing at all, or what somebody else had started, of which
the facts tell what could be seen from within."""


NOT_FROM_LOCK = "not from the lock"
"""Stands for an image's lock where somebody else chose its packages."""

AT_END, FINE = "gpu.at_end", "fine"
"""The fact that says how the GPU was when the last cell had been measured, and what is well."""

SIMULATED = "gpu.simulated"
"""The fact that the driver is a stand-in of our tests: no number on such a GPU is real."""

FIRST_CALL = "first call"
"""The warm-up of a cell whose calls are slow: its first one, whose seconds are booked as warming up."""

CACHE = "cuda.cache"
"""Before ``at_start`` and ``at_end``: the facts that say what CUDA's compile cache held then, in
``files`` and ``bytes``."""


def name_files(arm: str) -> str:
    """What an arm is called in names of files, images and locks: ``cuda-1`` of ``cuda:1``, ``cpu-2.20`` of
    ``cpu@2.20``, since not every file system takes a colon and no name of an image an ``@``."""
    return arm.replace(":", "-").replace("@", "-")


BILLS = "sbom"
"""The folder in a campaign's that holds its images' bills of materials."""


def name_bill(image: str) -> str:
    """What the bill of an image is called in that folder."""
    return f"{name_files(image)}.cdx.json"


def name_invocation(arm: str, block: int, repeat: int = 0) -> str:
    """What the files of an invocation are called: ``cpu-01``; ``cpu-03-r1`` for its first repeat."""
    return f"{name_files(arm)}-{block:02d}" + (f"-r{repeat}" if repeat else "")


def document_name(arm: str, block: int, repeat: int = 0) -> str:
    """The file of an invocation's document: ``cpu-01.json``."""
    return name_invocation(arm, block, repeat) + ".json"


@dataclass(frozen=True, kw_only=True)
class Check:
    """What was verified of a cell's result: in words, and as a number that arms can be compared by.

    ``value`` is the same on every arm within the relative ``tolerance``; ``None`` where the check
    has no such number.  ``brief``: the cheaper one that stands for it once it has held.
    """

    what: str
    value: float | None = None
    tolerance: Annotated[float, RANGES["tolerance"]] | None = None
    brief: bool = False


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """What came of one cell in one invocation: raw samples, or the reason why there are none.

    ``samples_s`` and ``warmup_s`` are seconds per call, each the mean of ``calls_per_sample``
    consecutive calls between two fences.  ``cpu_s`` are the worker's CPU seconds per call over each of
    ``samples_s`` (none: not recorded).  ``replaced_s``, with ``replaced_cpu_s``, are samples that waited for
    a CPU, for which others, at the end of ``samples_s``, were measured at once.  ``enqueue_fraction`` is the
    share of the measuring time that was spent handing work over.  ``placement`` counts the nodes seen on
    each device and ``elsewhere`` lists those that were not on the cell's own device.  ``spent_s`` itemises
    the wall time by kind (prepare, first_call, placement, calibrate, warmup, measure, check, hygiene).
    ``evidence`` says what else was at work while the cell warmed up and was sampled (see
    ``suite.worker.loop.counters``; None: unknown), and of a script its ``traces``; ``trace`` what a GPU did
    in a few untimed calls (see ``suite.worker.loop.trace``).  ``absent`` gives the reason for every field
    that is null.
    """

    id: str
    scenario: str
    case: str
    params: dict[str, Param]
    outcome: OutcomeName
    reason: str | None = None
    work: Work | None = None
    started: datetime | None = None
    ended: datetime | None = None
    container: str | None = None
    first_call_s: CallSeconds | None = None
    calls_per_sample: Annotated[int, RANGES["calls"]] | None = None
    warmup_status: str | None = None
    warmup_s: list[CallSeconds] = field(default_factory=list)
    samples_s: list[CallSeconds] = field(default_factory=list)
    cpu_s: list[Seconds] = field(default_factory=list)
    replaced_s: list[CallSeconds] = field(default_factory=list)
    replaced_cpu_s: list[Seconds] = field(default_factory=list)
    enqueue_fraction: Annotated[float, RANGES["share"]] | None = None
    placement: dict[str, Annotated[int, RANGES["count"]]] = field(default_factory=dict)
    elsewhere: list[str] = field(default_factory=list)
    check: Check | None = None
    peak_memory_bytes: Bytes | None = None
    labels: list[str] = field(default_factory=list)
    spent_s: dict[str, Seconds] = field(default_factory=dict)
    evidence: dict[str, float | None] = field(default_factory=dict)
    trace: dict[str, float] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


def make_pending(cell: Cell) -> CellResult:
    """The cell before anything became of it."""
    return CellResult(
        id=cell.id,
        scenario=cell.scenario,
        case=cell.case,
        params=cell.params,
        outcome="pending",
        work=cell.work,
    )


@dataclass(frozen=True, kw_only=True)
class SuiteIdentity:
    """Which suite measured: its version, git commit (null outside a checkout) and content hash."""

    version: Filled
    commit: str | None
    content: Filled


@dataclass(frozen=True, kw_only=True)
class CampaignIdentity:
    """Which campaign a document belongs to."""

    id: Filled
    profile: ProfileName
    seed: int
    label: str | None


@dataclass(frozen=True, kw_only=True)
class Image:
    """What an arm ran in: a container image, or the environment that stands in for one.

    ``id`` is the engine's own name for it (its meaning differs between image stores),
    ``content`` the hash that two builds from the same inputs share (null until it was computed
    inside), ``base`` the reference that it was built on, ``digests`` what a registry or the layer
    store calls it, ``lock`` names the hash lock of its packages (or says `NOT_FROM_LOCK`), ``origin``
    how it came about.
    """

    id: Filled
    content: str | None
    base: str
    digests: list[str]
    lock: str
    origin: str
    size_bytes: Bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Container:
    """One container (or stand-in process) of an invocation and how it ended.

    ``start_s`` is the time from asking the engine to start it to its first word.  ``facts`` are its
    own; as written, those alone that differ from the document's, the last container's that ran no script.
    ``process``: that of the cells that were all that it ran.
    """

    id: Filled
    started: datetime
    ended: datetime | None = None
    status: str | None = None
    start_s: Seconds | None = None
    process: str | None = None
    facts: dict[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """One arm's turn in a fresh container: the unit of analysis.

    ``block`` 0 comes before the first and does not count: it has the cells that are kept going, or was a
    calibration.  ``repeat`` counts the repeats of an invocation that was excluded.  A control invocation's
    ``arm`` is not among the plan's ``arms``.  ``clock_jump_s`` is by how much the clock of the day was set
    meanwhile, which changes no duration here (null: nobody looked).
    """

    arm: Filled
    block: Annotated[int, RANGES["block"]]
    isolation: Isolation
    image: Image
    engine: dict[str, Scalar]
    limits: dict[str, Scalar]
    containers: list[Container]
    started: datetime
    status: InvocationStatus
    ended: datetime | None = None
    repeat: Annotated[int, RANGES["repeat"]] = 0
    clock_jump_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Telemetry:
    """What happened to the machine while an invocation ran, seen from outside its container.

    ``facts`` are what does not change (GPU, driver, limits, and what the sampler itself took).
    ``at_s`` are the instants of the samples in seconds after ``started``; ``series`` has by name one
    value an instant, whose unit is the last part of the name (null: that look failed).  Counters are
    as they were read, cumulative since the machine or its driver started.  ``absent`` gives the reason
    for what could not be had.
    """

    started: datetime
    facts: dict[str, Scalar] = field(default_factory=dict)
    at_s: list[Seconds] = field(default_factory=list)
    series: dict[str, list[float | None]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Document:
    """One invocation as it lies on disk; complete and valid at any moment.

    ``spent_s`` itemises what belongs to no cell (container_start, import, devices, start-up
    kernels and models, facts, writing).  ``absent`` gives the reason for every field that is null.
    """

    schema: int
    suite: SuiteIdentity
    campaign: CampaignIdentity
    invocation: Invocation
    facts: dict[str, Scalar]
    cells: list[CellResult]
    telemetry: Telemetry | None = None
    spent_s: dict[str, Seconds] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The file that it belongs into."""
        of = self.invocation
        return document_name(of.arm, of.block, of.repeat)


def facts_of(document: Document, container: str | None) -> dict[str, Scalar]:
    """What was seen in one container of an invocation; of one that is not known, the document's facts."""
    containers = document.invocation.containers
    own = next((item.facts for item in containers if item.id == container), {})
    return {**document.facts, **own}


def container_seconds(document: Document) -> float:
    """The container time of an invocation, in seconds, from ask to end.

    A container without an end (still running, or its end was never seen) counts until the last
    instant that its cells report.
    """
    return math.fsum(
        lived_seconds(document, container) for container in document.invocation.containers
    )


def lived_seconds(document: Document, container: Container) -> float:
    """The container time of one of an invocation's containers, in seconds."""
    ends = [
        cell.ended
        for cell in document.cells
        if cell.container == container.id and cell.ended is not None
    ]
    end = container.ended or max(ends, default=container.started)
    return max(0.0, (end - container.started).total_seconds())


def count_compiled(document: Document) -> int | None:
    """How many files CUDA's compile cache gained while the invocation ran, one a compiled module; None:
    unknown."""
    containers = document.invocation.containers
    # The first one's start: those that came after it found what it had compiled.
    before = facts_of(document, containers[0].id if containers else None)
    start, end = before.get(f"{CACHE}.at_start.files"), document.facts.get(f"{CACHE}.at_end.files")
    return max(0, end - start) if isinstance(start, int) and isinstance(end, int) else None
