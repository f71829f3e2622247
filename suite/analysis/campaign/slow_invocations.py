"""Invocations that were slow or fast in all their cells alike, whatever their arm; pure.

One slow container of ten hides every effect: it widens all intervals of its arm.  Nothing that disturbs it
need be seen from outside, so that this is the one place that looks at timings.  It is blind to arms: each
invocation is held to its own arm's others, and a block is excluded for all arms together.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping

from suite.analysis.campaign.validity import MOST_SET_ASIDE
from suite.analysis.result.numbers import FEWEST
from suite.flags import Flag, raise_flag
from suite.model import Document

FEWEST_BLOCKS = 5
"""With fewer nobody can say which of them is the odd one."""

FEWEST_CELLS = 8
"""Over so many cells a median is not moved by what is about one cell."""

LEAST = math.log(1.1)
"""A pace that differs by less is not worth a block."""

SPREADS = 5.0
"""Median absolute deviations of all paces beyond which one is not theirs (simulation: tests/bench)."""


def find_off_pace(counted: Mapping[str, Mapping[int, Document]]) -> list[Flag]:
    """The invocations that kept another pace than their siblings, by their times over all cells.

    A pace is the median over cells of an invocation's time over the median of its arm's invocations.
    None where over a fifth of the blocks would be excluded: then no pace is the usual one.
    """
    paces = {
        (arm, block): pace
        for arm, documents in counted.items()
        for block, pace in _find_paces(documents).items()
    }
    if not paces:
        return []
    spread = statistics.median(map(abs, paces.values()))
    off = {place: pace for place, pace in paces.items() if abs(pace) > max(LEAST, SPREADS * spread)}
    blocks = {block for documents in counted.values() for block in documents}
    if len({block for _, block in off}) > MOST_SET_ASIDE * len(blocks):
        return []
    return [
        raise_flag(
            "off-pace",
            {"arm": arm, "block": block, "repeat": counted[arm][block].invocation.repeat},
            pace=math.exp(pace),
            repeated=False,
        )
        for (arm, block), pace in off.items()
    ]


def find_odd(
    counted: Mapping[str, Mapping[int, Document]],
) -> tuple[str, int, float] | None:
    """The invocation that kept the oddest pace: its arm, its block, and its time over its siblings'; None:
    each kept its arm's."""
    odd = find_off_pace(counted)
    if not odd:
        return None
    flag = max(odd, key=lambda flag: abs(math.log(flag.values["pace"])))
    return flag.where["arm"], flag.where["block"], flag.values["pace"]


def _find_paces(documents: Mapping[int, Document]) -> dict[int, float]:
    """The logarithm of each invocation's pace, by block."""
    if len(documents) < FEWEST_BLOCKS:
        return {}
    times = {
        block: {
            cell.id: math.log(statistics.median(cell.samples_s))
            for cell in document.cells
            if cell.outcome == "measured" and cell.samples_s
        }
        for block, document in documents.items()
    }
    asked = Counter(cell.id for document in documents.values() for cell in document.cells)
    timed = Counter(name for by_cell in times.values() for name in by_cell)
    # Of a cell that rested in later blocks these hold nothing.
    usual = {
        name: statistics.median(by_cell[name] for by_cell in times.values() if name in by_cell)
        for name, count in timed.items()
        if count == asked[name] >= FEWEST
    }
    apart = {
        block: [log - usual[name] for name, log in by_cell.items() if name in usual]
        for block, by_cell in times.items()
    }
    return {
        block: statistics.median(logs) for block, logs in apart.items() if len(logs) >= FEWEST_CELLS
    }
