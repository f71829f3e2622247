"""What other cells of the same work show to help, and how well a device is used.  Pure."""

from __future__ import annotations

import math

from suite.analysis.ablation.cell_index import COUNTED, CellIndex, find_batch, name_unit, trains
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.findings import Finding
from suite.analysis.result.numbers import Evidence, cite
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.cells.cell import Cell
from suite.cells.changes import find_effect
from suite.cells.traits import Effect


def find_speedup(
    index: CellIndex, summary: CellSummary, other: CellSummary | None, arm: str, how: Evidence
) -> Finding | None:
    """How many times less time a unit of work takes at another cell on an arm.

    Under 1 it takes more.  ``how`` says what is different there.  None: one of the two has no number.
    """
    if other is None:
        return None
    # Cells that count in different units are the same work where they are stages of one case.
    same = name_unit(summary.cell) == name_unit(other.cell)
    measure = index.per_work if same else index.values
    ratio = find_paired_ratio(measure(other, arm), measure(summary, arm))
    if ratio is None:
        return None
    return Finding(
        tag="gain", arm=arm, cell=summary.cell.id, at=other.cell.id, value=ratio, evidence=(how,)
    )


def best_speedup(*gains: Finding | None) -> Finding | None:
    """The largest of those that help at all."""
    helping = [gain for gain in gains if gain is not None and gain.number.value > 1]
    return max(helping, key=lambda gain: gain.number.value, default=None)


def find_effects(cell: Cell, other: Cell) -> set[Effect]:
    """Of which kinds the changes are that lead from a cell to another of the same work.

    They are the steps of a script that lie between, or else a link that says so and the choices in which the
    two differ.  Training in another batch is training otherwise, also where nobody can tell the batch.
    """
    if cell.way and (steps := cell.way.list_steps(cell.id, other.id)):
        return {find_effect(step) for step in steps}
    links = (link for links in cell.links.values() for link in links if link.to == other.id)
    effects = {link.effect for link in links if link.effect}
    for axis, choice in cell.choices.items():
        if cell.params[axis] != other.params.get(axis, cell.params[axis]):
            effects.add(choice.effect)
    batches = {find_batch(cell), find_batch(other)}
    if trains(cell) and (None in batches or len(batches) > 1):
        effects.add("training")
    return effects


def find_larger(index: CellIndex, summary: CellSummary, arm: str) -> Finding | None:
    """The larger size of the same work at which a unit of it takes least time, if that is less."""
    gains = [
        find_speedup(index, summary, other, arm, cite("at-size", axis=axis, size=size))
        for axis in summary.cell.larger
        if isinstance(here := summary.cell.params.get(axis), int | float)
        for size, other in index.line(summary, axis, arm)
        if size > here
    ]
    return best_speedup(*gains)


def find_fewer(index: CellIndex, summary: CellSummary, arm: str) -> Finding | None:
    """The variant of a cell with fewer dispatches that helps most; None: none was measured to help."""
    fewer = index.links(summary, "fewer")
    return best_speedup(*(find_speedup(index, summary, other, arm, how) for other, how in fewer))


def find_utilization(
    index: CellIndex, summary: CellSummary, arm: str
) -> tuple[float, CellSummary] | None:
    """A cell's rate as a share of the device's own best at its precision, and the best cell.

    Floating-point operations are compared among products, or among steps; examples only of the same
    network.  None: there is no rate to compare.
    """
    cell, rate = summary.cell, index.rate(summary, arm)
    if rate is None or name_unit(cell) not in COUNTED or cell.on_cpu:
        return None
    share, best = 1.0, summary
    for other in index.cells.values():
        their_rate = index.rate(other, arm)
        if their_rate and rate / their_rate < share and _is_alike(cell, other.cell):
            share, best = rate / their_rate, other
    return share, best


def _is_alike(cell: Cell, other: Cell) -> bool:
    """Whether the rates of two cells can be compared."""
    unit = name_unit(cell)
    if other.on_cpu or name_unit(other) != unit or other.precision != cell.precision:
        return False
    return other.work_key == cell.work_key or (unit == "FLOP" and other.kind == cell.kind)


def find_winner(index: CellIndex, summary: CellSummary) -> CellSummary | None:
    """The nearest warm variant of the same work at which the GPU wins; None: it wins at none.

    The end of a script's own steps is the nearest; then what differs in the fewest parameters, by the least
    work.
    """
    variants = [
        other
        for other in index.cells.values()
        if other.cell.work_key == summary.cell.work_key
        and not other.cell.one_shot
        and not other.cell.on_cpu
        and index.wins(other)
    ]
    return min(
        variants, key=lambda other: _measure_distance(summary.cell, other.cell), default=None
    )


def find_helping(
    index: CellIndex, summary: CellSummary, arm: str
) -> tuple[list[CellSummary], tuple[str, ...]]:
    """The cells at which an arm should do better: larger pieces of the work, fewer calls for it, a script's
    last stage; and the axes along which no larger piece has a number."""
    cell, helping, untried = summary.cell, list[CellSummary](), list[str]()
    for axis in cell.larger:
        here = cell.params.get(axis)
        larger = [
            other
            for size, other in index.line(summary, axis, arm)
            if isinstance(here, int | float) and size > here and index.ratio(other)
        ]
        helping += larger
        if not larger:
            untried.append(axis)
    last = cell.way.stages[-1].cell if cell.way else None
    others = [other for other, _ in index.links(summary, "fewer")]
    if last is not None and last != cell.id and last in index.cells:
        others.append(index.cells[last])
    return helping + [other for other in others if index.ratio(other)], tuple(untried)


def _measure_distance(cell: Cell, other: Cell) -> tuple[int, int, float]:
    if cell.way is not None and cell.way.stages[-1].cell == other.id:
        return 0, 0, 0.0
    axes = cell.params.keys() | other.params.keys()
    differing = sum(cell.params.get(axis) != other.params.get(axis) for axis in axes)
    amounts = cell.work.amount, other.work.amount
    far = abs(math.log(amounts[0] / amounts[1])) if min(amounts) > 0 else math.inf
    return 1 + (other.way is not None), differing, far
