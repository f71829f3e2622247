"""What becomes of a made-up campaign's documents: changes, and where they are planted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from suite.model import CellResult, Document, Scalar, Telemetry
from tests import synthetic

Change = Callable[[Document], Document]


def plant(
    documents: Iterable[Document], how: Change, arm: str | None = None, *blocks: int
) -> list[Document]:
    """The documents, changed so on this arm and in these blocks; without them on all, and in all."""
    return [
        how(one)
        if one.invocation.arm == (arm or one.invocation.arm)
        and (not blocks or one.invocation.block in blocks)
        else one
        for one in documents
    ]


def keep(one: Document) -> Document:
    """None."""
    return one


def invoke(**fields: object) -> Change:
    """Other fields of the invocation."""
    return lambda one: replace(one, invocation=replace(one.invocation, **fields))  # type: ignore[arg-type]


def swap_image(**fields: object) -> Change:
    """Other fields of its image."""
    return lambda one: invoke(image=replace(one.invocation.image, **fields))(one)  # type: ignore[arg-type]


def tell(facts: Mapping[str, Scalar]) -> Change:
    """More facts, or others."""
    return lambda one: replace(one, facts={**one.facts, **facts})


def watch(
    facts: Mapping[str, Scalar], series: Mapping[str, Sequence[float | None]] | None = None
) -> Change:
    """Telemetry that found these facts, and saw these values at the start and 15 minutes later."""

    def change(one: Document) -> Document:
        seen = {name: list(values) for name, values in (series or {}).items()}
        telemetry = Telemetry(
            started=one.invocation.started,
            facts=dict(facts),
            at_s=[0.0, 900.0] if seen else [],
            series=seen,
        )
        absent = {name: why for name, why in one.absent.items() if name != "telemetry"}
        return replace(one, telemetry=telemetry, absent=absent)

    return change


def in_cell(name: str, **fields: object) -> Change:
    """Other fields of a cell."""
    return lambda one: synthetic.change_cell(one, name, **fields)


def stretch(times: float, *names: str) -> Change:
    """So many times as long samples in all cells, or in these alone."""

    def longer(one: CellResult) -> CellResult:
        samples = [times * sample for sample in one.samples_s]
        return replace(one, samples_s=samples) if not names or one.id in names else one

    return lambda one: replace(one, cells=list(map(longer, one.cells)))


def lose(name: str, outcome: str, why: str | None) -> Change:
    """A cell without its number."""
    return lambda one: synthetic.lose_cell(one, name, outcome, why)


def drop(name: str) -> Change:
    """A cell that is not there."""
    return lambda one: replace(one, cells=[cell for cell in one.cells if cell.id != name])
