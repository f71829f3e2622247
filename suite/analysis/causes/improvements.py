"""What would help on this machine: every pair of cells that shows it, in a fixed order.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile

from suite.analysis.ablation.catalogue import Catalogue
from suite.analysis.ablation.speedups import find_speedup
from suite.analysis.ablation.waterfall import build_waterfalls
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.result.findings import Improvement, Kind, Spot
from suite.analysis.result.numbers import Evidence, cite
from suite.cells.traits import LinkName

USUAL_BATCH = 32
"""Keras's own default: a larger batch is larger than this, where it was measured."""

BATCH = "batch"
"""The axis along which work can be had in larger pieces by whoever trains."""


Pair = tuple[CellSummary, CellSummary, Evidence]
"""A cell, another one that shows what would help it, and what is different there."""


def find_improvements(catalogue: Catalogue) -> list[Improvement]:
    """What was measured of each kind, in the order of the kinds; on the GPU's arm where there is
    one, else on the CPU's."""
    arm = catalogue.gpu or catalogue.cpu
    if arm is None:
        return []
    return [
        Improvement(kind=kind, arm=arm, cell=one.cell.id, gain=gain)
        for kind, find_pairs in KINDS.items()
        for one, other, how in find_pairs(catalogue, arm)
        if (gain := find_speedup(catalogue, one, other, arm, how)) is not None
    ]


def _enlarge(catalogue: Catalogue, arm: str) -> Iterator[Pair]:
    """From the usual batch (the smallest, where that was not measured) to the best larger one."""
    seen = set()
    for one in catalogue.cells.values():
        if one.cell.role != "work" or one.cell.way is not None or BATCH not in one.cell.larger:
            continue
        # Of a step whose data can lie nearer, the nearest is the one to enlarge.
        near = [*one.cell.links.get("nearer", ()), *one.cell.links.get("compute", ())]
        if any(link.to != one.cell.id for link in near):
            continue
        line = catalogue.line(one, BATCH, arm)
        key = tuple(other.cell.id for _, other in line)
        if len(line) < 2 or key in seen:
            continue
        seen.add(key)
        usual, begin = next((pair for pair in line if pair[0] == USUAL_BATCH), line[0])
        gains = [
            find_speedup(catalogue, begin, other, arm, cite("of-size", axis=BATCH, size=size))
            for size, other in line
            if size > usual
        ]
        best = max((g for g in gains if g), key=lambda g: g.ratio.value, default=None)
        if best is not None:
            yield begin, catalogue.cells[best.at], best.how


def _follow(link: LinkName, said: Evidence | None = None) -> Callable[..., Iterator[Pair]]:
    """From every cell with this link to the cell that it leads to."""

    def find_pairs(catalogue: Catalogue, _: str) -> Iterator[Pair]:
        for one in catalogue.cells.values():
            for other, how in catalogue.links(one, link):
                yield one, other, said or how

    return find_pairs


def _bring_near(catalogue: Catalogue, arm: str) -> Iterator[Pair]:
    """From every cell that copies its data to the one that has them on the device; a CPU copies none."""
    return _follow("nearer")(catalogue, arm) if arm == catalogue.gpu else iter(())


def _unpython(catalogue: Catalogue, arm: str) -> Iterator[Pair]:
    # First what a model waits for.
    return iter(sorted(_follow("native")(catalogue, arm), key=lambda pair: pair[0].cell.pinned))


def _warm_up(catalogue: Catalogue, arm: str) -> Iterator[Pair]:
    """From the script's number to the last stage that only start-up separates from it."""
    for waterfall in build_waterfalls(catalogue):
        if waterfall.spot == Spot(arm=arm, pinned=False):
            first, *others = waterfall.steps
            started = list(takewhile(lambda step: step.rules == ("start-up",), others))
            if started:
                yield catalogue.cells[first.cell], catalogue.cells[started[-1].cell], cite("warm")


KINDS: dict[Kind, Callable[[Catalogue, str], Iterator[Pair]]] = {
    "larger-batch": _enlarge,
    "near-data": _bring_near,
    "prefetch": _follow("prefetched"),
    "less-python": _unpython,
    "no-fallback": _follow("without", cite("without-it")),
    "fewer-calls": _follow("fewer"),
    "one-trace": _follow("traced"),
    "warm-timing": _warm_up,
}
"""What can help, in the order in which it is told; each finds its pairs of cells."""
