"""What would help on this machine: every pair of cells that shows it, in a fixed order.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from suite.analysis.ablation.catalogue import Catalogue
from suite.analysis.ablation.speedups import find_speedup
from suite.analysis.ablation.waterfall import build_waterfalls
from suite.analysis.result.findings import Improvement, Kind, Spot, Waterfall
from suite.analysis.result.numbers import Evidence, cite
from suite.cells.traits import LinkName

USUAL_BATCH = 32
"""Keras's own default: a larger batch is larger than this, where it was measured."""

BATCH = "batch"
"""The axis along which work can be had in larger pieces by whoever trains."""


def find_improvements(catalogue: Catalogue) -> list[Improvement]:
    """What was measured of each kind, in the order of the kinds; on the GPU's arm where there is
    one, else on the CPU's."""
    arm = catalogue.gpu or catalogue.cpu
    if arm is None:
        return []
    return [found for kind in KINDS for found in KINDS[kind](catalogue, arm)]


def _enlarge(catalogue: Catalogue, arm: str) -> Iterator[Improvement]:
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
        begin = next((pair for pair in line if pair[0] == USUAL_BATCH), line[0])
        gains = [
            find_speedup(catalogue, begin[1], other, arm, cite("of-size", axis=BATCH, size=size))
            for size, other in line
            if size > begin[0]
        ]
        best = max((g for g in gains if g), key=lambda g: g.ratio.value, default=None)
        if best is not None:
            yield Improvement(kind="larger-batch", arm=arm, cell=begin[1].cell.id, gain=best)


def _prefetch(catalogue: Catalogue, arm: str) -> Iterator[Improvement]:
    return _follow(catalogue, "prefetch", arm, "prefetched")


def _unpython(catalogue: Catalogue, arm: str) -> Iterator[Improvement]:
    found = _follow(catalogue, "less-python", arm, "native")
    # First what a model waits for.
    return iter(sorted(found, key=lambda one: catalogue.cells[one.cell].cell.pinned))


def _stay(catalogue: Catalogue, arm: str) -> Iterator[Improvement]:
    return _follow(catalogue, "no-fallback", arm, "without", cite("without-it"))


def _follow(
    catalogue: Catalogue, kind: Kind, arm: str, link: LinkName, said: Evidence | None = None
) -> Iterator[Improvement]:
    """From every cell with this link to the cell that it leads to."""
    for one in catalogue.cells.values():
        for other, how in catalogue.links(one, link):
            gain = find_speedup(catalogue, one, other, arm, said or how)
            if gain is not None:
                yield Improvement(kind=kind, arm=arm, cell=one.cell.id, gain=gain)


def _warm_up(catalogue: Catalogue, arm: str) -> Iterator[Improvement]:
    """From the script's number to the last stage that only start-up separates from it."""
    for waterfall in build_waterfalls(catalogue):
        if waterfall.spot != Spot(arm=arm, pinned=False):
            continue
        steps = _take_start(waterfall)
        if len(steps) < 2:
            continue
        first, last = (catalogue.cells[name] for name in (steps[0], steps[-1]))
        gain = find_speedup(catalogue, first, last, arm, cite("warm"))
        if gain is not None:
            yield Improvement(kind="warm-timing", arm=arm, cell=first.cell.id, gain=gain)


def _take_start(waterfall: Waterfall) -> list[str]:
    """The cells of a waterfall's first steps, as long as start-up is all that changes."""
    found = [waterfall.steps[0].cell]
    for step in waterfall.steps[1:]:
        if step.rules != ("start-up",):
            break
        found.append(step.cell)
    return found


KINDS: dict[Kind, Callable[[Catalogue, str], Iterator[Improvement]]] = {
    "larger-batch": _enlarge,
    "prefetch": _prefetch,
    "less-python": _unpython,
    "no-fallback": _stay,
    "warm-timing": _warm_up,
}
"""What can help, in the order in which it is told; each finds its pairs of cells."""
