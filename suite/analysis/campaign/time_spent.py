"""Where a campaign's container time went, what timing itself cost, and which containers died; pure.

Adds up what the documents itemise and judges nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

from suite.analysis.documents.telemetry import read_number
from suite.analysis.result.arms import Death, Spent
from suite.cells.cell import Cell
from suite.model import Document, container_seconds, lived_seconds

ENDED_WELL = "exit code 0"
"""How the container of a worker ends that has told everything, also when one of its cells failed."""

FENCE = "fence_s"
"""The fact that holds the price of an empty fence, in seconds, as each invocation finds it."""


def itemise(document: Document) -> dict[str, float]:
    """The seconds of an invocation by kind, its own and its cells'; kinds may be unknown ones."""
    return _add(document.spent_s, *(cell.spent_s for cell in document.cells))


def add_up(documents: Sequence[Document]) -> Spent:
    """Where the time of several invocations went."""
    kinds = _add(*map(itemise, documents))
    return Spent(total_s=math.fsum(map(container_seconds, documents)), kinds=kinds)


def _add(*spent: Mapping[str, float]) -> dict[str, float]:
    """The seconds of all of these by kind."""
    total: dict[str, float] = {}
    for items in spent:
        for kind, seconds in items.items():
            total[kind] = total.get(kind, 0.0) + seconds
    return total


def find_deaths(documents: Iterable[Document]) -> list[Death]:
    """The containers that died: they ended badly, or another took the rest of their process's cells."""
    deaths = []
    for document in documents:
        invocation = document.invocation
        for index, container in enumerate(invocation.containers):
            after = invocation.containers[index + 1 :]
            later = [other for other in after if other.process == container.process]
            status = container.status
            if not later and status in {None, ENDED_WELL}:
                continue
            cells = [cell for cell in document.cells if cell.container == container.id]
            deaths.append(
                Death(
                    arm=invocation.arm,
                    block=invocation.block,
                    status=status,
                    lived_s=lived_seconds(document, container),
                    lost=tuple(cell.id for cell in cells if cell.outcome == "failed"),
                    replaced=bool(later),
                    restart_s=later[0].start_s if later else None,
                )
            )
    return deaths


def find_timing_costs(cells: Iterable[Cell], documents: Iterable[Document]) -> dict[str, float]:
    """By cell the largest share of a sample that an empty fence took in any of an arm's counted blocks.

    One-shot cells are left out: a single call can't be made longer.  So are invocations that do not
    say what a fence costs.
    """
    exempt = {cell.id for cell in cells if cell.one_shot}
    costs: dict[str, float] = {}
    for document in documents:
        fence = read_number(document.facts.get(FENCE))
        if fence is None:
            continue
        for cell in document.cells:
            if cell.outcome == "measured" and cell.id not in exempt and cell.calls_per_sample:
                sample = cell.calls_per_sample * statistics.median(cell.samples_s)
                costs[cell.id] = max(costs.get(cell.id, 0.0), fence / sample)
    return costs
