"""What a plain cell's time consists of: what every call takes however small, and the work.  Pure.

The work is what grows with the size; where a device does it at less than its own best rate, it is too
small for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from suite.analysis.ablation.cell_index import CellIndex, Values, mean
from suite.analysis.ablation.overheads import BUSY, dispatch_cost
from suite.analysis.ablation.speedups import best_speedup, find_fewer, find_larger, find_utilization
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.parts import Part, Seconds, has_numbers, leave_out, mean_of, subtract
from suite.analysis.result.numbers import Evidence, cite

STEP = 4.0
"""The two sizes that a time is extended to no work from differ by this factor at least."""


def split_plain_cell(index: CellIndex, one: CellSummary, arms: Sequence[str]) -> Iterator[Part]:
    """The parts of a cell in which nothing is left to leave out; the GPU's arm is the last.

    What a call takes however small is the line through the two smallest sizes, at no work at all; where
    no sizes were measured it is what dispatch takes: with fewer calls, as it was seen, or by its
    measured cost.
    """
    gpu = arms[-1]
    sizes = _find_sizes(index, one, arms)
    larger = find_larger(index, one, gpu)
    if sizes is not None:
        fixed, told = _extend_sizes(index, one, sizes, arms)
    else:
        fixed, told = _price_call(index, one, arms)
    if fixed is None:
        return
    gain = best_speedup(find_fewer(index, one, gpu), larger)
    yield Part(rule="overhead", cell=one, seconds=fixed, evidence=told, gain=gain)
    used = find_utilization(index, one, gpu)
    # Without other sizes nobody knows what of a time is the work.
    if used is None or sizes is None:
        return
    share, best = used
    work = {arm: subtract(index.values(one, arm), fixed[arm]) for arm in arms}
    ideal = {block: share * s for block, s in index.values(one, gpu).items()}
    # The CPU's work, or the GPU's own at its best rate, whichever takes longer: beyond that it is small.
    least = ideal
    if len(arms) > 1:
        least = {b: max(s, ideal[b]) for b, s in work[arms[0]].items() if b in ideal}
    small = {block: max(0.0, s) for block, s in subtract(work[gpu], least).items()}
    seconds = {**{arm: dict.fromkeys(small, 0.0) for arm in arms}, gpu: small}
    seen = (cite("of-best", share=share, best=best.cell.id),)
    yield Part(rule="too small", cell=one, seconds=seconds, evidence=seen, gain=larger)


def is_dispatch_bound(index: CellIndex, one: CellSummary, arm: str) -> bool:
    """Whether the device was seen to wait for the host, which dispatches too slowly: by the median
    invocation, or by the worker's label in more than half of them."""
    labelled = ["dispatch-bound" in result.labels for result in index.measured(one, arm)]
    return (index.enqueueing(one, arm) or 0.0) > BUSY or 2 * sum(labelled) > len(labelled)


Sizes = tuple[CellSummary, CellSummary]
Fixed = tuple[Seconds | None, tuple[Evidence, ...]]


def _extend_sizes(index: CellIndex, one: CellSummary, sizes: Sizes, arms: Sequence[str]) -> Fixed:
    fixed = {arm: _extend(index, one, *sizes, arm) for arm in arms}
    small, large = (mean(index.values(size, arms[-1])) or 0.0 for size in sizes)
    told = cite(
        "at-no-work",
        smaller=sizes[0].cell.id,
        small=small,
        larger=sizes[1].cell.id,
        large=large,
        seconds=mean_of(fixed[arms[-1]]),
    )
    return fixed, (told,)


def _find_sizes(index: CellIndex, one: CellSummary, arms: Sequence[str]) -> Sizes | None:
    """The two sizes of the same work that say most of what is fixed: along the axis with the smallest."""
    pairs = []
    for axis in dict.fromkeys(filter(None, [*one.cell.larger, one.cell.sweep])):
        line = [
            other
            for _, other in index.line(one, axis, arms[-1])
            if has_numbers(index, other, arms) and other.cell.work.amount > 0
        ]
        # The smallest, and the next one with `STEP` times the work.
        for other in line[1:]:
            if other.cell.work.amount >= STEP * line[0].cell.work.amount:
                pairs.append((line[0], other))
                break
    return min(pairs, key=lambda pair: pair[0].cell.work.amount, default=None)


def _price_call(index: CellIndex, one: CellSummary, arms: Sequence[str]) -> Fixed:
    """What goes away with fewer calls; else what dispatch was seen to take, or its measured cost."""
    fewer = find_fewer(index, one, arms[-1])
    other = index.cells[fewer.at] if fewer else None
    if fewer and other and has_numbers(index, other, arms):
        share = 1 - 1 / fewer.number.value
        told = cite("fewer", share=share, **fewer.evidence[0].values)
        return leave_out(index, one, other, arms), (told,)
    return _find_dispatch(index, one, arms)


def _find_dispatch(index: CellIndex, one: CellSummary, arms: Sequence[str]) -> Fixed:
    """What dispatch was seen to take, where a device only waits for it; else its measured cost."""
    found: dict[str, Values] = {}
    told: tuple[Evidence, ...] = ()
    for arm in arms:
        values = index.values(one, arm)
        own = mean(values) or 0.0
        seen = index.enqueueing(one, arm)
        price = dispatch_cost(index, one, arm)
        if seen is not None and is_dispatch_bound(index, one, arm):
            found[arm] = {block: seen * s for block, s in values.items()}
            told = (cite("dispatch-bound"),)
        elif price is not None:
            found[arm] = {block: min(price.seconds, s) for block, s in values.items()}
            told = (cite("handover", price=price.seconds, own=own, **price.values),)
        else:
            return None, ()
    return found, told


def _extend(
    index: CellIndex, one: CellSummary, first: CellSummary, second: CellSummary, arm: str
) -> Values:
    """Seconds a call at no work, by block: never more than the cell takes, never under 0."""
    a, b = first.cell.work.amount, second.cell.work.amount
    small, large = index.values(first, arm), index.values(second, arm)
    return {
        block: min(s, max(0.0, min(small[block], (b * small[block] - a * large[block]) / (b - a))))
        for block, s in index.values(one, arm).items()
        if block in small and block in large
    }
