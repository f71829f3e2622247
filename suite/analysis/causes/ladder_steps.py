"""From a stage of a script's way to the next one that has a number: what goes away, by cause.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from suite.analysis.ablation.cell_index import CellIndex
from suite.analysis.ablation.overheads import Overhead, start_cost, transfer_cost
from suite.analysis.ablation.speedups import find_speedup
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.causes.parts import (
    Found,
    Part,
    Seconds,
    has_numbers,
    leave_out,
    mean_of,
    subtract,
)
from suite.analysis.result.findings import RuleName
from suite.analysis.result.numbers import cite
from suite.cells.cell import Ladder, Step

PRICES: Mapping[RuleName, Callable[[CellIndex, CellSummary, str], Overhead | None]] = {
    "start-up": start_cost,
    "transfer": transfer_cost,
}
"""What of a change other cells have measured."""


def next_stage(index: CellIndex, one: CellSummary, arms: Sequence[str]) -> Found | None:
    """The next stage of a script's way that has a number; None: it has none, or the cell is of no script."""
    way = one.cell.way
    if way is None:
        return None
    places = [position for position, stage in enumerate(way.stages) if stage.cell == one.cell.id]
    for first in places:
        for last in range(first + 1, len(way.stages)):
            other = index.cells.get(way.stages[last].cell or "")
            if other is not None and has_numbers(index, other, arms):
                passed = way.stages[first + 1 : last + 1]
                return other, list(_split(index, one, other, arms, way=way, stages=passed))
    return None


def _split(
    index: CellIndex,
    one: CellSummary,
    other: CellSummary,
    arms: Sequence[str],
    *,
    way: Ladder,
    stages: Sequence[Step],
) -> Iterator[Part]:
    """What goes away between two stages of a way, by cause; ``stages`` are those behind the one.

    Of changes of several causes that were measured together each takes its price, or what it took at a
    sibling of the way (another size), as far as the whole of them goes.  What is left is the last cause's
    where all others are known, and else nobody's.
    """
    left = leave_out(index, one, other, arms)
    is_fair = stages[-1] is way.stages[-1]
    how = cite("fair") if is_fair else cite("changed", change=stages[-1].change)
    gain = find_speedup(index, one, other, arms[-1], how)
    rules: list[RuleName] = list(dict.fromkeys(stage.removes for stage in stages if stage.removes))
    changes = {
        rule: tuple(stage.change for stage in stages if stage.removes == rule) for rule in rules
    }

    def part(
        rule: RuleName | None, seconds: Seconds, told: tuple[str, ...], *, apart: bool = False
    ) -> Part:
        evidence = cite(
            "gone-elsewhere" if apart else "gone",
            seconds=mean_of(seconds[arms[-1]]),
            changes=told,
        )
        return Part(rule=rule, cell=one, seconds=seconds, evidence=(evidence,), gain=gain)

    unknown: list[RuleName] = []
    # A start is what the others leave: of the sizes of one process only the first has paid it.
    for rule in sorted(rules, key=lambda one: one == "start-up") if len(rules) > 1 else []:
        known = _find_elsewhere(index, one, arms, way=way, changes=changes[rule], rule=rule)
        if known is None or (rule == "start-up" and not unknown):
            unknown.append(rule)
            continue
        taken = {
            arm: {block: max(0.0, min(s, known[arm])) for block, s in left[arm].items()}
            for arm in arms
        }
        left = {arm: subtract(left[arm], taken[arm]) for arm in arms}
        yield part(rule, taken, changes[rule], apart=True)
    last = rules if len(rules) == 1 else unknown
    told = tuple(stage.change for stage in stages)
    if len(last) == 1:
        yield part(last[0], left, told if len(rules) == 1 else changes[last[0]])
    else:
        yield part(None, left, told)


def _find_elsewhere(
    index: CellIndex,
    one: CellSummary,
    arms: Sequence[str],
    *,
    way: Ladder,
    changes: Sequence[str],
    rule: RuleName,
) -> Mapping[str, float] | None:
    """What these changes take, seconds a call by arm: copies and a start by their prices, others at the
    nearest sibling of the way at which they were measured by themselves."""
    if find_price := PRICES.get(rule):
        prices = {arm: price for arm in arms if (price := find_price(index, one, arm))}
        if len(prices) == len(arms):
            return {arm: price.seconds for arm, price in prices.items()}
    if rule == "start-up":
        return None
    found = []
    for other in index.cells.values():
        their = other.cell.way
        if their is None or (their.name, their.pinned) != (way.name, way.pinned):
            continue
        if their.stages[0].cell == other.cell.id and their.fixed != way.fixed:
            seconds = _add_up(index, their, changes, arms)
            if seconds is not None:
                found.append((_how_far(way, their), seconds))
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _add_up(
    index: CellIndex, way: Ladder, changes: Sequence[str], arms: Sequence[str]
) -> Mapping[str, float] | None:
    """What these changes of a way take, each measured between the stages right before and behind it."""
    total = dict.fromkeys(arms, 0.0)
    for change in changes:
        position = next((i for i, one in enumerate(way.stages) if one.change == change), 0)
        pair = [
            index.cells.get(stage.cell or "") for stage in way.stages[position - 1 : position + 1]
        ]
        if position == 0 or not all(has_numbers(index, one, arms) for one in pair):
            return None
        before, after = pair
        for arm in arms:
            first, second = (index.seconds(one, arm) or 0.0 for one in (before, after))
            total[arm] += first - second
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
