"""Several campaigns with cells as rows: any arm of any of them against any other.  Pure.

Decides what may be compared, and calls the one comparison.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
from msgspec import structs

from suite.analysis.campaign.consistency import find_disagreement
from suite.analysis.compare import Bounded, Rows, compare_pairs, is_beyond, judge_bound
from suite.analysis.observations import Observation, observe, values_by_block
from suite.analysis.result.campaign import SCHEMA, Analysis
from suite.analysis.result.cells import ArmResult, Comparison
from suite.analysis.result.numbers import FEWEST, LEVEL, MARGIN, VerdictName
from suite.analysis.result.several import Column, Pair, Tally, Versus, list_failed
from suite.analysis.several.eligibility import find_copies
from suite.analysis.statistics.ratio import find_mean_ratio, find_pooled_ratio
from suite.analysis.statistics.rounding import hand_over
from suite.errors import UsageError
from suite.flags import Flag, raise_flag

CLOSE_SHARE = 95.0

_COLUMN = re.compile(r"([0-9]+):(\S+)")

Sides = Mapping[str, tuple[Rows, Rows]]
"""By cell the base's observations and the other's; none: it is not in that campaign's plan."""


def compare_cells(
    analyses: Sequence[Analysis],
    wanted: Sequence[str] = (),
    *,
    bound: float | None = None,
    seed: str | None = None,
) -> Versus:
    """Campaigns of one suite beside each other, and the comparisons between their arms.

    Args:
        analyses: at least two, in the order in which their columns stand.
        wanted: comparisons as ``2:cuda/1:cpu``, the other over the base; none: every arm against
            the same arm of the first campaign that has it.
        bound: how much slower cells of work may be, a share; None: nobody asks.
        seed: of two campaigns, what drew the cells that the second has measured again; None: it has not.

    Raises:
        UsageError: the campaigns did not measure the same suite, are the same campaign or too few,
            or a comparison names no column.
    """
    demand_comparable(analyses)
    columns = [
        Column(run=run, arm=arm)
        for run, analysis in enumerate(analyses, start=1)
        for arm in analysis.arms
    ]
    # The same one twice would count twice in a family of tests.
    named = dict.fromkeys(wanted)
    chosen = [_find_pair(text, columns) for text in named] or _choose_pairs(columns)
    table: dict[tuple[int, str, str], list[Observation]] = {}
    for run, analysis in enumerate(analyses, start=1):
        for row in observe(analysis):
            table.setdefault((run, row.arm, row.cell), []).append(row)
    planned = analyses if seed is None else analyses[1:]
    cells = list(dict.fromkeys(cell.id for analysis in planned for cell in analysis.cells))
    sides: list[Sides] = [
        {
            cell: (
                table.get((base.run, base.arm, cell), ()),
                table.get((other.run, other.arm, cell), ()),
            )
            for cell in cells
        }
        for base, other in chosen
    ]
    refused = [_refuse(analyses, base, other) for base, other in chosen]
    if seed is None:
        pairs = [
            _compare(analyses, base, other, rows, flags)
            for (base, other), rows, flags in zip(chosen, sides, refused, strict=True)
        ]
    else:
        pairs = _compare_again(analyses, chosen, sides, refused)
    if bound is not None:
        pairs = _judge_bound(analyses, pairs, sides, refused, bound)
    versus = Versus(
        schema=SCHEMA,
        rows="cell",
        campaigns=tuple(analysis.campaign for analysis in analyses),
        noise_floors=tuple(analysis.noise_floor for analysis in analyses),
        failed=list_failed(analyses),
        pairs=tuple(pairs),
        bound=bound,
        lacking=tuple(
            f"{run}:{arm}"
            for run, analysis in enumerate(analyses[1:], start=2)
            for arm in analyses[0].arms
            if arm not in analysis.arms and bound is not None and not wanted
        ),
        copied=find_copies(analyses),
        seed=seed,
    )
    return hand_over(versus)


def _compare(
    analyses: Sequence[Analysis],
    base: Column,
    other: Column,
    sides: Sides,
    refused: Mapping[str, Flag],
) -> Pair:
    """Two columns, as the family of tests that a pair of arms is."""
    results = analyses[base.run - 1].results(base.arm), analyses[other.run - 1].results(other.arm)
    # Each campaign finds its own; timing costs at most 0.5 % of a sample whichever it is.
    differing = {
        cell: (raise_flag("other-calls"),)
        for cell in results[0].keys() & results[1].keys()
        if len({call for of in results for call in of[cell].calls}) > 1
    }
    cells = compare_pairs(
        sides,
        margin=_find_margin(analyses, base, other),
        paired=base.run == other.run,
        refused=refused,
        beside=differing,
    )
    pair = _make_pair(analyses, base, other, cells)
    return structs.replace(pair, work=_count(pair, sides))


def _count(pair: Pair, sides: Sides) -> Tally:
    """Wins and losses among the cells of work."""
    work = [cell for cell, rows in sides.items() if any(of and of[0].role == "work" for of in rows)]
    sound = {cell: ratio for cell, ratio in pair.sound.items() if cell in work}
    far = sorted(sound, key=lambda cell: -abs(math.log(sound[cell].value)))
    verdicts = {cell: pair.cells[cell].verdict for cell in far}
    cells = {
        name: tuple(cell for cell in far if (own := verdicts[cell]) and own.name == name)
        for name in get_args(VerdictName)
    }
    judged = {cell for of in cells.values() for cell in of}
    # A few values would bring their spread into the mean, and not into its interval.
    averaged = [cell for cell in sound if sound[cell].low is not None] or list(sound)
    return Tally(
        faster=cells["FASTER"],
        slower=cells["SLOWER"],
        equivalent=cells["EQUIVALENT"],
        inconclusive=cells["INCONCLUSIVE"],
        unjudged=tuple(cell for cell in work if cell not in judged),
        averaged=tuple(averaged),
        mean=find_mean_ratio(
            (
                (values_by_block(base), values_by_block(other))
                for base, other in map(sides.__getitem__, averaged)
            ),
            paired=pair.interleaved,
        )
        if len(averaged) > 1
        else None,
    )


def _compare_again(
    analyses: Sequence[Analysis],
    chosen: Sequence[tuple[Column, Column]],
    sides: Sequence[Sides],
    refused: Sequence[Mapping[str, Flag]],
) -> list[Pair]:
    """What the second campaign has measured again: a reader can doubt any cell on any arm, so that all
    are one family."""
    margin = _find_margin(analyses, *chosen[0])
    compared = compare_pairs(
        {(n, cell): rows for n, of in enumerate(sides) for cell, rows in of.items()},
        margin=margin,
        paired=False,
        level=LEVEL,
        any_profile=True,
        unpaired=find_pooled_ratio,
        refused={(n, cell): flag for n, of in enumerate(refused) for cell, flag in of.items()},
    )
    pairs = []
    for n, columns in enumerate(chosen):
        cells = {cell: compared[n, cell] for cell in sides[n]}
        differing = tuple(cell for cell, row in cells.items() if not _reproduces(row, margin))
        pair = _make_pair(analyses, *columns, cells)
        pairs.append(structs.replace(pair, differing=differing))
    return pairs


def _judge_bound(
    analyses: Sequence[Analysis],
    pairs: Sequence[Pair],
    sides: Sequence[Sides],
    refused: Sequence[Mapping[str, Flag]],
    bound: float,
) -> list[Pair]:
    """The pairs with an answer for each cell of work: one exit status is one claim, so that all arms
    are one family."""
    answers = judge_bound(
        {
            (n, cell): Bounded(
                row.ratio,
                *sides[n][cell],
                max(bound, _find_noise(analyses, pair)),
                pair.interleaved,
            )
            for n, pair in enumerate(pairs)
            for cell, row in pair.cells.items()
            if row.ratio and row.verdict and not row.invalid and sides[n][cell][1][0].role == "work"
        },
        bound,
    )
    return [
        structs.replace(
            pair,
            cells={
                cell: structs.replace(row, bound=answers.get((n, cell)))
                for cell, row in pair.cells.items()
            },
            lost=tuple(_find_lost(sides[n], refused[n])),
        )
        for n, pair in enumerate(pairs)
    ]


def _find_lost(sides: Sides, refused: Mapping[str, Flag]) -> Iterator[str]:
    """The cells of work that have a sound number in the base, and nothing to set beside it."""
    for cell, (base, other) in sides.items():
        if base and base[0].role == "work" and _is_sound(base):
            few = len(values_by_block(other)) < FEWEST <= len(values_by_block(base))
            if few or not _is_sound(other) or cell in refused:
                yield cell


def _find_noise(analyses: Sequence[Analysis], pair: Pair) -> float:
    """What noise makes of nothing, a share: of one campaign, what its intervals do not cover."""
    if pair.interleaved:
        return analyses[pair.base.run - 1].noise_unexplained or 0.0
    return max(analyses[column.run - 1].noise_floor or 0.0 for column in (pair.base, pair.other))


def _find_margin(analyses: Sequence[Analysis], base: Column, other: Column) -> float:
    """Nothing is paired between campaigns, so that what a machine makes of nothing is not in the
    intervals."""
    first, second = analyses[base.run - 1], analyses[other.run - 1]
    if first is second:
        return first.margin
    return max(MARGIN, first.noise_floor or 0.0, second.noise_floor or 0.0)


def _refuse(analyses: Sequence[Analysis], base: Column, other: Column) -> dict[str, Flag]:
    """Why cells must not be compared."""
    results = analyses[other.run - 1].results(other.arm)
    refused = {
        cell: find_refused(first, results[cell], names=(base.name, other.name))
        for cell, first in analyses[base.run - 1].results(base.arm).items()
        if cell in results
    }
    return {cell: flag for cell, flag in refused.items() if flag}


def find_refused(first: ArmResult, second: ArmResult, *, names: tuple[str, str]) -> Flag | None:
    """Why two results of a cell, which have these names, must not be compared; None: nothing speaks against
    it."""
    checks = zip(names, (first.check, second.check), strict=True)
    disagreement = find_disagreement(dict(checks))
    if disagreement is not None:
        return replace(disagreement, code="other-results", scope="comparison")
    differ = (first.work.amount, first.work.unit) != (second.work.amount, second.work.unit)
    return raise_flag("other-work") if differ else None


def _make_pair(
    analyses: Sequence[Analysis], base: Column, other: Column, cells: Mapping[str, Comparison]
) -> Pair:
    floors = [analyses[column.run - 1].noise_floor for column in (base, other)]
    off = [abs(row.ratio.value - 1) for row in cells.values() if row.ratio and not row.invalid]
    return Pair(
        base=base,
        other=other,
        margin=_find_margin(analyses, base, other),
        floor_known=None not in floors,
        flags=() if base.run == other.run else (raise_flag("not-interleaved"),),
        # Linear between order statistics (numpy's default).
        distance_median=float(np.median(off)) if off else None,
        distance_p95=float(np.percentile(off, CLOSE_SHARE)) if off else None,
        cells=cells,
    )


def _is_sound(rows: Rows) -> bool:
    """Whether a cell has numbers that are to be believed."""
    return bool(values_by_block(rows)) and not any(row.invalid for row in rows)


def _reproduces(comparison: Comparison, margin: float) -> bool:
    if comparison.ratio is None or comparison.invalid:
        return False
    if comparison.verdict is None or comparison.ratio.p is None:
        # Without any spread there is no test: then the margin is what noise makes.
        return not is_beyond(comparison.ratio.value, margin)
    return not comparison.verdict.names_winner


def demand_comparable(analyses: Sequence[Analysis]) -> None:
    """Refuses campaigns that can't be set beside each other.

    Raises:
        UsageError: there are under two, one is named twice, or they did not measure the same suite.
    """
    if len(analyses) < 2:
        raise UsageError("a comparison needs two campaigns", 'such as RUN="results/X results/Y"')
    ids = [analysis.campaign.id for analysis in analyses]
    twice = next((name for name in ids if ids.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} was named twice", "name each campaign once")
    first = analyses[0]
    for other in analyses[1:]:
        ours, theirs = first.suite.content, other.suite.content
        if ours != theirs:
            raise UsageError(
                f"{first.campaign.id} and {other.campaign.id} were not measured by the same suite: "
                f"the content of the measured part is {ours} and {theirs}, so that cells of the "
                "same name may not be the same work",
                "measure both with one checkout of the suite; `make report` shows each alone",
            )


def _choose_pairs(columns: Sequence[Column]) -> list[tuple[Column, Column]]:
    """Every arm against the same arm of the first campaign that has it: the base, and the other."""
    first: dict[str, Column] = {}
    for column in columns:
        first.setdefault(column.arm, column)
    pairs = [(first[column.arm], column) for column in columns if column is not first[column.arm]]
    if not pairs:
        raise UsageError(
            "the campaigns have no arm in common: " + ", ".join(column.name for column in columns),
            f'name what to compare, such as PAIRS="{columns[-1].name}/{columns[0].name}"',
        )
    return pairs


def _find_pair(text: str, columns: Sequence[Column]) -> tuple[Column, Column]:
    names = text.split("/")
    by_name = {column.name: column for column in columns}
    if len(names) != 2 or any(_COLUMN.fullmatch(name) is None for name in names):
        raise UsageError(
            f"PAIRS: {text!r} is not a valid comparison",
            f"such as {columns[-1].name}/{columns[0].name}",
        )
    unknown = next((name for name in names if name not in by_name), None)
    if unknown is not None or names[0] == names[1]:
        raise UsageError(
            f"PAIRS: {text!r} names "
            + (f"no column {unknown}" if unknown is not None else "one column twice"),
            f"there are {', '.join(by_name)}",
        )
    return by_name[names[1]], by_name[names[0]]
