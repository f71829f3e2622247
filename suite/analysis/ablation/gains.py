"""What other cells of the same work show to help, and how well a device is used.  Pure."""

from __future__ import annotations

from suite.analysis.ablation.catalogue import COUNTED, Catalogue, name_unit
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.numbers.ratio import compare
from suite.analysis.result.findings import Gain
from suite.analysis.result.numbers import Evidence, cite


def find_gain(
    catalogue: Catalogue, one: CellSummary, other: CellSummary | None, arm: str, how: Evidence
) -> Gain | None:
    """How many times less time a unit of work takes at another cell on an arm.

    Under 1 it takes more.  ``how`` says what is different there.  None: one of the two has no number.
    """
    if other is None:
        return None
    # Cells that count in different units are the same work where they are stages of one case.
    same = name_unit(one.cell) == name_unit(other.cell)
    measure = catalogue.per_work if same else catalogue.values
    ratio = compare(measure(other, arm), measure(one, arm))
    return Gain(how=how, at=other.cell.id, ratio=ratio) if ratio else None


def best_gain(*gains: Gain | None) -> Gain | None:
    """The largest of those that help at all."""
    found = [gain for gain in gains if gain is not None and gain.ratio.value > 1]
    return max(found, key=lambda gain: gain.ratio.value, default=None)


def find_larger(catalogue: Catalogue, one: CellSummary, arm: str) -> Gain | None:
    """The larger size of the same work at which a unit of it takes least time, if that is less."""
    found = []
    for axis in one.cell.larger:
        here = one.cell.params.get(axis)
        if isinstance(here, int | float):
            found += [
                find_gain(catalogue, one, other, arm, cite("at-size", axis=axis, size=size))
                for size, other in catalogue.line(one, axis, arm)
                if size > here
            ]
    return best_gain(*found)


def find_fewer(catalogue: Catalogue, one: CellSummary, arm: str) -> Gain | None:
    """The variant of a cell with fewer handovers that helps most; None: none was measured to help."""
    fewer = catalogue.links(one, "fewer")
    return best_gain(*(find_gain(catalogue, one, other, arm, how) for other, how in fewer))


def find_use(catalogue: Catalogue, one: CellSummary, arm: str) -> tuple[float, CellSummary] | None:
    """A cell's rate as a share of the device's own best at its precision, and the best cell.

    Floating-point operations are compared among products, or among steps; examples only of the same
    network.  None: there is no rate to compare.
    """
    unit = name_unit(one.cell)
    rate = catalogue.rate(one, arm)
    if rate is None or unit not in COUNTED or one.cell.pinned:
        return None
    share, best = 1.0, one
    for other in catalogue.cells.values():
        alike = name_unit(other.cell) == unit and other.cell.precision == one.cell.precision
        kin = other.cell.kin == one.cell.kin
        alike = alike and (kin or (unit == "FLOP" and other.cell.kind == one.cell.kind))
        if not alike or other.cell.pinned:
            continue
        found = catalogue.rate(other, arm)
        if found is not None and rate / found < share:
            share, best = rate / found, other
    return share, best


def find_winner(catalogue: Catalogue, one: CellSummary) -> CellSummary | None:
    """The warm variant of the same work at which the GPU wins by most; None: it wins at none."""
    variants = [
        other
        for other in catalogue.cells.values()
        if other.cell.kin == one.cell.kin
        and not other.cell.one_shot
        and not other.cell.pinned
        and catalogue.wins(other)
    ]
    ratios = [(ratio.value, other) for other in variants if (ratio := catalogue.ratio(other))]
    return min(ratios, key=lambda pair: pair[0])[1] if ratios else None
