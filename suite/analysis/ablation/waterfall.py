"""From what was asked about to the fair number and on, one change at a time.

The factors of the steps that were measured, what each kind of them makes in all, and what was asked about
says about the GPU against what the fair numbers say; the stages are what the cells say.  Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import dropwhile, groupby, pairwise

from suite.analysis.ablation.cell_index import CellIndex, Values, mean
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.compare import Rows, compare_pairs
from suite.analysis.observations import LARGEST, values_by_block
from suite.analysis.result.findings import (
    Elsewhere,
    Finding,
    Meaning,
    Spot,
    Step,
    Total,
    Waterfall,
)
from suite.analysis.result.numbers import FEWEST, OTHER_LEVEL, Evidence, Verdict, cite
from suite.analysis.statistics.estimate import estimate, estimate_difference
from suite.analysis.statistics.ratio import find_paired_ratio
from suite.cells.cell import Ladder
from suite.cells.changes import find_effect
from suite.cells.traits import EFFECTS, Effect, Removed

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
    """The GPU against the CPU arm, and against the CPU beside it, by script and by fair number; none where
    a fair number was not measured.

    Each gap comes before the changes that make a share of it beyond doubt, the largest first.  All of these
    comparisons are judged as one family, since a campaign has dozens; a profile that gives no verdicts has
    none of them either.
    """
    pairs = list(_pair(waterfalls, index))
    compared = compare_pairs(
        {
            (place, end): rows
            for place, (_, _, sides) in enumerate(pairs)
            for end, rows in sides.items()
        },
        margin=index.margin,
        level=OTHER_LEVEL,
        share=index.share,
    )
    for place, (waterfall, rival, _) in enumerate(pairs):
        naive, fair = (compared[place, end] for end in _find_ends(waterfall))
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
            evidence=(
                cite("off-by", factor=max(off, 1 / off)),
                cite("between", effects=_sort(_list_effects(waterfall))),
            ),
        )
        yield gap
        for changes, effects, share in _split(index, waterfall, rival):
            yield Finding(
                tag="gone",
                arm=gap.arm,
                cell=gap.cell,
                against=gap.against,
                share=share,
                evidence=(cite("changes", changes=changes, effects=effects),),
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
    """The GPU's waterfalls, each with a rival's of the same script that begins at the same stage and has its
    fair number at the same one, and the observations of these two by step, the rival's first; both have
    blocks in common."""
    rivals = [(index.cpu, False), (index.gpu, True)]
    for waterfall in waterfalls:
        ends = _find_ends(waterfall)
        if waterfall.spot.arm != index.gpu or waterfall.spot.pinned or len(ends) < 2:
            continue
        for other in waterfalls:
            rival = (other.spot.arm, other.spot.pinned) in rivals
            if not rival or _name_script(other) != _name_script(waterfall):
                continue
            sides = {
                end: (_take_rows(index, other, their_end), _take_rows(index, waterfall, end))
                for their_end, end in zip(_find_ends(other), ends, strict=True)
            }
            if all(
                values_by_block(theirs).keys() & values_by_block(ours).keys()
                for theirs, ours in sides.values()
            ):
                yield waterfall, other, sides


def _find_ends(waterfall: Waterfall) -> list[int]:
    """The steps of the script and of its fair number; the script's alone where that is fair, or none is."""
    fair = next((at for at, step in enumerate(waterfall.steps) if step.cell == waterfall.fair), 0)
    return [0, fair] if fair else [0]


def _name_script(waterfall: Waterfall) -> tuple[object, ...]:
    """The script, and the stages of its waterfall's beginning and fair number."""
    ends = (waterfall.steps[end].changes[-1] for end in _find_ends(waterfall))
    return waterfall.name, waterfall.fixed, *ends


def _list_effects(waterfall: Waterfall) -> set[Effect]:
    """The kinds of the changes between the script and its fair number."""
    steps = waterfall.steps[: _find_ends(waterfall)[-1] + 1]
    return {effect for step in steps for effect in step.effects}


def _sort(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    return tuple(sorted(set(effects), key=EFFECTS.index))


def _take_rows(index: CellIndex, waterfall: Waterfall, end: int) -> Rows:
    """The observations of a stage, with seconds a unit of the waterfall's."""
    step = waterfall.steps[end]
    values = _take_step(index, waterfall, step)
    rows = index.rows(index.cells[step.cell], waterfall.spot.arm)
    return [replace(row, seconds=values.get(row.block)) for row in rows if row.block is not None]


def _split(
    index: CellIndex, waterfall: Waterfall, rival: Waterfall
) -> list[tuple[tuple[str, ...], tuple[Effect, ...], float]]:
    """The changes that make the way from the script's difference of two places to the fair one, their kinds,
    and their shares of it.

    In seconds a unit, block by block, at the stages that both have: those that make it shorter or longer
    by more than 0, as the 95 % CI (Student's t) has it.
    """
    beside = {step.changes[-1]: step for step in rival.steps}
    changes: list[str] = []
    effects: list[Effect] = []
    stages: list[tuple[tuple[str, ...], tuple[Effect, ...], Values]] = []
    for step in waterfall.steps[: _find_ends(waterfall)[-1] + 1]:
        changes += step.changes
        effects += step.effects
        if step.changes[-1] in beside:
            there = _take_step(index, rival, beside[step.changes[-1]])
            apart = _subtract(_take_step(index, waterfall, step), there)
            stages.append((tuple(changes), _sort(effects), apart))
            changes, effects = [], []
    whole = _measure_shrinkage(stages[0][-1], stages[-1][-1])
    parts = [
        (made, kinds, part / whole)
        for (*_, before), (made, kinds, after) in pairwise(stages)
        if whole and (part := _measure_shrinkage(before, after))
    ]
    return sorted(parts, key=lambda part: -part[-1])


def _subtract(values: Values, less: Values) -> Values:
    return {block: values[block] - less[block] for block in values if block in less}


def _measure_shrinkage(before: Values, after: Values) -> float:
    """By how much a difference shrinks, in seconds; 0 where the blocks don't show that it does."""
    away = list(_subtract(before, after).values())
    if len(away) < FEWEST:
        return 0.0
    shrinkage = estimate_difference(away)
    return shrinkage.value if shrinkage.least > 0 or shrinkage.most < 0 else 0.0


def find_posted(
    waterfalls: Iterable[Waterfall], index: CellIndex, published: Iterable[Elsewhere]
) -> Iterator[Finding]:
    """What a script took here that others published times of: where it printed its fair number itself, as
    that of its later epochs."""
    epochs = {row.script: row.epochs for row in published}
    for waterfall in waterfalls:
        ends = [waterfall.steps[end].cell for end in _find_ends(waterfall)]
        if waterfall.name not in epochs or len({*ends}) < 2:
            continue
        script, later = (index.cells[cell] for cell in ends)
        if script.cell.process is None or script.cell.process != later.cell.process:
            continue
        arm = waterfall.spot.arm
        first, next_ones = index.values(script, arm), index.values(later, arm)
        times = epochs[waterfall.name] - 1
        whole = {
            block: seconds
            for block, once in first.items()
            if block in next_ones and (seconds := once + times * next_ones[block]) < LARGEST
        }
        if whole and (steps := index.steps(later, arm)):
            yield Finding(
                tag="posted",
                arm=arm,
                cell=later.cell.id,
                of=waterfall.name,
                value=estimate(list(steps.values())),
                unit="s",
                beside=estimate(list(whole.values())),
            )


def find_break_even(index: CellIndex, summary: CellSummary, arm: str) -> Evidence | None:
    """After how much of the fair work the GPU has made up for a script's longer start, against the CPU."""
    cpu, way, call = index.cpu, summary.cell.way, index.seconds(summary, arm)
    if way is None or cpu is None or cpu == arm or not call:
        return None
    paths = [_walk(index, way, place, begin=summary.cell.id) for place in (arm, cpu)]
    path, rival = (measured[: (_find_fair(way, measured) or 0) + 1] for measured in paths)
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
    effects: list[Effect] = []
    rules: list[Removed] = []
    measured: list[Measured] = []
    for stage in dropwhile(lambda stage: begin not in {None, stage.cell}, way.stages):
        changes.append(stage.change)
        effects.append(find_effect(stage))
        rules += [stage.removes] if stage.removes else []
        values = _take(index, index.cells.get(stage.cell or ""), arm, by_call=way.by_call)
        if stage.cell and values:
            step = Step(
                cell=stage.cell,
                changes=tuple(changes),
                rules=tuple(dict.fromkeys(rules)) if measured else (),
                value=estimate(list(values.values())),
                factor=find_paired_ratio(values, measured[-1][1]) if measured else None,
                effects=_sort(effects) if measured else (),
            )
            measured.append((step, values))
            changes, effects, rules = [], [], []
    return measured


def _find_fair(way: Ladder, measured: Sequence[Measured]) -> int | None:
    """The first of the stages measured from which on only what is timed fairly changes; None: there is none,
    or it trains otherwise than the script."""
    cells = [stage.cell for stage in way.stages]
    effects = ["", *(find_effect(stage) for stage in way.stages[1:])]
    begin = cells.index(measured[0][0].cell) if measured else 0
    for at, (step, _) in enumerate(measured):
        place = cells.index(step.cell)
        if "timing" not in effects[place + 1 :]:
            return None if "training" in effects[begin + 1 : place + 1] else at
    return None


def _add_up(measured: Sequence[Measured]) -> Iterator[Total]:
    """What each kind of the changes makes in all, and those of several kinds that were taken together."""
    runs: dict[tuple[Effect, ...], list[tuple[Values, Values]]] = {}
    pairs = [(step.effects, before, after) for (_, before), (step, after) in pairwise(measured)]
    for effects, group in groupby(pairs, key=lambda pair: pair[0]):
        run = list(group)
        runs.setdefault(effects, []).append((run[0][1], run[-1][2]))
    for effects, ends in runs.items():
        before, after = (_multiply([pair[side] for pair in ends]) for side in (0, 1))
        if factor := find_paired_ratio(after, before):
            yield Total(effects=effects, factor=factor)


def _multiply(several: Sequence[Values]) -> Values:
    """The product of the values of each block that all have; none where it could not be worked with."""
    blocks = [block for block in several[0] if all(block in values for values in several)]
    products = {block: math.prod(values[block] for values in several) for block in blocks}
    return {block: s for block, s in products.items() if 1 / LARGEST < s < LARGEST}


def _build(index: CellIndex, way: Ladder, arm: str) -> Waterfall | None:
    measured = _walk(index, way, arm)
    factor = find_paired_ratio(measured[-1][1], measured[0][1]) if len(measured) > 1 else None
    if factor is None:
        return None
    fair = _find_fair(way, measured)
    return Waterfall(
        name=way.name,
        title=way.title,
        unit=way.unit,
        by_call=way.by_call,
        fixed=way.fixed,
        spot=Spot(arm=arm, pinned=way.on_cpu),
        steps=tuple(step for step, _ in measured),
        factor=factor,
        totals=tuple(_add_up(measured)),
        fair="" if fair is None else measured[fair][0].cell,
        posted=index.cells[measured[0][0].cell].cell.process is not None,
    )


def _take(index: CellIndex, summary: CellSummary | None, arm: str, *, by_call: bool) -> Values:
    return (index.values if by_call else index.per_work)(summary, arm)


def _take_step(index: CellIndex, waterfall: Waterfall, step: Step) -> Values:
    summary = index.cells[step.cell]
    return _take(index, summary, waterfall.spot.arm, by_call=waterfall.by_call)
