"""What would help on this machine, and what would not: every pair of cells one change apart.  Pure.

Which axes are a change of whoever writes the script, and what it costs, the cells say themselves
(`suite.cells.cell.Choice`); so do links to other cases, and the stages of a script.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from msgspec import structs

from suite.analysis.ablation.cell_index import CellIndex
from suite.analysis.ablation.speedups import find_speedup
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.compare import judge
from suite.analysis.result.findings import Finding, Shown
from suite.analysis.result.numbers import OTHER_LEVEL, Evidence, Value, cite
from suite.analysis.statistics.ratio import scale_ratio
from suite.cells.cell import Cell, Choice, Link, Step
from suite.cells.changes import find_effect

MEASURED = ("work", "input")
"""The roles of cells that somebody wants faster; a price, a control or a reference is none."""


Pair = tuple[Evidence, Choice | Link | Step, CellSummary, CellSummary]
"""What a change is called, who declares its effect and costs, and the cells before and after it."""


def find_improvements(index: CellIndex) -> list[Finding]:
    """Every change that was measured, the GPU's arm first; those of the script alone before those that train
    otherwise, the largest gain first.  A change that is shown to do both stands there twice."""
    arms = dict.fromkeys(arm for arm in (index.gpu, index.cpu) if arm)
    return [change for arm in arms for change in sorted(_find_on(index, arm), key=_rank)]


def _find_on(index: CellIndex, arm: str) -> Iterator[Finding]:
    changes: dict[str, list[Finding]] = {}
    for gain in _judge(index, list(_find_gains(index, arm))):
        changes.setdefault(f"{gain.evidence[0]} {_read_effect(gain)}", []).append(gain)
    for gains in changes.values():
        shown = [gain.verdict for gain in gains]
        counts = [
            cite("shown-in", pairs=shown.count(verdict), of=len(gains))
            for verdict in ("faster", "slower")
        ]
        for gain in _choose(gains):
            yield structs.replace(gain, evidence=(*gain.evidence, *counts))


def _find_gains(index: CellIndex, arm: str) -> Iterator[Finding]:
    """What every pair gains on an arm, with what the change is and costs."""
    for change, how, summary, other in _find_pairs(index, arm):
        where = _place(summary.cell, other.cell)
        if gain := find_speedup(index, summary, other, arm, where):
            costs: dict[str, Value] = {"costs": how.costs} if how.costs else {}
            effect = cite("effect", effect=how.effect or "script", **costs)
            yield structs.replace(
                gain,
                tag="change",
                provisional=not index.gives_verdicts,
                evidence=(change, where, effect),
            )


def _read_effect(gain: Finding) -> Value:
    return gain.evidence[2].values["effect"]


def _rank(gain: Finding) -> tuple[bool, float]:
    return _read_effect(gain) != "script", -gain.number.value


def _choose(gains: Sequence[Finding]) -> Iterator[Finding]:
    """The pair in which a change is shown to gain most, and the one in which it is shown to lose most; where
    it is shown to do neither, the one with the largest gain."""
    faster = [gain for gain in gains if gain.verdict == "faster"]
    slower = [gain for gain in gains if gain.verdict == "slower"]
    if faster or not slower:
        yield max(faster or gains, key=lambda gain: gain.number.value)
    if slower:
        yield min(slower, key=lambda gain: gain.number.value)


def _judge(index: CellIndex, gains: Sequence[Finding]) -> Iterator[Finding]:
    """The gains with what each shows: that it is beyond the margin, not only beyond 1.

    All pairs of an arm are one family, since they are many and the largest gains are told; in every profile,
    as fewer blocks agree by chance more often.
    """
    most = 1 + index.margin
    # What of a gain lies beyond the margin: 1 where nothing does.
    beyond = {
        place: scale_ratio(gain.number, 1 / min(max(gain.number.value, 1 / most), most))
        for place, gain in enumerate(gains)
    }
    verdicts = judge(beyond, margin=0.0, invalid={}, level=OTHER_LEVEL, share=index.share)
    # A verdict is about times, and a gain is the ratio of two the other way round.
    shown: Mapping[str, Shown] = {"SLOWER": "faster", "FASTER": "slower"}
    for place, gain in enumerate(gains):
        name = verdicts[place].name if place in verdicts else ""
        yield structs.replace(gain, verdict=shown.get(name, ""))


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
        yield change, choice, there[was], there[now]


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
            yield cite("linked", words=choice.larger), choice, sizes[begin], summary


def _follow_links(cells: Mapping[str, CellSummary], summary: CellSummary) -> Iterator[Pair]:
    """To the cells of other cases that are a change of whoever writes the script."""
    for links in summary.cell.links.values():
        for link in links:
            if link.effect not in {None, "timing"} and link.to in cells:
                yield cite("linked", words=link.words), link, summary, cells[link.to]


def _follow_stages(cells: Mapping[str, CellSummary], summary: CellSummary) -> Iterator[Pair]:
    """To the next stage of a script."""
    way = summary.cell.way
    for before, stage in pairwise(way.stages if way and not way.on_cpu else ()):
        other = cells.get(stage.cell or "")
        if before.cell == summary.cell.id and other and (effect := find_effect(stage)) != "timing":
            how = replace(stage, effect=effect)
            yield cite("linked", words=stage.called or stage.change), how, summary, other


def _place(cell: Cell, other: Cell) -> Evidence:
    """Where a gain was measured: by the axis that differs, or else by the cell."""
    if cell.name == other.name and cell.params.keys() == other.params.keys():
        differing = [axis for axis, value in cell.params.items() if other.params[axis] != value]
        if len(differing) == 1:
            return cite("of-value", axis=differing[0], value=other.params[differing[0]])
    return cite("at-cell", cell=other.id)
