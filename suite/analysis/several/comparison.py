"""Several campaigns set side by side: any arm of any of them against any other.  Pure.

Decides what may be compared and what the comparison says; `report.pages.comparison` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from suite.analysis.campaign.conclude import judge_all
from suite.analysis.campaign.consistency import find_disagreement
from suite.analysis.campaign.summarise import refuse_ratio
from suite.analysis.numbers.ratio import compare, compare_campaigns
from suite.analysis.numbers.settled import hand_over
from suite.analysis.result.campaign import SCHEMA, Analysis
from suite.analysis.result.cells import ArmResult, Comparison, set_down
from suite.analysis.result.numbers import MARGIN, Ratio
from suite.analysis.result.several import Column, Pair, Versus
from suite.analysis.several.machines import find_kinds
from suite.errors import UsageError
from suite.flags import Flag, raise_flag

CLOSE_SHARE = 95.0

_COLUMN = re.compile(r"([0-9]+):(\S+)")


def set_side_by_side(analyses: Sequence[Analysis], wanted: Sequence[str] = ()) -> Versus:
    """Campaigns of one suite beside each other, and the comparisons between their arms.

    Args:
        analyses: at least two, in the order in which their columns stand.
        wanted: comparisons as ``2:cuda/1:cpu``, the other over the base; none: every arm against
            the same arm of the first campaign that has it.

    Raises:
        UsageError: the campaigns did not measure the same suite, are the same campaign or too few,
            or a comparison names no column.
    """
    _demand_comparable(analyses)
    columns = [
        Column(run=run, arm=arm) for run, one in enumerate(analyses, start=1) for arm in one.arms
    ]
    names = list(dict.fromkeys(cell.id for one in analyses for cell in one.cells))
    chosen = [_find_pair(text, columns) for text in wanted] or _choose_pairs(columns)
    kinds, excluded = find_kinds(analyses)
    found = Versus(
        schema=SCHEMA,
        campaigns=tuple(one.campaign for one in analyses),
        noise_floors=tuple(one.noise_floor for one in analyses),
        pairs=tuple(_compare(base, other, analyses, names) for other, base in chosen),
        kinds=tuple(kinds),
        excluded=tuple(excluded),
    )
    return hand_over(found)


def _demand_comparable(analyses: Sequence[Analysis]) -> None:
    if len(analyses) < 2:
        raise UsageError("a comparison needs two campaigns", 'such as RUNS="results/X results/Y"')
    ids = [one.campaign.id for one in analyses]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} was named twice", "name each campaign once")
    first = analyses[0]
    for one in analyses[1:]:
        ours, theirs = first.suite.content, one.suite.content
        if ours != theirs:
            raise UsageError(
                f"{first.campaign.id} and {one.campaign.id} were not measured by the same suite: "
                f"the content of the measured part is {ours} and {theirs}, so that cells of the "
                "same name may not be the same work",
                "measure both with one checkout of the suite; `make report` shows each alone",
            )


def _choose_pairs(columns: Sequence[Column]) -> list[tuple[Column, Column]]:
    """Every arm against the same arm of the first campaign that has it."""
    first: dict[str, Column] = {}
    pairs = []
    for column in columns:
        base = first.setdefault(column.arm, column)
        if base is not column:
            pairs.append((column, base))
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
            f"PAIRS: {text!r} is no comparison", f"such as {columns[-1].name}/{columns[0].name}"
        )
    unknown = next((name for name in names if name not in by_name), None)
    if unknown is not None or names[0] == names[1]:
        raise UsageError(
            f"PAIRS: {text!r} names "
            + (f"no column {unknown}" if unknown is not None else "one column twice"),
            f"there are {', '.join(by_name)}",
        )
    return by_name[names[0]], by_name[names[1]]


def _compare(
    base: Column, other: Column, analyses: Sequence[Analysis], names: Sequence[str]
) -> Pair:
    sides = [analyses[one.run - 1] for one in (base, other)]
    tables = [analyses[one.run - 1].results(one.arm) for one in (base, other)]
    interleaved = base.run == other.run
    results = {name: [one[name] for one in tables if name in one] for name in names}
    found = {
        name: compare_cell(of, base.name, other.name, interleaved=interleaved)
        if len(of) == len(sides)
        else (raise_flag("not-in-both"), ())
        for name, of in results.items()
    }
    floors = [one.noise_floor for one in sides]
    # Nothing is paired here, so that what a machine makes of nothing is not in the intervals.
    margin = max(MARGIN, *(floor or 0.0 for floor in floors))
    if interleaved:
        margin = sides[0].margin
    cells = judge_cells(sides, results, found, margin, paired=interleaved)
    off = [abs(one.ratio.value - 1) for one in cells.values() if one.ratio and not one.invalid]
    return Pair(
        base=base,
        other=other,
        margin=margin,
        floor_known=None not in floors,
        flags=() if interleaved else (raise_flag("not-interleaved"),),
        # Linear between order statistics (numpy's default).
        distance_median=float(np.median(off)) if off else None,
        distance_p95=float(np.percentile(off, CLOSE_SHARE)) if off else None,
        cells=cells,
    )


def judge_cells(
    sides: Sequence[Analysis],
    results: Mapping[str, Sequence[ArmResult]],
    found: Mapping[str, tuple[Ratio | Flag, tuple[Flag, ...]]],
    margin: float,
    *,
    paired: bool = False,
) -> dict[str, Comparison]:
    """What is found of each cell of some campaigns, and stands beside that, with its verdict.

    A cell is INVALID of which some of the ``results`` must not be believed.  ``paired``: the ratios are, by
    block.
    """
    ratios = {name: ratio for name, (ratio, _) in found.items()}
    invalid = {
        name: flags
        for name, known in results.items()
        if (flags := next((one.invalid for one in known if one.invalid), ()))
    }
    profiles = [one.campaign.profile for one in sides]
    work = {cell.id for one in sides for cell in one.work}
    verdicts = judge_all(
        ratios, *profiles, margin=margin, invalid=invalid, work=work, paired=paired
    )
    return {
        name: set_down(ratio, verdicts[name], beside=beside, invalid=invalid.get(name, ()))
        for name, (ratio, beside) in found.items()
    }


def compare_cell(
    results: Sequence[ArmResult],
    base: str,
    other: str,
    *,
    interleaved: bool = False,
    between: Callable[[Iterable[float], Iterable[float]], Ratio | None] = compare_campaigns,
) -> tuple[Ratio | Flag, tuple[Flag, ...]]:
    """One cell's ratio, or the flag that says why there is none, and what stands beside it.

    ``between`` compares those of two campaigns.
    """
    first, second = results
    refused = refuse_ratio(first, second)
    if refused is not None:
        return refused, ()
    disagreement = find_disagreement({base: first.check, other: second.check})
    if disagreement is not None:
        return replace(disagreement, code="other-results", scope="comparison"), ()
    if (first.work.amount, first.work.unit) != (second.work.amount, second.work.unit):
        return raise_flag("other-work"), ()
    # Each campaign finds its own; timing costs at most 0.5 % of a sample whichever it is.
    beside = (raise_flag("other-calls"),) if len({*first.calls, *second.calls}) > 1 else ()
    if interleaved:
        return compare(first.values, second.values) or raise_flag("no-common-block"), beside
    ratio = between(first.values.values(), second.values.values())
    return ratio or raise_flag("no-number"), beside
