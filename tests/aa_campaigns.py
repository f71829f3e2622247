"""Made-up campaigns in which nothing differs: an image against itself, or against a second build."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from suite.cells.cell import Cell
from suite.model import Arm, Campaign, Document, control_of
from tests import synthetic
from tests.changes import Change, invoke, keep, swap_image
from tests.synthetic import QUIET, make_document

CPU = Arm(name="cpu", image="cpu", gpu=False)
AGAIN = control_of(CPU, "again")
REBUILT = Arm(name="cpu-rebuilt", image="cpu-rebuilt", gpu=False)


def of_image(**fields: Any) -> Change:
    """The second arm in another image."""
    return lambda one: one if one.invocation.arm == "cpu" else swap_image(**fields)(one)


second_build = of_image(id=f"sha256:{'e' * 64}", size_bytes=1_200_000_001)


def plain(cell: Cell, _arm: str) -> float:
    return synthetic.plain_truth(cell, "cpu")


def slower(cell: Cell, arm: str) -> float:
    """A false verdict by hand: the same image, and one cell that takes longer in its second arm."""
    more = 1.5 if arm != "cpu" and cell.params.get("n") == 100 else 1.0
    return more * plain(cell, arm)


def plan(other: Arm = AGAIN, **fields: Any) -> Campaign:
    made = synthetic.make_campaign(arms=["cpu"])
    calls = {"cpu": made.calls["cpu"], other.name: made.calls["cpu"]}
    return replace(
        made,
        **{
            "arms": ["cpu", other.name],
            "every_arm": [CPU, other],
            "calls": calls,
            "simulated": False,
            "id": "20261122T101112Z-made-up-standard",
            **fields,
        },
    )


def measure(
    campaign: Campaign, change: Change = keep, truth: synthetic.Truth = plain, done: int = 5
) -> list[Document]:
    """The documents of so many blocks."""
    made = [
        make_document(campaign, arm, block, truth=truth, host=QUIET)
        for arm in campaign.arms
        for block in range(done + 1)
    ]
    return [change(invoke(engine={"product": "docker"})(one)) for one in made]


def write(folder: Path, truth: synthetic.Truth = plain, **fields: Any) -> Path:
    """The folder of a finished campaign of an image against itself."""
    campaign = plan(**fields)
    return synthetic.write_campaign(folder, campaign, measure(campaign, truth=truth))
