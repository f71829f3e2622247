"""Campaigns drawn at random of the cases that people ask about, and which of their numbers count.

That is known here by what is done to the documents; no analysis is asked.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property

from suite.cells.cell import Cell
from suite.model import AT_END, Campaign, Check, Document, Excluded, Scalar
from suite.worker import scenarios
from tests import synthetic
from tests.changes import Change, drop, in_cell, keep, lose, swap_image, tell

ARMS = (("cpu",), ("cuda",), ("cpu", "cuda"), ("cpu", "cuda"))
BLOCKS = 3

ON_ARM = {"fine": 12.0, "changed": 1.0, "unproven": 1.0, "disturbed": 1.0, "nothing": 0.5}
"""How often an arm is what; of the others no number counts.  Its image changes half-way; it shows no GPU; it
loses that at the end of a block; or it has no invocation."""

OF_CELL = {
    "fine": 14.0,
    "some blocks": 2.0,
    **dict.fromkeys(("skipped", "failed", "pending", "left out", "unproven", "disturbed"), 1.0),
    "wrong": 0.5,
}
"""How often a cell on an arm is what; only of the first two the number counts.  Its work was not seen on its
device; another process computed on the GPU; or its result differs from block to block."""

COUNTS = ("fine", "some blocks")

NO_GPU: Mapping[str, Scalar] = {"tensorflow.devices": "CPU:0", "gpu.0.name": None}
"""What a container says that saw none."""

Place = tuple[str, str]
"""An arm, and a cell by its id or a script by its process."""


@dataclass(frozen=True)
class Drawn:
    """A campaign, and what becomes of its arms, of its cells on them, and of scripts whose own container
    saw no GPU."""

    plan: Campaign
    on_arm: Mapping[str, str]
    of_cell: Mapping[Place, str]
    bare: frozenset[Place]

    @cached_property
    def campaign(self) -> Campaign:
        """The plan, with what its calibration left out."""
        out = Excluded(outcome="skipped", reason="would take too long here")
        return replace(
            self.plan,
            excluded={
                arm: {name: out for on, name in self._find("left out") if on == arm}
                for arm in self.plan.arms
            },
        )

    @cached_property
    def counted(self) -> frozenset[Place]:
        """The numbers that count, by arm and cell."""
        lost = sum(state == "disturbed" for state in self.on_arm.values())
        blocks = BLOCKS * sum(state != "nothing" for state in self.on_arm.values())
        if lost > 0.2 * blocks:
            return frozenset()
        # Nobody knows of results that differ which arm's are right.
        wrong = {name for arm, name in self._find("wrong") if self._has_result(arm, name)}
        return frozenset(
            (arm, name)
            for state in COUNTS
            for arm, name in self._find(state)
            if self.on_arm[arm] == "fine" and name not in wrong and self._has_result(arm, name)
        )

    def make_documents(self, draw: random.Random) -> list[Document]:
        """Its documents; every cell has a time of its own on each arm."""
        times = {place: 1e-3 * math.exp(draw.gauss(0.0, 1.0)) for place in self.of_cell}
        return [
            self._spoil(
                synthetic.make_document(
                    self.plan,
                    arm,
                    block,
                    truth=lambda cell, arm: times[arm, cell.id] * math.sqrt(cell.work.amount),
                    samples=2,
                    warmup=1,
                )
            )
            for arm, state in self.on_arm.items()
            for block in range(1, BLOCKS + 1)
            if state != "nothing"
        ]

    def _find(self, state: str) -> list[Place]:
        return [place for place, drawn in self.of_cell.items() if drawn == state]

    def _has_result(self, arm: str, name: str) -> bool:
        """Whether the cell runs on the arm, and on the GPU where the arm has one."""
        (cell,) = (cell for cell in self.plan.cells if cell.id == name)
        runs = self.on_arm[arm] not in {"nothing", "unproven"}
        means = self.plan.arm(arm).gpu or not cell.needs_gpu
        return runs and means and (arm, cell.process or "") not in self.bare

    def _spoil(self, document: Document) -> Document:
        """A document of a campaign without a fault, with the arm's and the cells' own."""
        arm, block = document.invocation.arm, document.invocation.block
        state = self.on_arm[arm]
        for cell in document.cells:
            document = _spoil_cell(cell.id, self.of_cell[arm, cell.id], block)(document)
        document = self._give_containers(document)
        if state == "unproven":
            document = tell(NO_GPU)(document)
        if state == "disturbed" and block == 1:
            document = tell({AT_END: "it did not answer"})(document)
        if state == "changed" and block == BLOCKS:
            document = swap_image(content="e" * 64)(document)
        return document

    def _give_containers(self, document: Document) -> Document:
        """The document in which each script has a container of its own."""
        usual = document.invocation.containers[0]
        process = {cell.id: cell.process for cell in self.plan.cells}
        names = dict.fromkeys(filter(None, (process[cell.id] for cell in document.cells)))
        arm = document.invocation.arm
        own = {
            name: replace(
                usual,
                id=f"{usual.id}-{name}",
                process=name,
                facts=dict(NO_GPU) if (arm, name) in self.bare else {},
            )
            for name in names
        }
        return replace(
            document,
            invocation=replace(document.invocation, containers=[usual, *own.values()]),
            cells=[
                replace(cell, container=own[name].id) if (name := process[cell.id]) else cell
                for cell in document.cells
            ],
        )


def _spoil_cell(name: str, state: str, block: int) -> Change:
    if state == "some blocks":
        state = "failed" if block > 1 else "fine"
    check = Check(what="a sum", value=42.0 + block, tolerance=1e-6)
    changes: Mapping[str, Change] = {
        "fine": keep,
        "skipped": lose(name, "skipped", "it was drawn so"),
        "failed": lose(name, "failed", "it was drawn so"),
        "pending": lose(name, "pending", None),
        "left out": drop(name),
        "unproven": in_cell(name, placement={}),
        "disturbed": in_cell(name, labels=["gpu-shared"]),
        "wrong": in_cell(name, check=check),
    }
    return changes[state]


@cache
def list_cases() -> Mapping[str, tuple[Cell, ...]]:
    """The cells of each case and size: the stages of its ways, and what else its script prints."""
    cells = {cell.id: cell for cell in scenarios.cells()}
    cases: dict[str, dict[str, Cell]] = {}
    for cell in cells.values():
        if cell.way is not None:
            case = cases.setdefault(f"{cell.way.name} {cell.way.fixed}", {})
            case |= {at.cell: cells[at.cell] for at in cell.way.stages if at.cell}
            case |= {
                more.id: more
                for more in cells.values()
                if cell.process is not None and more.process == cell.process and more.way is None
            }
    return {name: tuple(case.values()) for name, case in cases.items()}


def draw_campaign(draw: random.Random) -> Drawn:
    """Some cases, each with its script or without, and with some of its other stages."""
    cases, kept = list_cases(), {"overhead.fence"}
    for name in draw.sample(sorted(cases), draw.randint(4, 8)):
        scripted, dense = draw.random() < 0.7, draw.choice((0.4, 0.8, 1.0))
        kept |= {
            cell.id for cell in cases[name] if (scripted if cell.process else draw.random() < dense)
        }
    cells = [cell for cell in scenarios.cells() if cell.id in kept]
    arms = draw.choice(ARMS)
    plan = synthetic.make_campaign(arms=arms, blocks=BLOCKS, cells=cells)
    gpus = [arm for arm in arms if plan.arm(arm).gpu]

    def pick(states: Mapping[str, float], *, proves: bool) -> str:
        (state,) = draw.choices(list(states), list(states.values()))
        return state if proves or state != "unproven" else "fine"

    return Drawn(
        plan,
        # Of a CPU nobody asks for proof, nor of a stage of the start-up sequence.
        on_arm={arm: pick(ON_ARM, proves=arm in gpus) for arm in arms},
        of_cell={
            (arm, cell.id): pick(OF_CELL, proves=arm in gpus and cell.device != "none")
            for arm in arms
            for cell in cells
        },
        bare=frozenset(
            (arm, name) for arm in gpus for name in _list_processes(cells) if draw.random() < 0.1
        ),
    )


def _list_processes(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.process for cell in cells if cell.process))
