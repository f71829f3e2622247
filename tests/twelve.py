"""Made-up campaigns of machines to choose from, of which the truth is known, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import structs

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.arms import Fact
from suite.analysis.result.campaign import Analysis
from suite.analysis.result.several import Offer
from suite.cells.cell import Cell, Work
from suite.model import SuiteIdentity
from tests import changes, synthetic
from tests.changes import invoke, plant
from tests.rendering import load

TODAY = date(2026, 11, 23)

BATCHES = (8, 64, 512, 4096)

CELLS = [
    *map(synthetic.make_step, BATCHES),
    synthetic.make_cell("overhead", "fence", {}, Work(amount=1.0, unit="call")),
]

SMALL, MIDDLE, LARGE = CELLS[0].id, CELLS[2].id, CELLS[3].id


@dataclass(frozen=True, kw_only=True)
class Made:
    """A campaign: how many times as long as on the first machine the CPU and the GPU take."""

    cpu: float = 1.0
    gpu: float | None = 1.0
    type: str | None = None
    machine: str | None = None
    twin: float = 1.0
    content: str = synthetic.SUITE.content
    model: str = "Made-Up Processor 9000"


MACHINES: Mapping[str, Made] = {
    "three-1": Made(type="three.large", machine="aaaaaaa1", gpu=0.97),
    "three-2": Made(type="three.large", machine="aaaaaaa2"),
    "three-3": Made(type="three.large", machine="aaaaaaa3", gpu=1.03),
    "copy": Made(type="copy.large", machine="cccccccc", gpu=0.97),
    "control": Made(type="bad.large", machine="dddddddd", gpu=0.5, twin=1.2),
    "suite": Made(type="old.large", machine="eeeeeeee", content="6" * 64),
    "tie-1": Made(type="tie.one", machine="11111111", gpu=1.5),
    "tie-2": Made(type="tie.two", machine="22222222", gpu=1.5),
    "plain": Made(type="plain.small", machine="bbbbbbbb", cpu=2.0, gpu=None),
    "again": Made(type="plain.small", machine="bbbbbbbb", cpu=2.0, gpu=None),
    "fast": Made(type="fast.huge", machine="ffffffff", gpu=0.25),
    "priceless": Made(machine="99999999", gpu=1.2, model="Own Processor"),
    "three-4": Made(type="three.large", machine="aaaaaaa4", gpu=0.97),
}
"""In the order in which they are named.  ``copy`` is the first one once more, its ids changed, so that
the two contradict each other; ``again`` is the machine of ``plain`` another time."""

HOURLY = {
    ("three.large", "on-demand"): 1.0,
    ("copy.large", "on-demand"): 0.5,
    ("bad.large", "on-demand"): 0.1,
    ("old.large", "on-demand"): 0.1,
    ("tie.one", "on-demand"): 1.2,
    ("tie.two", "on-demand"): 1.2,
    ("plain.small", "on-demand"): 0.4,
    ("fast.huge", "on-demand"): 12.0,
    ("fast.huge", "spot"): 4.5,
}

OFFERS = [
    Offer(
        type=kind,
        terms=terms,
        hourly=hourly,
        currency="USD",
        source="https://prices.example",
        date=date(2026, 8, 1) if kind == "tie.one" else date(2026, 11, 1),
    )
    for (kind, terms), hourly in HOURLY.items()
]


def time(made: Made, cell: Cell, arm: str) -> float:
    """The true seconds a call."""
    if arm == "cuda":
        return (made.gpu or 1.0) * (200e-6 + 1e-8 * cell.work.amount)
    return made.cpu * (20e-6 + 2e-6 * cell.work.amount)


def make(name: str, made: Made, seed: int, blocks: int = 5) -> LoadedCampaign:
    """The campaign as it were read from its folder."""
    arms = ("cpu", "cuda") if made.gpu is not None else ("cpu",)
    plan = synthetic.make_campaign(arms=arms, blocks=blocks, seed=seed, cells=CELLS)
    suite = SuiteIdentity(version="0.1.0", commit=None, content=made.content)
    plan = replace(plan, id=name, label=None, suite=suite)
    how: dict[str, Any] = {"samples": 60, "host": synthetic.QUIET}
    documents = synthetic.make_documents(
        plan, calibration=False, truth=lambda cell, arm: time(made, cell, arm), **how
    )
    twins = synthetic.make_twins(
        plan, truth=lambda cell, arm: made.twin * time(made, cell, arm), **how
    )
    engine = {"name": "docker", "endpoint.here": True}
    engine |= {"machine.id": made.machine, "machine.type": made.type}
    return replace(
        load(
            plan,
            plant(plant(documents, invoke(engine=engine)), changes.tell({"cpu.model": made.model})),
            plant(twins, invoke(engine=engine)),
        ),
        folder=name,
    )


def write(folder: Path, *names: str, **how: int) -> list[str]:
    """The folders of these of the twelve, by their names below this one."""
    runs = []
    for seed, name in enumerate(names, start=1):
        made = make(name, MACHINES[name], seed, **how)
        documents = made.every_document
        runs.append(str(synthetic.write_campaign(folder / name, made.campaign, documents)))
    return runs


Values = Mapping[int, float]


def pretend(
    one: Analysis,
    name: str,
    measure: Callable[[str, Values], Values],
    *,
    machine: str | None,
    kind: str | None,
    label: str | None = None,
) -> Analysis:
    """Another campaign of the same cells: the values that are measured on an arm in the place of these, on
    a machine of this type and identity."""
    cells = [
        structs.replace(
            cell,
            arms={
                arm: structs.replace(result, values=measure(arm, result.values))
                for arm, result in cell.arms.items()
            },
        )
        for cell in one.cells
    ]
    told = tell(one, {"engine.machine.id": machine, "engine.machine.type": kind})
    plan = structs.replace(one.campaign, id=name, label=label)
    return structs.replace(told, cells=tuple(cells), campaign=plan)


def tell(one: Analysis, facts: Mapping[str, Fact]) -> Analysis:
    """The same with other facts of every arm."""
    told = {name: (value,) for name, value in facts.items()}
    arms = {n: structs.replace(arm, facts={**arm.facts, **told}) for n, arm in one.arms.items()}
    return structs.replace(one, arms=arms)


def make_twelve() -> list[LoadedCampaign]:
    """All of them."""
    # The copy has the first one's values under another name.
    seeds = {"copy": 1}
    return [
        make(name, one, seeds.get(name, seed))
        for seed, (name, one) in enumerate(MACHINES.items(), start=1)
    ]
