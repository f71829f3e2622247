"""Where a campaign's container time went, and which containers died; pure.

Adds up what the documents itemise and judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from suite.analysis.result.arms import Death, Spent
from suite.model import Document, container_seconds, lived_seconds

_GOOD_ENDINGS = ("exit code 0",)
"""A worker that has told everything ends so, also when one of its cells failed."""


def itemise(document: Document) -> dict[str, float]:
    """The seconds of an invocation by kind, its own and its cells'; kinds may be unknown ones."""
    spent: dict[str, float] = {}
    for items in (document.spent_s, *(cell.spent_s for cell in document.cells)):
        for kind, seconds in items.items():
            spent[kind] = spent.get(kind, 0.0) + seconds
    if "container_start" not in spent:
        starts = [one.start_s for one in document.invocation.containers if one.start_s is not None]
        if starts:
            spent["container_start"] = sum(starts)
    return spent


def add_up(documents: Sequence[Document]) -> Spent:
    """Where the time of several invocations went."""
    kinds: dict[str, float] = {}
    for document in documents:
        for kind, seconds in itemise(document).items():
            kinds[kind] = kinds.get(kind, 0.0) + seconds
    return Spent(total_s=sum(map(container_seconds, documents)), kinds=kinds)


def ended_well(status: str) -> bool:
    """Whether a container that ended so had told everything."""
    return status in _GOOD_ENDINGS


def find_deaths(documents: Iterable[Document]) -> list[Death]:
    """The containers that died: all but an invocation's last, and a last one that ended badly."""
    deaths = []
    for document in documents:
        invocation = document.invocation
        for index, container in enumerate(invocation.containers):
            later = invocation.containers[index + 1 :]
            status = container.status
            if not later and (status is None or ended_well(status)):
                continue
            lost = [
                cell.id
                for cell in document.cells
                if cell.container == container.id and cell.outcome == "failed"
            ]
            deaths.append(
                Death(
                    arm=invocation.arm,
                    block=invocation.block,
                    status=status,
                    lived_s=lived_seconds(document, container),
                    lost=tuple(lost),
                    replaced=bool(later),
                    restart_s=later[0].start_s if later else None,
                )
            )
    return deaths
