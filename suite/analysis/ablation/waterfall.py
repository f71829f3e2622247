"""From what was asked about to the fair number, one change at a time.

The factors of the steps that were measured, and what was asked about says about the GPU against what the
fair numbers say; the stages are what the cells say.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise

from suite.analysis.ablation.cell_index import CellIndex, Values, mean
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.compare import Rows, compare_pairs, find_paired_ratio
from suite.analysis.result.cells import Comparison
from suite.analysis.result.findings import Finding, Meaning, Spot, Step, Waterfall
from suite.analysis.result.numbers import FEWEST, OTHER_LEVEL, Evidence, Ratio, Verdict, cite
from suite.analysis.statistics.estimate import estimate, estimate_difference
from suite.cells.cell import Ladder
from suite.cells.traits import Removed

ENDS = (0, -1)
"""The first stage of a waterfall, which is the script, and the last one, the fair number."""

Measured = tuple[Step, Values]
"""A stage that has a number, and its seconds a unit by block."""


def build_waterfalls(index: CellIndex) -> list[Waterfall]:
    """Every waterfall of which at least two stages have a number, in the order of the plan."""
    places: dict[str, dict[bool, Ladder]] = {}
    for summary in index.cells.values():
        if (way := summary.cell.way) is not None:
            places.setdefault(f"{way.name} {way.fixed}", {})[way.pinned] = way
    return [
        waterfall
        for ways in places.values()
        for arm in index.arms
        for _, way in sorted(ways.items())
        if (waterfall := _build(index, way, arm)) is not None
    ]


def find_naive_gaps(waterfalls: list[Waterfall], index: CellIndex) -> Iterator[Finding]:
    """The GPU against the CPU arm, and against the CPU beside it, by script and by fair number.

    Each gap comes before the changes that make a share of it beyond doubt, the largest first.  All of these
    comparisons are judged as one family, since a campaign has dozens; a profile that gives no verdicts has
    none of them either.
    """
    pairs = list(_pair(waterfalls, index))
    compared = compare_pairs(
        {(place, end): ends[end] for place, (_, _, ends) in enumerate(pairs) for end in ENDS},
        margin=index.margin,
        level=OTHER_LEVEL,
    )
    for place, (waterfall, rival, _) in enumerate(pairs):
        both = [compared[place, end].verdict for end in ENDS]
        naive, fair = (_demand_ratio(compared[place, end]) for end in ENDS)
        off = naive.value / fair.value
        verdict = _judge_gap(*map(_find_side, both), provisional=None in both)
        find = partial(
            Finding,
            arm=waterfall.spot.arm,
            cell=waterfall.steps[0].cell,
            against=rival.spot.arm,
        )
        yield find(
            tag="gap",
            value=naive,
            beside=fair,
            verdict=verdict,
            provisional=None in both,
            evidence=(cite("off-by", factor=max(off, 1 / off)),),
        )
        for changes, share in _split(index, waterfall, rival):
            yield find(tag="gone", share=share, evidence=(cite("changes", changes=changes),))


def _judge_gap(naive: int, fair: int, *, provisional: bool) -> Meaning:
    """What a script misleads to: the wrong winner, or a difference where the fair numbers see none."""
    if naive * fair < 0:
        return "wrong-winner"
    if naive and not fair:
        return "invented"
    if provisional:
        return "unjudged"
    return "off-by" if naive or fair else "alike"


def _pair(
    waterfalls: list[Waterfall], index: CellIndex
) -> Iterator[tuple[Waterfall, Waterfall, dict[int, tuple[Rows, Rows]]]]:
    """The GPU's waterfalls, each with a rival's of the same script, and the observations of their first
    stages and of their last ones, the rival's first."""
    rivals = [(index.cpu, False), (index.gpu, True)]
    for one in waterfalls:
        if one.spot.arm != index.gpu or one.spot.pinned:
            continue
        for other in waterfalls:
            rival = (other.spot.arm, other.spot.pinned) in rivals
            same = (other.name, other.fixed) == (one.name, one.fixed)
            if not (rival and same and _same_ends(one, other)):
                continue
            ends = {
                end: (
                    _take_rows(index, other, other.steps[end]),
                    _take_rows(index, one, one.steps[end]),
                )
                for end in ENDS
            }
            blocks = [[{row.block for row in rows} for rows in pair] for pair in ends.values()]
            if all(base & gpu for base, gpu in blocks):
                yield one, other, ends


def _demand_ratio(compared: Comparison) -> Ratio:
    if compared.ratio is None:
        raise ValueError("stages that have blocks in common have no ratio")
    return compared.ratio


def _take_rows(index: CellIndex, one: Waterfall, step: Step) -> Rows:
    """The observations of a stage that have a value, with seconds a unit of the waterfall's."""
    values = _take_step(index, one, step)
    rows = index.rows(index.cells[step.cell], one.spot.arm)
    return [
        replace(row, seconds=values[row.block])
        for row in rows
        if row.block is not None and row.block in values
    ]


def _split(
    index: CellIndex, one: Waterfall, other: Waterfall
) -> list[tuple[tuple[str, ...], float]]:
    """The changes that make the way from the script's difference of two places to the fair one, and their
    shares of it.

    In seconds a unit, block by block, at the stages that both have: those that make it shorter or longer
    by more than 0, as the 95 % CI (Student's t) has it.
    """
    beside = {step.changes[-1]: step for step in other.steps}
    changes: list[str] = []
    stages: list[tuple[tuple[str, ...], Values]] = []
    for step in one.steps:
        changes += step.changes
        if step.changes[-1] in beside:
            here = _take_step(index, one, step)
            there = _take_step(index, other, beside[step.changes[-1]])
            apart = {block: here[block] - there[block] for block in here if block in there}
            stages.append((tuple(changes), apart))
            changes = []
    whole = _measure_shrinkage(stages[0][1], stages[-1][1])
    parts = [
        (made, part / whole)
        for (_, before), (made, after) in pairwise(stages)
        if whole and (part := _measure_shrinkage(before, after))
    ]
    return sorted(parts, key=lambda part: -part[1])


def _measure_shrinkage(before: Values, after: Values) -> float:
    """By how much a difference shrinks, in seconds; 0 where the blocks don't show that it does."""
    away = [before[block] - after[block] for block in after if block in before]
    if len(away) < FEWEST:
        return 0.0
    shrinkage = estimate_difference(away)
    return shrinkage.value if shrinkage.least > 0 or shrinkage.most < 0 else 0.0


def find_break_even(index: CellIndex, one: CellSummary, arm: str) -> Evidence | None:
    """After how much of the fair work the GPU has made up for a script's longer start, against the CPU."""
    cpu, way, call = index.cpu, one.cell.way, index.seconds(one, arm)
    if way is None or cpu in {None, arm} or not call:
        return None
    path, rival = (_find_path(index, way, one.cell.id, place) for place in (arm, cpu))
    if not path or not rival or rival[-1][0].cell != path[-1][0].cell:
        return None
    own, fair, theirs, their_fair = (
        mean(values) or 0.0 for _, values in (path[0], path[-1], rival[0], rival[-1])
    )
    longer, saving = (own - fair) - (theirs - their_fair), their_fair - fair
    ratio = find_paired_ratio(path[-1][1], rival[-1][1])
    if longer <= 0 or ratio is None:
        return None
    if ratio.most <= 1:
        return cite("never-repaid")
    # Only a saving that the interval bears out is one.
    if saving <= 0 or ratio.least <= 1:
        return cite("repayment-unknown")
    return cite("repaid", units=longer / own * call / saving, unit=way.unit)


def _find_path(index: CellIndex, way: Ladder, cell: str, arm: str | None) -> list[Measured]:
    """The way from one of its cells to the fair number; nothing where the cell is the last stage, or has
    no number."""
    cells = [stage.cell for stage in way.stages]
    if arm is None or cell not in cells:
        return []
    measured = _walk(index, way, arm, begin=cells.index(cell))
    return measured if len(measured) > 1 and measured[0][0].cell == cell else []


def _find_side(verdict: Verdict | None) -> int:
    """1: slower, -1: faster, 0: no verdict says either."""
    return {"SLOWER": 1, "FASTER": -1}.get(verdict.name, 0) if verdict else 0


def _walk(index: CellIndex, way: Ladder, arm: str, *, begin: int = 0) -> list[Measured]:
    """The stages that have a number, each with all changes since the one before: not every profile has the
    script, nor does it always succeed."""
    changes: list[str] = []
    rules: list[Removed] = []
    measured: list[Measured] = []
    for stage in way.stages[begin:]:
        changes.append(stage.change)
        rules += [stage.removes] if stage.removes else []
        cell = index.cells.get(stage.cell or "")
        values = _take(index, cell, arm, by_call=way.by_call)
        if cell is not None and values:
            step = Step(
                cell=cell.cell.id,
                changes=tuple(changes),
                rules=tuple(dict.fromkeys(rules)) if measured else (),
                value=estimate(list(values.values())),
                factor=find_paired_ratio(values, measured[-1][1]) if measured else None,
            )
            measured.append((step, values))
            changes, rules = [], []
    return measured


def _build(index: CellIndex, way: Ladder, arm: str) -> Waterfall | None:
    measured = _walk(index, way, arm)
    factor = find_paired_ratio(measured[-1][1], measured[0][1]) if len(measured) > 1 else None
    if factor is None:
        return None
    return Waterfall(
        name=way.name,
        title=way.title,
        unit=way.unit,
        by_call=way.by_call,
        fixed=way.fixed,
        spot=Spot(arm=arm, pinned=way.pinned),
        steps=tuple(step for step, _ in measured),
        factor=factor,
        posted=index.cells[measured[0][0].cell].cell.process is not None,
    )


def _take(index: CellIndex, cell: CellSummary | None, arm: str, *, by_call: bool) -> Values:
    return (index.values if by_call else index.per_work)(cell, arm)


def _take_step(index: CellIndex, one: Waterfall, step: Step) -> Values:
    return _take(index, index.cells[step.cell], one.spot.arm, by_call=one.by_call)


def _same_ends(one: Waterfall, other: Waterfall) -> bool:
    """Whether both begin and end at the same stages, so that their ends can be compared."""
    return all(one.steps[end].changes[-1] == other.steps[end].changes[-1] for end in (0, -1))
