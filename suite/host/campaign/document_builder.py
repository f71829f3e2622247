"""The document of an invocation under way: what its cells and containers have come to so far.

Takes the worker's records one by one, refuses what no document may hold, and hands the growing document to
``keep`` after every cell.  Writes no file itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

from suite import codec
from suite.cells.cell import Cell
from suite.clock import Span
from suite.errors import EngineError
from suite.host.campaign import plan
from suite.host.engine import Engine, GpuRequest
from suite.host.gpu.remedies import explain_failure
from suite.host.machine.identity import describe_machine
from suite.host.machine.machine import describe_binding
from suite.host.provision.custom_image import OTHER_TENSORFLOW
from suite.host.provision.resources import compile_cache
from suite.model import (
    Arm,
    Campaign,
    CampaignIdentity,
    CellResult,
    Container,
    Document,
    Image,
    Invocation,
    InvocationStatus,
    Isolation,
    Scalar,
    Telemetry,
    make_pending,
)
from suite.model.rules import demand_no, judge_cell, judge_duration, judge_keys
from suite.procfs import write_cpus

SAME_CLOCK = timedelta(seconds=1)
"""News from the worker comes later than it was sent by far less, and what keeps a clock right moves it by
less."""

_Instant = Annotated[datetime, msgspec.Meta(tz=True)]

Keep = Callable[[Document], None]
Show = Callable[[Document, str | None], None]
"""Told of every change: the document so far, and the cell in flight, if any."""


class ArmRefused(Exception):
    """The worker can't be the arm with a GPU; the text says why, its standard error perhaps more."""


class DocumentBuilder:
    """One arm's invocation in a block, with all that it runs in and under, and its document under way.

    ``in_flight`` is the cell that the newest container has begun, ``made_progress`` whether it has begun any,
    and ``finished`` whether it has said goodbye.
    """

    def __init__(
        self,
        engine: Engine,
        campaign: Campaign,
        arm: Arm,
        block: int,
        *,
        image: Image,
        gpu: GpuRequest | None,
        cpus: tuple[int, ...],
        memory_bytes: int | None,
        keep: Keep,
        show: Show,
        repeat: int = 0,
    ) -> None:
        self.campaign, self.arm, self.block, self.repeat = campaign, arm, block, repeat
        self.image, self.gpu, self.cpus, self.memory_bytes = image, gpu, cpus, memory_bytes
        self.telemetry: Telemetry | str = "nobody was asked to watch"
        self._keep, self._show = keep, show
        self._isolation = engine.isolation
        # Elsewhere nothing tells which machine it is.
        named = engine.isolation != "unseen"
        here = engine.is_here is True
        machine = {**describe_machine(named=named), **describe_binding()} if here else {}
        if stated := campaign.settings.get("type"):
            told = machine.get("machine.type")
            machine |= {
                "machine.type": stated,
                "machine.type_stated": True,
                "machine.type_told": told,
            }
        self._engine_facts = {**engine.describe(), **machine}
        self.span = Span()
        self.cells = plan.order_cells(campaign, arm.name, block, repeat)
        self.results = {cell.id: make_pending(cell) for cell in self.cells}
        # What the first block found not worth trying has its outcome from the beginning.
        for identity, why in campaign.excluded.get(campaign.calibrating_arm(arm.name), {}).items():
            if identity in self.results:
                reason = f"in the first block: {why.reason}"
                self._decide(identity, outcome=why.outcome, reason=reason)
        self.containers: list[Container] = []
        """With all that each said of itself."""
        self._spent_s: dict[str, float] = {}
        self.in_flight: Cell | None = None
        self.made_progress = self.finished = False

    @property
    def remaining(self) -> list[Cell]:
        """The cells that the worker has yet to run."""
        return [c for c in self.cells if not c.by_host and self.results[c.id].outcome == "pending"]

    def begin_container(self, identity: str, asked_s: float, process: str | None) -> None:
        """A container that was asked for at ``asked_s`` (of ``time.monotonic``) is the newest from now on."""
        self.in_flight, self.made_progress, self.finished = None, False, False
        self._asked_s, self._lag = asked_s, timedelta.max
        started = self.span.at(asked_s)
        self.containers.append(Container(id=identity, started=started, process=process))
        self._show(self.write("running"), None)

    def end_container(self, ended_s: float, phrase: str) -> None:
        """The newest container has ended at ``ended_s`` (of ``time.monotonic``), and how."""
        self._note(ended=self.span.at(ended_s), status=phrase)

    def take(self, record: Mapping[str, Any]) -> str:
        """One record of the newest container into the document; gives its kind.

        Raises:
            ValueError, KeyError: it is not a valid record, or not one that may come now.
            ArmRefused: the worker can't be this arm.
            EngineError: the worker lacks something that it needs.
        """
        match kind := record["record"]:
            case "hello":
                self._greet(record, time.monotonic() - self._asked_s)
            case "startup":
                if self.arm.gpu and record["device"] != "/GPU:0":
                    raise ArmRefused(f"its worker computes on {record['device']}")
                self._spend(msgspec.convert(record["stages"], dict[str, float]))
            case "facts":
                facts = msgspec.convert(record["facts"], dict[str, Scalar])
                demand_no(judge_keys("$.facts", facts))
                self._note(facts=facts)
                self._demand_named(facts.get("gpu.0.uuid"))
                self._spend({"facts": msgspec.convert(record["seconds"], float)})
            case "refused":
                raise ArmRefused(record["reason"])
            case "unfit":
                raise EngineError(
                    f"the arm {self.arm.name} can't be run: {record['reason']}", OTHER_TENSORFLOW
                )
            case "cell_started":
                self._begin_cell(record["id"])
            case "cell":
                self._end_cell(msgspec.convert(record["cell"], CellResult))
            case "bye":
                self.finished = True
            case _:
                raise ValueError(f"{kind!r} is not a record of this suite")
        return str(kind)

    def _greet(self, record: Mapping[str, Any], start_s: float) -> None:
        """The container's first word came so many seconds after it was asked for, which is the outcome
        of the cells that only the host can see."""
        if record["schema"] != codec.SCHEMA:
            raise ValueError(
                f"the image's suite speaks schema {record['schema']}, this is {codec.SCHEMA}"
            )
        self._compare_clocks(msgspec.convert(record["at"], _Instant))
        self._note(start_s=start_s)
        self._spend({"container_start": start_s})
        for cell in self.cells:
            if cell.by_host and self.results[cell.id].outcome == "pending":
                self.results[cell.id] = _measure_start(
                    cell, self.containers[-1], start_s, self._isolation
                )

    def _demand_named(self, computing: Scalar) -> None:
        """Demands the GPU that was asked for by its UUID, where the worker's CUDA says which it has.

        Raises:
            ArmRefused: it is another GPU.
        """
        named = self.gpu and self.gpu.uuid
        if named and computing is not None and codec.hash_uuid(named) != computing:
            raise ArmRefused(
                "its worker computes on another GPU than the one named, by their UUIDs"
            )

    def _begin_cell(self, identity: str) -> None:
        cell = next((cell for cell in self.remaining if cell.id == identity), None)
        if cell is None:
            raise ValueError(f"{identity} was begun and not asked for")
        if self.in_flight is not None:
            raise ValueError(f"{identity} was begun while {self.in_flight.id} was in flight")
        self.in_flight, self.made_progress = cell, True
        self._show(self.write("running"), identity)

    def _end_cell(self, result: CellResult) -> None:
        """The cell in flight has its outcome."""
        cell = self.in_flight
        if cell is None or cell.id != result.id:
            raise ValueError(f"the outcome of {result.id} came out of turn")
        _demand_sense(result)
        usable = self.containers[-1].facts.get("cpu.usable")
        if cell.cpus not in {None, usable} and result.outcome == "measured":
            asked = f"its process could use {usable} CPUs; asked for: {cell.cpus}"
            result = replace(make_pending(cell), outcome="failed", reason=asked)
        result = self._place(replace(result, container=self.containers[-1].id))
        if self.arm.gpu and result.outcome == "failed" and result.reason:
            result = replace(result, reason=explain_failure(result.reason))
        self.results[result.id] = result
        self.in_flight = None
        self.keep("running")

    def _compare_clocks(self, said: datetime) -> None:
        """How far the worker's clock is behind the invocation's, as near as it can be told: each reads the
        clock of the day once, and that can have been set between the two; or it is another machine's.

        What it said by its own clock came later, at times by much, so that the least lag is the truest.
        """
        self._lag = min(self._lag, self.span.at() - said)

    def _place(self, result: CellResult) -> CellResult:
        """The cell with its instants by the invocation's clock, as the telemetry and the containers are."""
        if result.started is None or result.ended is None:
            return result
        self._compare_clocks(result.ended)
        lag = self._lag
        if abs(lag) <= SAME_CLOCK:
            return result
        moved = {
            name: value + lag.total_seconds()
            for name in ("from_s", "to_s")
            if (value := result.evidence.get(name)) is not None
        }
        return replace(
            result,
            started=result.started + lag,
            ended=result.ended + lag,
            evidence={**result.evidence, **moved},
        )

    def lose(self, cells: Sequence[Cell], reason: str) -> None:
        """These cells have failed with the newest container, and are not tried again."""
        for cell in cells:
            container = self.containers[-1].id
            self._decide(cell.id, outcome="failed", reason=reason, container=container)

    def skip(self, cells: Sequence[Cell], reason: str) -> None:
        """These cells are not measured."""
        for cell in cells:
            self._decide(cell.id, outcome="skipped", reason=reason)

    def settle(self) -> None:
        """What is still without an outcome are cells measured from outside, of no container."""
        for cell in self.cells:
            if self.results[cell.id].outcome != "pending":
                continue
            if self.containers:
                self.lose([cell], "no container came up")
            else:
                reason = "no container was needed: the first block had settled every cell"
                self._decide(cell.id, outcome="skipped", reason=reason)

    def _decide(self, identity: str, **fields: Any) -> None:
        self.results[identity] = replace(self.results[identity], **fields)

    def _note(self, **fields: Any) -> None:
        self.containers[-1] = replace(self.containers[-1], **fields)

    def _spend(self, seconds: Mapping[str, float]) -> None:
        """Books time by kind.

        Raises:
            ValueError: a document may not hold it.
        """
        for kind, spent in seconds.items():
            together = self._spent_s.get(kind, 0.0) + float(spent)
            demand_no(judge_duration(f"$.spent_s.{kind}", together))
            self._spent_s[kind] = together

    def keep(self, status: InvocationStatus) -> Document:
        """Hands the document to be written, and books the time that writing took."""
        began = time.monotonic()
        document = self.write(status)
        self._keep(document)
        self._spend({"writing": time.monotonic() - began})
        self._show(document, None)
        return document

    def write(self, status: InvocationStatus) -> Document:
        """The document as far as it has come."""
        campaign, gpu, facts = self.campaign, self.gpu, self._choose_facts()
        content = facts.get("content.hash")
        cache = compile_cache(self.image, gpu).name if gpu else "none"
        absent = {"telemetry": self.telemetry} if isinstance(self.telemetry, str) else {}
        if self.memory_bytes is None:
            absent["invocation.limits.memory_bytes"] = "this engine enforces none"
        if content is None:
            absent["invocation.image.content"] = "the worker has not computed it yet"
        return Document(
            schema=codec.SCHEMA,
            suite=campaign.suite,
            campaign=CampaignIdentity(
                id=campaign.id, profile=campaign.profile, seed=campaign.seed, label=campaign.label
            ),
            invocation=Invocation(
                arm=self.arm.name,
                block=self.block,
                repeat=self.repeat,
                isolation=self._isolation,
                image=replace(self.image, content=None if content is None else str(content)),
                engine={
                    **self._engine_facts,
                    "gpu.request": gpu.driver if gpu else "none",
                    "gpu.compile_cache": cache,
                },
                limits={
                    "cpus": write_cpus(self.cpus),
                    "cpu_count": len(self.cpus),
                    "memory_bytes": self.memory_bytes,
                },
                containers=[
                    replace(
                        c, facts={n: v for n, v in c.facts.items() if (n, v) not in facts.items()}
                    )
                    for c in self.containers
                ],
                started=self.span.started,
                ended=None if status == "running" else self.span.at(),
                status=status,
                clock_jump_s=round(self.span.jump_s(), 3),
            ),
            facts=dict(facts),
            cells=list(self.results.values()),
            telemetry=None if isinstance(self.telemetry, str) else self.telemetry,
            spent_s=dict(self._spent_s),
            absent=absent,
        )

    def _choose_facts(self) -> dict[str, Scalar]:
        """What the last container said of itself that ran no script, which configures nothing, and had all
        CPUs; or else of those that said anything the last with the most."""
        with_facts = [container for container in self.containers if container.facts]
        usual = [container for container in with_facts if container.process is None]
        said = sorted((container.facts for container in usual or with_facts), key=_count_cpus)
        return said[-1] if said else {}


def _count_cpus(facts: Mapping[str, Scalar]) -> int:
    usable = facts.get("cpu.usable")
    return usable if isinstance(usable, int) else 0


def _measure_start(
    cell: Cell, container: Container, start_s: float, isolation: Isolation
) -> CellResult:
    """The outcome of a cell that is about a container's start, which took ``start_s`` seconds; skipped
    where none is started."""
    if isolation != "container":
        return replace(
            make_pending(cell),
            outcome="skipped",
            reason="no container is started: the worker is a plain process",
        )
    return replace(
        make_pending(cell),
        outcome="measured",
        started=container.started,
        ended=container.started + timedelta(seconds=start_s),
        container=container.id,
        calls_per_sample=1,
        warmup_status="cold",
        samples_s=[start_s],
        absent={
            "first_call_s": "the sample is the first call",
            "enqueue_fraction": "measured from outside",
            "peak_memory_bytes": "measured from outside",
            "check": "nothing is computed that could be wrong",
        },
    )


def _demand_sense(result: CellResult) -> None:
    """Refuses what no document may hold, so that one is valid at any moment.

    Raises:
        ValueError: the result is not an outcome, or its numbers are impossible.
    """
    if result.outcome == "pending":
        raise ValueError("'pending' is not an outcome")
    demand_no(judge_cell("$.cell", result))
    for instant in (result.started, result.ended):
        if instant is None or instant.utcoffset() is None:
            raise ValueError("an instant is missing or has no UTC offset")


def counts(document: Document | None, campaign: Campaign) -> bool:
    """Whether there is an invocation, and its block was not measured again after it."""
    return document is not None and (
        document.invocation.repeat >= campaign.first_counted(document.invocation.block)
    )


def is_complete(document: Document, campaign: Campaign) -> bool:
    """Whether an invocation need not be run again: it ended in order and holds every cell."""
    of = document.invocation
    cells = plan.order_cells(campaign, of.arm, of.block, of.repeat)
    return of.status == "complete" and {cell.id for cell in cells} <= {
        result.id for result in document.cells
    }
