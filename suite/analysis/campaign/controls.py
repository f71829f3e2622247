"""What the campaign says about itself: twins, the image's own effect, known extra work, input only.

Decides what the controls found; what a table then says of other cells is not for here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from suite.analysis.campaign.reading import read
from suite.analysis.campaign.validity import find_cell_disturbance, find_whole_disturbance
from suite.analysis.result.campaign import Family
from suite.cells.cell import Cell
from suite.model import Document

FLOOR_SHARE = 95.0
"""The noise floor is this percentile of the twins' |ratio - 1|."""


def find_floor(families: Iterable[Family]) -> float | None:
    """The noise floor: the 95th percentile of |ratio - 1| over all twin cells of all arms.

    Linear between order statistics (numpy's default).  None: there is no twin cell.
    """
    off = [abs(one.value - 1) for family in families for one in family.ratios.values()]
    return float(np.percentile(off, FLOOR_SHARE)) if off else None


def find_excess(families: Iterable[Family]) -> float | None:
    """What twins show beyond what their own intervals know of: the 95th percentile, over all twin
    cells of all arms that have an interval, of how far it misses a ratio of 1; 0 where it contains 1.

    A noisy cell differs from its twin by as much as its interval says, and its verdict takes that
    into account; only what the intervals miss has to be added for every cell.  By construction one
    in twenty misses by accident, which the percentile leaves out.  None: no twin has an interval.
    """
    misses = [
        max(0.0, one.low - 1, 1 / one.high - 1)
        for family in families
        for one in family.ratios.values()
        if one.low is not None and one.high is not None
    ]
    return float(np.percentile(misses, FLOOR_SHARE)) if misses else None


def find_honest(cell: Cell, cells: Iterable[Cell]) -> tuple[Cell, float] | None:
    """The honest twin of a known-extra-work cell and the true ratio of their work; None: no such cell."""
    names = [link.to for link in cell.links.get("honest", ())]
    twin = next((one for one in cells if one.id in names), None)
    return None if twin is None or cell.excess is None else (twin, 1 + cell.excess)


def is_input_only(cell: Cell, placements: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a cell's work was seen on CPUs alone, on whichever arm: a pipeline without a model.

    ``placements`` are the nodes by device of every measured invocation on every arm; a cell whose
    placement nobody saw is none.
    """
    seen = list(placements)
    return (
        cell.role == "input"
        and bool(seen)
        and all(one and all("GPU" not in device for device in one) for one in seen)
    )


def read_controls(documents: Mapping[int, Document]) -> dict[str, dict[int, float]]:
    """The values of a control arm, by cell and block; disturbed ones left out."""
    values: dict[str, dict[int, float]] = {}
    for block, document in documents.items():
        for one in document.cells if find_whole_disturbance(document) is None else ():
            if one.outcome == "measured" and find_cell_disturbance(one) is None:
                values.setdefault(one.id, {})[block] = read(one).value
    return values
