"""Which samples waited while the cell computes: told by the process's CPU seconds beside the wall clock.

Pure, and blind to the arm: it knows numbers only.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

LONGER = 0.20
"""A sample stands out that took longer than the median one by more than this share …"""

SPREADS = 4.0
"""… and by more than so many distances from the lower quartile to the median.  Below the median nothing is
disturbed, so that this is the cell's own spread; 2.7 standard deviations of a normal one."""

COMPUTED = 0.25
"""It computed no more where its CPU seconds rose by a smaller share of what its wall time rose by."""

BUSY = 0.9
"""Only of what keeps a CPU busy for this share of its time.  What sleeps or reads files waits by itself."""

FEWEST = 8
"""Under so many samples nothing is known of their spread."""

MOST = 1 / 3
"""Where a larger share of a cell's samples waited, nobody can tell what they would have taken."""


def find_disturbed(walls: Sequence[float], cpus: Sequence[float]) -> list[int]:
    """The indices of the samples whose wall time stands out among the others', and their CPU seconds don't.

    A sample that computed more is slow, and stays.  Threads that spin while they wait compute, by this
    clock: then nothing is found (docs/decisions/0066).  ``walls`` and ``cpus`` are seconds in one unit.
    """
    if len(walls) < FEWEST:
        return []
    wall, cpu = statistics.median(walls), statistics.median(cpus)
    if cpu <= 0 or cpu < BUSY * wall:
        return []
    lower, *_ = statistics.quantiles(walls, n=4, method="inclusive")
    limit = wall + max(LONGER * wall, SPREADS * (wall - lower))
    return [
        index
        for index, (took, computed) in enumerate(zip(walls, cpus, strict=True))
        if took > limit and computed / cpu - 1 < COMPUTED * (took / wall - 1)
    ]
