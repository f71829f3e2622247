"""The document of an invocation under way: what its cells and containers have come to so far.

Writes no file itself: it hands the growing document to ``keep`` after every cell.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from suite import wire
from suite.cells.cell import Cell
from suite.host.campaign import plan
from suite.host.campaign.invocation.outcomes import judge_start
from suite.host.engine import Engine, GpuRequest
from suite.host.machine.identity import describe_machine
from suite.host.machine.machine import describe_binding
from suite.host.provision.volumes import compile_cache
from suite.kernel import write_cpus
from suite.kernel.clock import Span
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
    Scalar,
    Telemetry,
    make_pending,
)
from suite.model.rules import demand_no, judge_duration

_NONE = object()
"""Stands for a fact that is not there: None is what some are."""

Keep = Callable[[Document], None]
Watch = Callable[[Document, str | None], None]
"""Told of every change: the document so far, and the cell in flight, if any."""


@dataclass(frozen=True, kw_only=True)
class InvocationSpec:
    """What an invocation is: an arm in a block, with all that it runs in and under."""

    campaign: Campaign
    arm: Arm
    block: int
    image: Image
    gpu: GpuRequest | None
    cpus: tuple[int, ...]
    memory_bytes: int | None
    repeat: int = 0


class Draft:
    """An invocation's document under way, and which cells remain to be run."""

    def __init__(self, engine: Engine, spec: InvocationSpec, *, keep: Keep, watch: Watch) -> None:
        self.spec = spec
        self.telemetry: Telemetry | str = "nobody was asked to watch"
        self._keep = keep
        self._watch = watch
        self._isolation = engine.isolation
        # Elsewhere nothing tells which machine it is.
        named = engine.isolation != "unseen"
        here = engine.is_here is True
        machine = {**describe_machine(named=named), **describe_binding()} if here else {}
        self._engine_facts = {**engine.describe(), **machine}
        self.span = Span()
        self.cells = plan.order_cells(spec.campaign, spec.arm.name, spec.block, spec.repeat)
        self.results = {cell.id: make_pending(cell) for cell in self.cells}
        if spec.block > 0:
            # What the calibration found not worth trying has its outcome from the beginning.
            arm = plan.calibrating_arm(spec.campaign, spec.arm.name)
            for identity, why in spec.campaign.excluded.get(arm, {}).items():
                if identity in self.results:
                    reason = f"in the calibration: {why.reason}"
                    self._decide(identity, outcome=why.outcome, reason=reason)
        self.containers: list[Container] = []
        """With all that each said of itself."""
        self._spent_s: dict[str, float] = {}

    @property
    def remaining(self) -> list[Cell]:
        """The cells that the worker has yet to run."""
        return [c for c in self.cells if not c.by_host and self.results[c.id].outcome == "pending"]

    def note(self, **seen: Any) -> None:
        """What was seen of the newest container, by its fields."""
        self.containers[-1] = replace(self.containers[-1], **seen)

    def greet(self, start_s: float) -> None:
        """The container's first word came so many seconds after it was asked for, which is the outcome
        of the cells that only the host can see."""
        self.note(start_s=start_s)
        self.spend({"container_start": start_s})
        for cell in self.cells:
            if cell.by_host and self.results[cell.id].outcome == "pending":
                self.results[cell.id] = judge_start(
                    cell, self.containers[-1], start_s, isolation=self._isolation
                )

    def end(self, cell: Cell, result: CellResult) -> None:
        """A cell that remained has its outcome."""
        self.results[cell.id] = result

    def lose(self, cell: Cell, reason: str) -> None:
        """A cell has failed with the newest container, and is not tried again."""
        container = self.containers[-1].id
        self._decide(cell.id, outcome="failed", reason=reason, container=container)

    def settle(self) -> None:
        """What is still without an outcome are cells measured from outside, of no container."""
        for cell in self.cells:
            if self.results[cell.id].outcome != "pending":
                continue
            if self.containers:
                self.lose(cell, "no container came up")
            else:
                reason = "no container was needed: the calibration had settled every cell"
                self._decide(cell.id, outcome="skipped", reason=reason)

    def _decide(self, identity: str, **fields: Any) -> None:
        self.results[identity] = replace(self.results[identity], **fields)

    def spend(self, seconds: Mapping[str, float]) -> None:
        """Books time by kind.

        Raises:
            ValueError: it is none that a document may hold.
        """
        for kind, spent in seconds.items():
            together = self._spent_s.get(kind, 0.0) + float(spent)
            demand_no(judge_duration(f"$.spent_s.{kind}", together))
            self._spent_s[kind] = together

    def show(self, in_flight: str | None) -> None:
        """Tells who watches, and writes nothing."""
        self._watch(self.write("running"), in_flight)

    def keep(self, status: InvocationStatus) -> Document:
        """Hands the document to be written, and books the time that writing took."""
        began = time.monotonic()
        document = self.write(status)
        self._keep(document)
        self.spend({"writing": time.monotonic() - began})
        self._watch(document, None)
        return document

    def write(self, status: InvocationStatus) -> Document:
        """The document as far as it has come."""
        spec, campaign = self.spec, self.spec.campaign
        facts = self._choose_facts()
        content = facts.get("content.hash")
        cache = compile_cache(spec.image, spec.gpu).name if spec.gpu else "none"
        absent = {"telemetry": self.telemetry} if isinstance(self.telemetry, str) else {}
        if spec.memory_bytes is None:
            absent["invocation.limits.memory_bytes"] = "this engine enforces none"
        if content is None:
            absent["invocation.image.content"] = "the worker has not computed it yet"
        return Document(
            schema=wire.SCHEMA,
            suite=campaign.suite,
            campaign=CampaignIdentity(
                id=campaign.id, profile=campaign.profile, seed=campaign.seed, label=campaign.label
            ),
            invocation=Invocation(
                arm=spec.arm.name,
                block=spec.block,
                repeat=spec.repeat,
                isolation=self._isolation,
                image=replace(spec.image, content=None if content is None else str(content)),
                engine={
                    **self._engine_facts,
                    "gpu.request": spec.gpu.driver if spec.gpu else "none",
                    "gpu.compile_cache": cache,
                },
                limits={
                    "cpus": write_cpus(spec.cpus),
                    "cpu_count": len(spec.cpus),
                    "memory_bytes": spec.memory_bytes,
                },
                containers=[
                    replace(
                        one, facts={n: v for n, v in one.facts.items() if facts.get(n, _NONE) != v}
                    )
                    for one in self.containers
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
        """What the last container said of itself that ran no script, which configures nothing; or else the
        last that said anything."""
        told = [one for one in self.containers if one.facts]
        usual = [one for one in told if one.process is None]
        return (usual or told)[-1].facts if told else {}
