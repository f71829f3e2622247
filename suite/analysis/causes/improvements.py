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
from suite.analysis.result.numbers import OTHER_LEVEL, Evidence, Value, cite
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
    summary: CellSummary
    other: CellSummary


@dataclass(frozen=True, kw_only=True)
class Gained:
    """What a pair gains on an arm, and what that shows."""

    pair: Pair
    finding: Finding
    shown: Shown

    @property
    def gain(self) -> float:
        """How many times less time a unit of work takes."""
        return self.finding.number.value


def find_improvements(index: CellIndex) -> list[Finding]:
    """Every change that was measured, the GPU's arm first; those of the script alone before those that train
    otherwise, the largest gain first.  A change that is shown to do both stands there twice."""
    arms = dict.fromkeys(arm for arm in (index.gpu, index.cpu) if arm)
    return [change for arm in arms for change in _find_on(index, arm)]


def _find_on(index: CellIndex, arm: str) -> Iterator[Finding]:
    changes: dict[str, list[Gained]] = {}
    for gained in _judge(index, arm):
        changes.setdefault(f"{gained.pair.change} {gained.pair.effect}", []).append(gained)
    chosen = [(gained, own) for own in changes.values() for gained in _choose(own)]
    for gained, own in sorted(chosen, key=lambda each: _rank(each[0])):
        pair, shown = gained.pair, [each.shown for each in own]
        costs: dict[str, Value] = {"costs": pair.costs} if pair.costs else {}
        yield structs.replace(
            gained.finding,
            tag="change",
            verdict=gained.shown,
            provisional=not index.gives_verdicts,
            evidence=(
                pair.change,
                *gained.finding.evidence,
                cite("effect", effect=pair.effect, **costs),
                cite("shown-in", pairs=shown.count("faster"), of=len(own)),
                cite("shown-in", pairs=shown.count("slower"), of=len(own)),
            ),
        )


def _rank(gained: Gained) -> tuple[bool, float]:
    return gained.pair.effect != "script", -gained.gain


def _choose(pairs: Sequence[Gained]) -> Iterator[Gained]:
    """The pair in which a change is shown to gain most, and the one in which it is shown to lose most; where
    it is shown to do neither, the one with the largest gain."""
    faster = [pair for pair in pairs if pair.shown == "faster"]
    slower = [pair for pair in pairs if pair.shown == "slower"]
    if faster or not slower:
        yield max(faster or pairs, key=lambda pair: pair.gain)
    if slower:
        yield min(slower, key=lambda pair: pair.gain)


def _judge(index: CellIndex, arm: str) -> Iterator[Gained]:
    """The pairs that have a gain on an arm, and what each shows: that it is beyond the margin, not only
    beyond 1.

    All pairs of an arm are one family, since they are many and the largest gains are told; in every profile,
    as fewer blocks agree by chance more often.
    """
    gains: dict[Pair, Finding] = {}
    for pair in _find_pairs(index, arm):
        where = _place(pair.summary.cell, pair.other.cell)
        if gain := find_speedup(index, pair.summary, pair.other, arm, where):
            gains[pair] = gain
    most = 1 + index.margin
    # What of a gain lies beyond the margin: 1 where nothing does.
    beyond = {
        pair: scale_ratio(gain.number, 1 / min(max(gain.number.value, 1 / most), most))
        for pair, gain in gains.items()
    }
    verdicts = judge(beyond, margin=0.0, invalid={}, level=OTHER_LEVEL)
    # A verdict is about times, and a gain is the ratio of two the other way round.
    meaning: Mapping[str, Shown] = {"SLOWER": "faster", "FASTER": "slower"}
    for pair, gain in gains.items():
        verdict = verdicts.get(pair)
        yield Gained(
            pair=pair, finding=gain, shown=meaning.get(verdict.name, "") if verdict else ""
        )


def _find_pairs(index: CellIndex, arm: str) -> Iterator[Pair]:
    """Every pair of cells with a number on an arm that are one change apart, other than of what is timed.

    What happens once in a process is a question of what is timed; and what the CPU does on every arm is
    told of the CPU's.
    """
    home = arm == (index.cpu or arm)
    cells = {
        id_: summary
        for id_, summary in index.cells.items()
        if summary.cell.role in MEASURED
        and not summary.cell.one_shot
        and (home or not summary.cell.on_cpu)
        and index.values(summary, arm)
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
    there = {str(summary.cell.params[axis]): summary for summary in line}
    values = [value for value in choice.values if value in there]
    for was, now in combinations(values, 2):
        change = cite("instead", now=choice.values[now], was=choice.values[was])
        yield _pair(change, choice, there[was], there[now])


def _take_sizes(axis: str, choice: Choice, line: Sequence[CellSummary]) -> Iterator[Pair]:
    """From the usual size, or else the smallest, to each larger one."""
    sizes = {
        size: summary
        for summary in line
        if isinstance(size := summary.cell.params[axis], int | float)
    }
    begin = choice.usual if choice.usual in sizes else min(sizes, default=None)
    for size, summary in sizes.items():
        if begin is not None and size > begin:
            yield _pair(cite("linked", words=choice.larger), choice, sizes[begin], summary)


def _follow_links(cells: Mapping[str, CellSummary], summary: CellSummary) -> Iterator[Pair]:
    """To the cells of other cases that are a change of whoever writes the script."""
    for links in summary.cell.links.values():
        for link in links:
            if link.effect not in {None, "timing"} and link.to in cells:
                yield _pair(cite("linked", words=link.words), link, summary, cells[link.to])


def _follow_stages(cells: Mapping[str, CellSummary], summary: CellSummary) -> Iterator[Pair]:
    """To the next stage of a script."""
    way = summary.cell.way
    for before, stage in pairwise(way.stages if way and not way.pinned else ()):
        other = cells.get(stage.cell or "")
        if before.cell == summary.cell.id and stage.effect != "timing" and other is not None:
            change = cite("linked", words=stage.called or stage.change)
            yield _pair(change, stage, summary, other)


def _pair(
    change: Evidence, how: Choice | Link | Step, summary: CellSummary, other: CellSummary
) -> Pair:
    effect = how.effect or "script"
    return Pair(change=change, effect=effect, costs=how.costs, summary=summary, other=other)


def _place(cell: Cell, other: Cell) -> Evidence:
    """Where a gain was measured: by the axis that differs, or else by the cell."""
    if cell.name == other.name and cell.params.keys() == other.params.keys():
        differing = [axis for axis, value in cell.params.items() if other.params[axis] != value]
        if len(differing) == 1:
            return cite("of-value", axis=differing[0], value=other.params[differing[0]])
    return cite("at-cell", cell=other.id)
