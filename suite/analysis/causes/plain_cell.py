"""What a plain cell's time consists of: what every call takes however small, and the work.  Pure.

The work is what grows with the size; where a device does it at a lower rate than at larger sizes, it is too
small for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from suite.analysis.ablation.cell_index import Values, mean
from suite.analysis.ablation.overheads import BUSY, dispatch_cost
from suite.analysis.ablation.speedups import find_fewer, find_larger
from suite.analysis.causes.parts import Compared, Part, Seconds, mean_of, subtract
from suite.analysis.result.numbers import Evidence, cite

STEP = 4.0
"""The two sizes that a time is extended to no work from differ by this factor at least."""

FULL = 0.9
"""From this share of its device's rate at larger sizes on no size is too small."""

Fixed = tuple[Seconds, Evidence] | None
"""What every call takes, and what says so; None: nobody knows."""


def split_plain_cell(here: Compared) -> Iterator[Part]:
    """The parts of a cell in which nothing is left to leave out.

    What a call takes however small is the line through the two smallest sizes, at no work at all; where
    no sizes were measured it is what dispatch takes: with fewer calls, as it was seen, or by its
    measured cost.
    """
    index, gpu, sizes = here.index, here.gpu, _find_sizes(here)
    taken = _extend_sizes(here, *sizes) if sizes else _price_call(here)
    if taken is None:
        return
    fixed, evidence = taken
    larger = find_larger(index, here.summary, gpu)
    gains = (find_fewer(index, here.summary, gpu), larger)
    yield Part(rule="overhead", here=here, seconds=fixed, evidence=(evidence,), gains=gains)
    # Without other sizes nobody knows what of a time is the work; and where no larger one does better, the
    # size is not what keeps the rate down.
    if sizes is None or larger is None or (share := 1 / larger.number.value) >= FULL:
        return
    work = {arm: subtract(values, fixed[arm]) for arm, values in here.values.items()}
    # The GPU's own at that size's rate, or the CPU's work, whichever takes longer: beyond that it is small.
    # By their means: of each block the longer one would make a loss of noise.
    own = {block: share * s for block, s in here.values[gpu].items()}
    least = max([own, *(work[arm] for arm in here.arms[:-1])], key=mean_of)
    small = subtract(work[gpu], least)
    seconds = {**{arm: dict.fromkeys(small, 0.0) for arm in here.arms}, gpu: small}
    of_best = cite("of-best", share=share, best=larger.at)
    yield Part(rule="too small", here=here, seconds=seconds, evidence=(of_best,), gains=(larger,))


def is_dispatch_bound(here: Compared, arm: str) -> bool:
    """Whether the device was seen to wait for the host, which dispatches too slowly: by the median
    invocation, or by the worker's label in more than half of them."""
    results = here.index.measured(here.summary, arm)
    labelled = ["dispatch-bound" in result.labels for result in results]
    busy = here.index.enqueueing(here.summary, arm) or 0.0
    return busy > BUSY or 2 * sum(labelled) > len(labelled)


def _find_sizes(here: Compared) -> tuple[Compared, Compared] | None:
    """The two sizes of the same work that say most of what is fixed: along the axis with the smallest."""
    pairs = []
    for axis in dict.fromkeys(filter(None, [*here.cell.larger, here.cell.sweep])):
        line = [
            other
            for _, summary in here.index.line(here.summary, axis, here.gpu)
            if (other := here.at(summary)) and other.cell.work.amount > 0
        ]
        # The smallest, and the next one with `STEP` times the work.
        pairs += [
            (line[0], other)
            for other in line[1:]
            if other.cell.work.amount >= STEP * line[0].cell.work.amount
        ][:1]
    return min(pairs, key=lambda pair: pair[0].cell.work.amount, default=None)


def _extend_sizes(here: Compared, small: Compared, large: Compared) -> Fixed:
    """Seconds a call at no work, by block: never more than the cell takes, never under 0."""
    a, b = small.cell.work.amount, large.cell.work.amount
    fixed: dict[str, Values] = {}
    for arm, values in here.values.items():
        less, more = small.values[arm], large.values[arm]
        fixed[arm] = {
            block: min(s, max(0.0, min(less[block], (b * less[block] - a * more[block]) / (b - a))))
            for block, s in values.items()
            if block in less and block in more
        }
    evidence = cite(
        "at-no-work",
        smaller=small.cell.id,
        small=small.seconds,
        larger=large.cell.id,
        large=large.seconds,
        seconds=mean_of(fixed[here.gpu]),
    )
    return fixed, evidence


def _price_call(here: Compared) -> Fixed:
    """What goes away with fewer calls; else what dispatch was seen to take, where a device only waits for
    it, or its measured cost."""
    fewer = find_fewer(here.index, here.summary, here.gpu)
    if fewer and (other := here.at(here.index.cells[fewer.at])):
        gone = here.leave_out(other)
        return gone, cite("fewer", seconds=mean_of(gone[here.gpu]), **fewer.evidence[0].values)
    fixed: dict[str, Values] = {}
    for arm, values in here.values.items():
        share_seen = here.index.enqueueing(here.summary, arm)
        price = dispatch_cost(here.index, here.summary, arm)
        if share_seen is not None and is_dispatch_bound(here, arm):
            fixed[arm] = {block: share_seen * s for block, s in values.items()}
            evidence = cite("dispatch-bound")
        elif price is not None:
            fixed[arm] = {block: min(price.seconds, s) for block, s in values.items()}
            own = mean(values) or 0.0
            evidence = cite("handover", price=price.seconds, own=own, **price.values)
        else:
            return None
    return fixed, evidence
