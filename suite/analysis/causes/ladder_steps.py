"""From a stage of a script's way to the next one that has a number: what goes away, by cause.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from suite.analysis.ablation.cell_index import CellIndex
from suite.analysis.ablation.overheads import Overhead, start_cost, transfer_cost
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.parts import Compared, Found, Part, Seconds, mean_of, subtract
from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import cite
from suite.cells.cell import Ladder, Step

PRICES: Mapping[RuleName, Callable[[CellIndex, CellSummary, str], Overhead | None]] = {
    "start-up": start_cost,
    "transfer": transfer_cost,
}
"""What of a change other cells have measured."""


def next_stage(here: Compared) -> Found | None:
    """The next stage of a script's way that has a number; None: it has none, or the cell is of no script."""
    way = here.cell.way
    cells = [stage.cell for stage in way.stages] if way else []
    if way is None or here.cell.id not in cells:
        return None
    first = cells.index(here.cell.id) + 1
    for last in range(first, len(cells)):
        if other := here.at(here.index.cells.get(cells[last] or "")):
            return other, list(_split(here, other, way, way.stages[first : last + 1]))
    return None


def _split(here: Compared, other: Compared, way: Ladder, stages: Sequence[Step]) -> Iterator[Part]:
    """What goes away between two stages of a way, by cause; ``stages`` are those behind the first one.

    Of changes of several causes that were measured together each takes its price, or what it took at a
    sibling of the way (another size), as far as the whole of them goes.  What is left is the last cause's
    where all others are known, and else nobody's.
    """
    left, every = here.leave_out(other), tuple(stage.change for stage in stages)
    gain = here.find_gain(other.summary, cite("changed", changes=every))
    changes: dict[RuleName, list[str]] = {}
    for stage in stages:
        if stage.removes:
            changes.setdefault(stage.removes, []).append(stage.change)

    def make_part(
        rule: RuleName | None, seconds: Seconds, gone: Sequence[str], *, elsewhere: bool = False
    ) -> Part:
        evidence = cite(
            "gone-elsewhere" if elsewhere else "gone",
            seconds=mean_of(seconds[here.gpu]),
            changes=tuple(gone),
        )
        return Part(rule=rule, here=here, seconds=seconds, evidence=(evidence,), gains=(gain,))

    several, unpriced = len(changes) > 1, list[RuleName]()
    # A start is what the others leave: of the sizes of one process only the first has paid it.
    for rule in sorted(changes, key=lambda rule: rule == "start-up"):
        elsewhere = _find_elsewhere(here, way, changes[rule], rule) if several else None
        if elsewhere is None or (rule == "start-up" and not unpriced):
            unpriced.append(rule)
            continue
        taken = {
            arm: {block: max(0.0, min(s, elsewhere[arm])) for block, s in values.items()}
            for arm, values in left.items()
        }
        left = {arm: subtract(left[arm], taken[arm]) for arm in here.arms}
        yield make_part(rule, taken, changes[rule], elsewhere=True)
    if several and len(unpriced) == 1:
        yield make_part(unpriced[0], left, changes[unpriced[0]])
    else:
        yield make_part(unpriced[0] if len(unpriced) == 1 else None, left, every)


def _find_elsewhere(
    here: Compared, way: Ladder, changes: Sequence[str], rule: RuleName
) -> Mapping[str, float] | None:
    """What these changes take, seconds a call by arm: copies and a start by their prices, others at the
    nearest sibling of the way at which they were measured by themselves."""
    if find_price := PRICES.get(rule):
        prices = {arm: find_price(here.index, here.summary, arm) for arm in here.arms}
        priced = {arm: price.seconds for arm, price in prices.items() if price}
        if len(priced) == len(prices):
            return priced
    if rule == "start-up":
        return None
    siblings = [
        (_how_far(way, their), seconds)
        for other in here.index.cells.values()
        if (their := other.cell.way)
        and (their.name, their.on_cpu) == (way.name, way.on_cpu)
        and their.stages[0].cell == other.cell.id
        and their.fixed != way.fixed
        and (seconds := _add_up(here, their, changes))
    ]
    return min(siblings, key=lambda pair: pair[0])[1] if siblings else None


def _add_up(here: Compared, way: Ladder, changes: Sequence[str]) -> Mapping[str, float] | None:
    """What these changes of a way take, each measured between the stages right before and behind it."""
    total = dict.fromkeys(here.arms, 0.0)
    # Of a change that a plan names twice the first counts.
    pairs = {after.change: (before, after) for before, after in [*pairwise(way.stages)][::-1]}
    for change in changes:
        pair = [here.index.cells.get(stage.cell or "") for stage in pairs.get(change, ())]
        if not pair or not all(map(here.at, pair)):
            return None
        for arm in here.arms:
            before, after = (here.index.seconds(summary, arm) or 0.0 for summary in pair)
            total[arm] += before - after
    return total


def _how_far(way: Ladder, other: Ladder) -> float:
    """How many times larger or smaller another way's size is; the same size is the nearest."""
    far = 1.0
    for axis, value in way.fixed.items():
        there = other.fixed.get(axis)
        if isinstance(value, int | float) and isinstance(there, int | float) and value and there:
            far *= max(value / there, there / value)
        elif value != there:
            far *= 2.0
    return far
