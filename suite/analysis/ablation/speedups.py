"""What other cells of the same work show to help, and how well a device is used.  Pure."""

from __future__ import annotations

import math

from suite.analysis.ablation.cell_index import COUNTED, CellIndex, name_unit
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.compare import find_paired_ratio
from suite.analysis.result.findings import Finding
from suite.analysis.result.numbers import Evidence, cite
from suite.cells.cell import Cell


def find_speedup(
    index: CellIndex, one: CellSummary, other: CellSummary | None, arm: str, how: Evidence
) -> Finding | None:
    """How many times less time a unit of work takes at another cell on an arm.

    Under 1 it takes more.  ``how`` says what is different there.  None: one of the two has no number.
    """
    if other is None:
        return None
    # Cells that count in different units are the same work where they are stages of one case.
    same = name_unit(one.cell) == name_unit(other.cell)
    measure = index.per_work if same else index.values
    ratio = find_paired_ratio(measure(other, arm), measure(one, arm))
    if ratio is None:
        return None
    return Finding(
        tag="gain", arm=arm, cell=one.cell.id, at=other.cell.id, value=ratio, evidence=(how,)
    )


def best_speedup(*gains: Finding | None) -> Finding | None:
    """The largest of those that help at all."""
    helping = [gain for gain in gains if gain is not None and gain.number.value > 1]
    return max(helping, key=lambda gain: gain.number.value, default=None)


def find_larger(index: CellIndex, one: CellSummary, arm: str) -> Finding | None:
    """The larger size of the same work at which a unit of it takes least time, if that is less."""
    found = []
    for axis in one.cell.larger:
        here = one.cell.params.get(axis)
        if isinstance(here, int | float):
            found += [
                find_speedup(index, one, other, arm, cite("at-size", axis=axis, size=size))
                for size, other in index.line(one, axis, arm)
                if size > here
            ]
    return best_speedup(*found)


def find_fewer(index: CellIndex, one: CellSummary, arm: str) -> Finding | None:
    """The variant of a cell with fewer dispatches that helps most; None: none was measured to help."""
    fewer = index.links(one, "fewer")
    return best_speedup(*(find_speedup(index, one, other, arm, how) for other, how in fewer))


def find_utilization(
    index: CellIndex, one: CellSummary, arm: str
) -> tuple[float, CellSummary] | None:
    """A cell's rate as a share of the device's own best at its precision, and the best cell.

    Floating-point operations are compared among products, or among steps; examples only of the same
    network.  None: there is no rate to compare.
    """
    unit = name_unit(one.cell)
    rate = index.rate(one, arm)
    if rate is None or unit not in COUNTED or one.cell.on_cpu:
        return None
    share, best = 1.0, one
    for other in index.cells.values():
        found = index.rate(other, arm)
        if found is None or rate / found >= share or other.cell.on_cpu:
            continue
        alike = name_unit(other.cell) == unit and other.cell.precision == one.cell.precision
        kin = other.cell.kin == one.cell.kin
        if alike and (kin or (unit == "FLOP" and other.cell.kind == one.cell.kind)):
            share, best = rate / found, other
    return share, best


def find_winner(index: CellIndex, one: CellSummary) -> CellSummary | None:
    """The nearest warm variant of the same work at which the GPU wins; None: it wins at none.

    A script's own fair number is the nearest; then what differs in the fewest parameters, by the least work.
    """
    variants = [
        other
        for other in index.cells.values()
        if other.cell.kin == one.cell.kin
        and not other.cell.one_shot
        and not other.cell.on_cpu
        and index.wins(other)
    ]
    return min(variants, key=lambda other: _measure_distance(one.cell, other.cell), default=None)


def _measure_distance(one: Cell, other: Cell) -> tuple[int, int, float]:
    if one.way is not None and one.way.stages[-1].cell == other.id:
        return 0, 0, 0.0
    axes = one.params.keys() | other.params.keys()
    differing = sum(one.params.get(axis) != other.params.get(axis) for axis in axes)
    amounts = one.work.amount, other.work.amount
    far = abs(math.log(amounts[0] / amounts[1])) if min(amounts) > 0 else math.inf
    return 1 + (other.way is not None), differing, far
