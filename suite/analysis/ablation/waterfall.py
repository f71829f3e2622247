"""From what was asked about to the fair number, one change at a time.

The factors of the steps that were measured, and what was asked about says about the GPU against what the
fair numbers say; the stages are what the cells say.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import dropwhile, pairwise

from suite.analysis.ablation.cell_index import CellIndex, Values, mean
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.compare import Rows, compare_pairs, find_paired_ratio
from suite.analysis.observations import values_by_block
from suite.analysis.result.findings import Finding, Meaning, Spot, Step, Waterfall
from suite.analysis.result.numbers import FEWEST, OTHER_LEVEL, Evidence, Verdict, cite
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
            places.setdefault(f"{way.name} {way.fixed}", {})[way.on_cpu] = way
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
        {(place, end): sides[end] for place, (_, _, sides) in enumerate(pairs) for end in ENDS},
        margin=index.margin,
        level=OTHER_LEVEL,
    )
    for place, (waterfall, rival, _) in enumerate(pairs):
        naive, fair = (compared[place, end] for end in ENDS)
        if naive.ratio is None or fair.ratio is None:
            raise ValueError(f"no ratio of {waterfall.name}, whose ends have blocks in common")
        off = naive.ratio.value / fair.ratio.value
        provisional = naive.verdict is None or fair.verdict is None
        gap = Finding(
            tag="gap",
            arm=waterfall.spot.arm,
            cell=waterfall.steps[0].cell,
            against=rival.spot.arm,
            value=naive.ratio,
            beside=fair.ratio,
            verdict=_judge_gap(naive.verdict, fair.verdict, provisional=provisional),
            provisional=provisional,
            evidence=(cite("off-by", factor=max(off, 1 / off)),),
        )
        yield gap
        for changes, share in _split(index, waterfall, rival):
            yield Finding(
                tag="gone",
                arm=gap.arm,
                cell=gap.cell,
                against=gap.against,
                share=share,
                evidence=(cite("changes", changes=changes),),
            )


def _judge_gap(script: Verdict | None, fair: Verdict | None, *, provisional: bool) -> Meaning:
    """What a script misleads to: the wrong winner, or a difference where the fair numbers see none."""
    winners = [
        verdict.name if verdict and verdict.names_winner else "" for verdict in (script, fair)
    ]
    if all(winners) and winners[0] != winners[1]:
        return "wrong-winner"
    if winners[0] and not winners[1]:
        return "invented"
    if provisional:
        return "unjudged"
    return "off-by" if any(winners) else "alike"


def _pair(
    waterfalls: list[Waterfall], index: CellIndex
) -> Iterator[tuple[Waterfall, Waterfall, Mapping[int, tuple[Rows, Rows]]]]:
    """The GPU's waterfalls, each with a rival's of the same script that begins and ends at the same stages,
    and the observations of these ends, the rival's first; both ends have blocks in common."""
    rivals = [(index.cpu, False), (index.gpu, True)]
    for waterfall in waterfalls:
        if waterfall.spot.arm != index.gpu or waterfall.spot.pinned:
            continue
        for other in waterfalls:
            rival = (other.spot.arm, other.spot.pinned) in rivals
            if not rival or _name_script(other) != _name_script(waterfall):
                continue
            sides = {
                end: (_take_rows(index, other, end), _take_rows(index, waterfall, end))
                for end in ENDS
            }
            if all(
                values_by_block(theirs).keys() & values_by_block(ours).keys()
                for theirs, ours in sides.values()
            ):
                yield waterfall, other, sides


def _name_script(waterfall: Waterfall) -> tuple[object, ...]:
    """The script, and the stages at which its waterfall begins and ends."""
    ends = (waterfall.steps[end].changes[-1] for end in ENDS)
    return waterfall.name, waterfall.fixed, *ends


def _take_rows(index: CellIndex, waterfall: Waterfall, end: int) -> Rows:
    """The observations of a stage, with seconds a unit of the waterfall's."""
    step = waterfall.steps[end]
    values = _take_step(index, waterfall, step)
    rows = index.rows(index.cells[step.cell], waterfall.spot.arm)
    return [replace(row, seconds=values.get(row.block)) for row in rows if row.block is not None]


def _split(
    index: CellIndex, waterfall: Waterfall, rival: Waterfall
) -> list[tuple[tuple[str, ...], float]]:
    """The changes that make the way from the script's difference of two places to the fair one, and their
    shares of it.

    In seconds a unit, block by block, at the stages that both have: those that make it shorter or longer
    by more than 0, as the 95 % CI (Student's t) has it.
    """
    beside = {step.changes[-1]: step for step in rival.steps}
    changes: list[str] = []
    stages: list[tuple[tuple[str, ...], Values]] = []
    for step in waterfall.steps:
        changes += step.changes
        if step.changes[-1] in beside:
            there = _take_step(index, rival, beside[step.changes[-1]])
            apart = _subtract(_take_step(index, waterfall, step), there)
            stages.append((tuple(changes), apart))
            changes = []
    whole = _measure_shrinkage(stages[0][1], stages[-1][1])
    parts = [
        (made, part / whole)
        for (_, before), (made, after) in pairwise(stages)
        if whole and (part := _measure_shrinkage(before, after))
    ]
    return sorted(parts, key=lambda part: -part[1])


def _subtract(values: Values, less: Values) -> Values:
    return {block: values[block] - less[block] for block in values if block in less}


def _measure_shrinkage(before: Values, after: Values) -> float:
    """By how much a difference shrinks, in seconds; 0 where the blocks don't show that it does."""
    away = list(_subtract(before, after).values())
    if len(away) < FEWEST:
        return 0.0
    shrinkage = estimate_difference(away)
    return shrinkage.value if shrinkage.least > 0 or shrinkage.most < 0 else 0.0


def find_break_even(index: CellIndex, summary: CellSummary, arm: str) -> Evidence | None:
    """After how much of the fair work the GPU has made up for a script's longer start, against the CPU."""
    cpu, way, call = index.cpu, summary.cell.way, index.seconds(summary, arm)
    if way is None or cpu is None or cpu == arm or not call:
        return None
    path, rival = (_walk(index, way, place, begin=summary.cell.id) for place in (arm, cpu))
    if min(len(path), len(rival)) < 2 or path[-1][0].cell != rival[-1][0].cell:
        return None
    if {path[0][0].cell, rival[0][0].cell} != {summary.cell.id}:
        return None
    own, fair, theirs, their_fair = (
        mean(values) or 0.0 for _, values in (path[0], path[-1], rival[0], rival[-1])
    )
    longer, saving = (own - fair) - (theirs - their_fair), their_fair - fair
    ratio = find_paired_ratio(path[-1][1], rival[-1][1])
    if longer <= 0 or ratio is None:
        return None
    # Only a saving that the interval bears out is one.
    if saving <= 0 or ratio.least <= 1:
        is_lost = ratio.most <= 1
        return cite("never-repaid" if is_lost else "repayment-unknown")
    return cite("repaid", units=longer / own * call / saving, unit=way.unit)


def _walk(index: CellIndex, way: Ladder, arm: str, *, begin: str | None = None) -> list[Measured]:
    """The stages that have a number, from a cell on, each with all changes since the one before: not every
    profile has the script, nor does it always succeed."""
    changes: list[str] = []
    rules: list[Removed] = []
    measured: list[Measured] = []
    for stage in dropwhile(lambda stage: begin not in {None, stage.cell}, way.stages):
        changes.append(stage.change)
        rules += [stage.removes] if stage.removes else []
        values = _take(index, index.cells.get(stage.cell or ""), arm, by_call=way.by_call)
        if stage.cell and values:
            step = Step(
                cell=stage.cell,
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
        spot=Spot(arm=arm, pinned=way.on_cpu),
        steps=tuple(step for step, _ in measured),
        factor=factor,
        posted=index.cells[measured[0][0].cell].cell.process is not None,
    )


def _take(index: CellIndex, summary: CellSummary | None, arm: str, *, by_call: bool) -> Values:
    return (index.values if by_call else index.per_work)(summary, arm)


def _take_step(index: CellIndex, waterfall: Waterfall, step: Step) -> Values:
    summary = index.cells[step.cell]
    return _take(index, summary, waterfall.spot.arm, by_call=waterfall.by_call)
