"""One invocation with everything around it, on an engine whose containers live by scripts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from suite.analysis.documents.read import load_campaign
from suite.cells.cell import Cell, Work
from suite.errors import EngineError
from suite.host.campaign import plan
from suite.host.campaign.arms import known_arms
from suite.host.campaign.campaign_runner import ask_cells
from suite.host.campaign.document_builder import DocumentBuilder
from suite.host.campaign.invocation_runner import InvocationRunner
from suite.host.campaign.store import Store
from suite.host.engine import GpuRequest
from suite.host.telemetry.observer import Observe
from suite.model import Campaign, CellResult, Container, Document
from tests import synthetic
from tests.fakes.engine import FakeEngine, Life, Script, Word, Worker, asked_cells, fake_image


def make_cells(*names: str) -> list[Cell]:
    return [synthetic.make_cell("made", name, {}, Work(amount=1.0, unit="call")) for name in names]


START = replace(
    synthetic.make_cell("overhead", "container", {}, Work(amount=1.0, unit="start")),
    by_host=True,
    one_shot=True,
)
"""The cell that the host measures itself."""


FINDS = {"calibrated_by": "made-up"}
"""Of a campaign whose first block finds K."""


@dataclass
class Flow:
    """An invocation, block 1 of five cells unless told otherwise, and every document that it kept."""

    folder: Path
    arm: str = "cpu"
    cells: list[Cell] = field(default_factory=lambda: make_cells(*"abcde"))
    kept: list[Document] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    observe: Observe = lambda *_: "nobody watches an invocation of the tests"
    gpu: GpuRequest = field(default_factory=lambda: GpuRequest(driver="cdi", devices=("0",)))

    def __post_init__(self) -> None:
        self.campaign = make_campaign(cells=self.cells, blocks=2, **self.fields)
        self.store = Store.create(self.folder, "campaign")
        self.store.write_plan(self.campaign)
        self.worker = Worker(cells={cell.id: cell for cell in self.cells})
        self.order = [
            cell.id for cell in plan.order_cells(self.campaign, self.arm, 1) if not cell.by_host
        ]

    def keep(self, document: Document) -> None:
        """Writes as a campaign does; complete and valid at any moment, or the test fails."""
        self.store.write_document(document)
        assert load_campaign(self.store.folder).documents == [document]
        self.kept.append(document)

    def show(self, _: Document, identity: str | None) -> None:
        if identity is not None:
            self.shown.append(identity)

    def run(
        self, *scripts: Script | EngineError, otherwise: Script | None = None, **engine: Any
    ) -> Document:
        """Containers live by these scripts, and those after them do all that they are asked."""
        self.engine = FakeEngine(*scripts, otherwise=otherwise or self.worker, **engine)
        builder = DocumentBuilder(
            self.engine,
            self.campaign,
            known_arms()[self.arm],
            1,
            image=fake_image(known_arms()[self.arm].image),
            gpu=self.gpu if known_arms()[self.arm].gpu else None,
            cpus=(0, 1, 3),
            memory_bytes=2**30,
            keep=self.keep,
            show=self.show,
        )
        self.runner = InvocationRunner(
            self.engine, builder, self.observe, ask_cells(self.campaign, self.arm)
        )
        return self.runner.run()

    def greets(self, *words: Word, **end: Any) -> Script:
        """A container that comes up, says this, and ends."""
        return lambda _: Life(words=[*self.worker.greeting(), *words], **end)

    @property
    def asked(self) -> list[list[str]]:
        """The cells that each container was asked for."""
        return [[identity for identity, _ in asked_cells(job)] for job in self.engine.jobs]


def unmeasured(document: Document) -> dict[str, str]:
    """The outcome of every cell that has no number."""
    return {cell.id: cell.outcome for cell in document.cells if cell.outcome != "measured"}


def result(document: Document, identity: str) -> CellResult:
    (found,) = [cell for cell in document.cells if cell.id == identity]
    return found


def make_campaign(**fields: object) -> Campaign:
    made = synthetic.make_campaign(arms=("cpu", "cuda"), cells=make_cells(*"abcdefgh"))
    return replace(made, **{"calls": {}, **fields})  # type: ignore[arg-type]


NOW = datetime(2026, 11, 21, 9, 30, tzinfo=timezone.utc)


def find_k(made: Campaign, results: list[CellResult], seconds: float = 20.0) -> Document:
    """A first block of two containers that lived so long together, and a third without an end."""
    document = synthetic.make_document(made, "cpu", 1)
    half = NOW + timedelta(seconds=seconds / 2)
    containers = [Container(id=name, started=NOW, ended=half) for name in "ab"]
    containers.append(Container(id="c", started=NOW))
    invocation = replace(document.invocation, containers=containers)
    return replace(document, cells=results, invocation=invocation)


def end(cell: Cell, **fields: object) -> CellResult:
    """What came of a cell: measured, but for these fields."""
    made = CellResult(
        id=cell.id,
        scenario=cell.scenario,
        case=cell.case,
        params=cell.params,
        outcome="measured",
        calls_per_sample=5,
        samples_s=[0.01],
    )
    return replace(made, **fields)  # type: ignore[arg-type]
