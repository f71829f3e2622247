"""Made-up machines that keep work going: what becomes of the rate, and what is told meanwhile."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from suite.analysis.analyse import analyse
from suite.analysis.result.campaign import Analysis
from suite.cells.cell import Cell
from suite.model import Campaign, CellResult, Container, Document, Sustained, Telemetry
from suite.worker import scenarios
from tests import synthetic
from tests.rendering import load

CELLS = [cell for cell in scenarios.cells() if cell.role == "sustained"]
SECONDS, REST, SAMPLE = 120.0, 30.0, 0.3
IDS = {
    name: {cell.case: cell.id for cell in CELLS if cell.suits(gpu=name == "cuda")}
    for name in ("cpu", "cuda")
}

Told = Callable[[float], float]
"""A value at an instant, in seconds from the beginning of a run."""


def always(value: float) -> Told:
    """The same at any time."""
    return lambda _: value


def drop(at_s: float, before: float, after: float) -> Told:
    """One value, and from that instant on another."""
    return lambda t: before if t < at_s else after


@dataclass(frozen=True, kw_only=True)
class Machine:
    """How an arm keeps a cell going: the share of its rate, with so much noise of each sample, of which
    neighbours have this correlation, what telemetry tells by its series (none: nothing watches), what the
    worker saw, and for how long it runs; another ``number`` is another draw."""

    share: Told = lambda _: 1.0
    noise: float = 0.01
    alike: float = 0.0
    number: int = 0
    series: Mapping[str, Told] = field(default_factory=dict)
    evidence: Mapping[str, float] = field(default_factory=dict)
    seconds: float = SECONDS


WELL = Machine(series={"cpu.clock_mhz": always(3000.0), "cpu.temperature_c": always(50.0)})
GPU_WELL = Machine(
    series={
        "gpu.clock_sm_mhz": always(1590.0),
        "gpu.temperature_c": lambda t: 35.0 + min(max(t, 0.0), 40.0),
        "gpu.power_w": always(65.0),
        "gpu.reasons_bits": always(0.0),
    }
)


def plan_kept(arms: Sequence[str] = ("cpu", "cuda"), seconds: float = SECONDS) -> Campaign:
    """A campaign of two blocks that keeps products and copies going."""
    campaign = synthetic.make_campaign(arms=arms, blocks=2)
    gpus = {arm == "cuda" for arm in arms}
    cells = [cell for cell in CELLS if any(cell.suits(gpu=gpu) for gpu in gpus)]
    return replace(campaign, sustained=Sustained(seconds=seconds, cells=cells), simulated=False)


def keep_going(campaign: Campaign, document: Document, machines: Mapping[str, Machine]) -> Document:
    """The calibration of an arm with the cells that were kept going before, by their cases."""
    gpu = document.invocation.arm == "cuda"
    cells, containers, at = list[CellResult](), list[Container](), document.invocation.started
    telemetry = Telemetry(started=at)
    assert campaign.sustained is not None
    for cell in campaign.sustained.cells:
        if cell.case not in machines or not cell.suits(gpu=gpu):
            continue
        machine = machines[cell.case]
        name, begin = f"kept-{cell.case}", at + timedelta(seconds=REST)
        result, whole = _keep(cell, machine, f"{campaign.seed + machine.number}/{cell.id}")
        ended = begin + timedelta(seconds=whole)
        watched = {"from_s": begin.timestamp(), "to_s": ended.timestamp(), **machine.evidence}
        cells.append(
            replace(
                result,
                started=at,
                ended=ended,
                container=name,
                placement={"GPU:0" if gpu else "CPU:0": 1},
                evidence=watched,
            )
        )
        facts = dict(document.facts)
        containers.append(
            Container(id=name, started=at, ended=ended, process=cell.process, facts=facts)
        )
        offset = (begin - telemetry.started).total_seconds()
        stamps = [0.5 * k for k in range(int(2 * (whole + REST)) + 2)]
        told = {name: [tell(s - REST) for s in stamps] for name, tell in machine.series.items()}
        before = len(telemetry.at_s)
        names = telemetry.series.keys() | told.keys()
        telemetry = replace(
            telemetry,
            at_s=[*telemetry.at_s, *(offset - REST + s for s in stamps)],
            series={
                name: [
                    *telemetry.series.get(name, [None] * before),
                    *told.get(name, [None] * len(stamps)),
                ]
                for name in names
            },
        )
        at = ended + timedelta(seconds=1)
    took = at - document.invocation.started
    invocation = replace(
        document.invocation,
        containers=[
            *containers,
            *(
                replace(c, started=c.started + took, ended=c.ended and c.ended + took)
                for c in document.invocation.containers
            ),
        ],
        ended=document.invocation.ended and document.invocation.ended + took,
        limits={**document.invocation.limits, "cpu_count": 4},
    )
    moved = [
        replace(c, started=c.started and c.started + took, ended=c.ended and c.ended + took)
        for c in document.cells
    ]
    return replace(
        document,
        invocation=invocation,
        cells=[*cells, *moved],
        telemetry=telemetry if telemetry.series else None,
    )


def _keep(cell: Cell, machine: Machine, seed: str) -> tuple[CellResult, float]:
    """A cell's samples, and how long they took, with the first that wakes the machine."""
    draw, calls = random.Random(seed), 10
    taken, at = [2 * SAMPLE], 0.0
    off, new = 0.0, machine.noise * math.sqrt(1 - machine.alike**2)
    while at < machine.seconds:
        off = machine.alike * off + draw.gauss(0.0, new)
        taken.append(SAMPLE / machine.share(at) * math.exp(off))
        at += taken[-1]
    samples = [seconds / calls for seconds in taken]
    result = CellResult(
        id=cell.id,
        scenario=cell.scenario,
        case=cell.case,
        params=cell.params,
        outcome="measured",
        work=cell.work,
        calls_per_sample=calls,
        warmup_status="time",
        warmup_s=samples[:1],
        samples_s=samples[1:],
        spent_s={"rest": REST, "measure": at},
    )
    return result, at + taken[0]


def make_kept(
    machines: Mapping[str, Mapping[str, Machine]], seconds: float = SECONDS
) -> tuple[Campaign, list[Document]]:
    """A campaign whose arms keep their cells going so, by arm and case."""
    campaign = plan_kept(tuple(machines), seconds)
    documents = [
        keep_going(campaign, document, machines[document.invocation.arm])
        if document.invocation.block == 0
        else document
        for document in synthetic.make_documents(campaign)
    ]
    return campaign, documents


def leave_calibration(
    campaign: Campaign, documents: Iterable[Document]
) -> tuple[Campaign, list[Document]]:
    """The same as campaigns have run since: before the first block what is kept going alone, and that block
    found K."""
    assert campaign.sustained is not None
    kept = {cell.id for cell in campaign.sustained.cells}

    def leave(document: Document) -> Document:
        containers = [one for one in document.invocation.containers if one.process is not None]
        invocation = replace(document.invocation, containers=containers)
        cells = [cell for cell in document.cells if cell.id in kept]
        return replace(document, cells=cells, invocation=invocation)

    campaign = replace(campaign, calibrated_by=campaign.id)
    return campaign, [leave(d) if d.invocation.block == 0 else d for d in documents]


def study_kept(**machines: Mapping[str, Machine]) -> Analysis:
    """The analysis of such a campaign."""
    return analyse(load(*make_kept(machines)))
