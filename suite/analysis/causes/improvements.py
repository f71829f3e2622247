"""What would help on this machine, and what would not: every pair of cells one change apart.  Pure.

Which axes are a change of whoever writes the script, and what it costs, the cells say themselves
(`suite.cells.cell.Choice`); so do links to other cases, and the stages of a script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from msgspec import structs

from suite.analysis.ablation.cell_index import CellIndex
from suite.analysis.ablation.speedups import find_speedup
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.compare import judge, scale_ratio
from suite.analysis.result.findings import Finding, Shown
from suite.analysis.result.numbers import OTHER_LEVEL, Estimate, Evidence, Value, cite
from suite.cells.cell import Cell, Choice, Link, Step
from suite.cells.traits import Effect

MEASURED = ("work", "input")
"""The roles of cells that somebody wants faster; a price, a control or a reference is none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """A cell and another that is one change away: what that is called, is, and costs besides."""

    change: Evidence
    effect: Effect
    costs: str
    one: CellSummary
    other: CellSummary


def find_improvements(index: CellIndex) -> list[Finding]:
    """Every change that was measured, the GPU's arm first; those of the script alone before those that train
    otherwise, the largest gain first.  A change that is shown to do both stands there twice."""
    arms = dict.fromkeys(arm for arm in (index.gpu, index.cpu) if arm)
    return [change for arm in arms for change in _find_on(index, arm)]


def _find_on(index: CellIndex, arm: str) -> list[Finding]:
    gains: dict[Pair, Finding] = {}
    for pair in _find_pairs(index, arm):
        where = _place(pair.one.cell, pair.other.cell)
        gain = find_speedup(index, pair.one, pair.other, arm, where)
        if gain is not None:
            gains[pair] = gain
    shown = _judge(index, gains)
    changes: dict[str, list[Pair]] = {}
    for pair in gains:
        changes.setdefault(f"{pair.change} {pair.effect}", []).append(pair)
    chosen = {
        pair: _describe(pair, own, shown)
        for own in changes.values()
        for pair in _choose(own, gains, shown)
    }
    ordered = sorted(chosen, key=lambda pair: (pair.effect != "script", -gains[pair].number.value))
    return [
        structs.replace(
            gains[pair],
            tag="change",
            verdict=shown[pair],
            provisional=not index.gives_verdicts,
            evidence=(pair.change, *gains[pair].evidence, *chosen[pair]),
        )
        for pair in ordered
    ]


def _describe(pair: Pair, own: Sequence[Pair], shown: Mapping[Pair, Shown]) -> tuple[Evidence, ...]:
    """What a change costs, and in how many of its pairs it is shown to be faster, and slower."""
    price: dict[str, Value] = {"costs": pair.costs} if pair.costs else {}
    faster, slower = (sum(shown[each] == way for each in own) for way in ("faster", "slower"))
    return (
        cite("effect", effect=pair.effect, **price),
        cite("shown-in", pairs=faster, of=len(own)),
        cite("shown-in", pairs=slower, of=len(own)),
    )


def _choose(
    pairs: Sequence[Pair], gains: Mapping[Pair, Finding], shown: Mapping[Pair, Shown]
) -> Iterator[Pair]:
    """The pair in which a change is shown to gain most, and the one in which it is shown to lose most; where
    it is shown to do neither, the one with the largest gain."""

    def find_gain(pair: Pair) -> float:
        return gains[pair].number.value

    faster = [pair for pair in pairs if shown[pair] == "faster"]
    slower = [pair for pair in pairs if shown[pair] == "slower"]
    if faster:
        yield max(faster, key=find_gain)
    if slower:
        yield min(slower, key=find_gain)
    if not faster and not slower:
        yield max(pairs, key=find_gain)


def _judge(index: CellIndex, gains: Mapping[Pair, Finding]) -> dict[Pair, Shown]:
    """What each pair shows: that its gain is beyond the margin, not only beyond 1.

    All pairs of an arm are one family, since they are many and the largest gains are told; in every profile,
    as fewer blocks agree by chance more often.
    """
    most = 1 + index.margin
    shown: dict[Pair, Shown] = dict.fromkeys(gains, "")
    names = {str(place): pair for place, pair in enumerate(gains)}
    beyond = {name: _leave_margin(gains[pair].number, most) for name, pair in names.items()}
    verdicts = judge(beyond, margin=0.0, invalid={}, level=OTHER_LEVEL)
    for name, verdict in verdicts.items():
        if verdict.names_winner:
            # A verdict is about times, and a gain is the ratio of two the other way round.
            shown[names[name]] = "faster" if verdict.name == "SLOWER" else "slower"
    return shown


def _leave_margin(gain: Estimate, most: float) -> Estimate:
    """What of a gain lies beyond the margin: 1 where nothing does."""
    return scale_ratio(gain, 1 / min(max(gain.value, 1 / most), most))


def _find_pairs(index: CellIndex, arm: str) -> Iterator[Pair]:
    """Every pair of cells with a number on an arm that are one change apart, other than of what is timed.

    What happens once in a process is a question of what is timed; and what the CPU does on every arm is
    told of the CPU's.
    """
    home = arm == (index.cpu or arm)
    cells = {
        id_: one
        for id_, one in index.cells.items()
        if one.cell.role in MEASURED
        and not one.cell.one_shot
        and (home or not one.cell.on_cpu)
        and index.values(one, arm)
    }
    lines: dict[str, tuple[str, Choice, list[CellSummary]]] = {}
    for summary in cells.values():
        yield from _follow_links(cells, summary)
        yield from _follow_stages(cells, summary)
        for axis, choice in summary.cell.choices.items():
            rest = {name: value for name, value in summary.cell.params.items() if name != axis}
            key = f"{summary.cell.name} {axis} {rest} {choice}"
            lines.setdefault(key, (axis, choice, []))[2].append(summary)
    for axis, choice, line in lines.values():
        if choice.effect != "timing":
            yield from (_take_sizes if choice.larger else _take_values)(axis, choice, line)


def _take_values(axis: str, choice: Choice, line: Sequence[CellSummary]) -> Iterator[Pair]:
    """From each value to each that is advised in its place."""
    there = {str(one.cell.params[axis]): one for one in line}
    known = [value for value in choice.values if value in there]
    for was, now in combinations(known, 2):
        change = cite("instead", now=choice.values[now], was=choice.values[was])
        yield _pair(change, choice, there[was], there[now])


def _take_sizes(axis: str, choice: Choice, line: Sequence[CellSummary]) -> Iterator[Pair]:
    """From the usual size, or else the smallest, to each larger one."""
    sizes = {size: one for one in line if isinstance(size := one.cell.params[axis], int | float)}
    begin = choice.usual if choice.usual in sizes else min(sizes, default=None)
    for size, one in sizes.items():
        if begin is not None and size > begin:
            yield _pair(cite("linked", words=choice.larger), choice, sizes[begin], one)


def _follow_links(cells: Mapping[str, CellSummary], one: CellSummary) -> Iterator[Pair]:
    """To the cells of other cases that are a change of whoever writes the script."""
    for links in one.cell.links.values():
        for link in links:
            if link.effect not in {None, "timing"} and link.to in cells:
                yield _pair(cite("linked", words=link.words), link, one, cells[link.to])


def _follow_stages(cells: Mapping[str, CellSummary], one: CellSummary) -> Iterator[Pair]:
    """To the next stage of a script."""
    way = one.cell.way
    for before, stage in pairwise(way.stages if way and not way.pinned else ()):
        other = cells.get(stage.cell or "")
        if before.cell == one.cell.id and stage.effect != "timing" and other is not None:
            yield _pair(cite("linked", words=stage.called or stage.change), stage, one, other)


def _pair(
    change: Evidence, how: Choice | Link | Step, one: CellSummary, other: CellSummary
) -> Pair:
    return Pair(change=change, effect=how.effect or "script", costs=how.costs, one=one, other=other)


def _place(one: Cell, other: Cell) -> Evidence:
    """Where a gain was measured: by the axis that differs, or else by the cell."""
    if one.name == other.name and one.params.keys() == other.params.keys():
        differing = [axis for axis, value in one.params.items() if other.params[axis] != value]
        if len(differing) == 1:
            return cite("of-value", axis=differing[0], value=other.params[differing[0]])
    return cite("at-cell", cell=other.id)
