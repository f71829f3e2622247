"""Several campaigns set side by side: any arm of any of them against any other.  Pure.

Decides what may be compared and what the comparison says; `report.pages.comparison` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from suite.analysis.campaign.conclude import judge_all
from suite.analysis.campaign.consistency import find_disagreement
from suite.analysis.campaign.summarise import (
    ArmResult,
    CellSummary,
    Summary,
    refuse_ratio,
)
from suite.analysis.numbers.ratio import Ratio, compare, compare_campaigns
from suite.analysis.numbers.verdict import MARGIN, Verdict
from suite.cells.cell import Cell
from suite.errors import UsageError
from suite.flags import Flag, raise_flag
from suite.model import CellResult

CLOSE_SHARE = 95.0

_COLUMN = re.compile(r"([0-9]+):(\S+)")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One arm of one campaign; ``run`` counts from 1 in the order in which they were named."""

    run: int
    arm: str
    summary: Summary
    cells: Mapping[str, CellSummary]

    @property
    def name(self) -> str:
        """``2:cuda``: the arm ``cuda`` of the second campaign."""
        return f"{self.run}:{self.arm}"

    def find(self, identity: str) -> ArmResult | None:
        """What it knows of a cell; None: the cell is not in its plan."""
        found = self.cells.get(identity)
        return found.arms[self.arm] if found else None

    def results(self, identity: str) -> dict[int, CellResult]:
        """The cell's results by block, of the documents that count."""
        documents = self.summary.counted[self.arm].items()
        return {
            block: one for block, found in documents for one in found.cells if one.id == identity
        }


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Times over other times by cell, and what they amount to.

    ``invalid`` says of which cells a side must not be believed, and why.  ``margin`` is what a
    difference must exceed: the largest of 2 % and the noise floors of the campaigns that it rests on.
    """

    ratios: Mapping[str, Ratio | Flag]
    verdicts: Mapping[str, Verdict | Flag]
    invalid: Mapping[str, tuple[Flag, ...]]
    margin: float

    @property
    def sound(self) -> dict[str, Ratio]:
        """The ratios of cells that are not INVALID on any side."""
        return {
            name: one
            for name, one in self.ratios.items()
            if isinstance(one, Ratio) and name not in self.invalid
        }


@dataclass(frozen=True, kw_only=True)
class Pair(Contrast):
    """One comparison: the times of ``other`` over those of ``base``, by cell.

    ``verdicts`` are about ``other``.  ``floor_known`` is whether both campaigns have a noise floor.
    ``interleaved``: both arms are of one campaign, so that ratios are paired by block; else they
    are Welch's and drift between the campaigns is not in their intervals, as ``flags`` then say of
    all of it.  ``beside`` are those of one ratio.
    """

    base: Column
    other: Column
    beside: Mapping[str, tuple[Flag, ...]]
    floor_known: bool

    @property
    def interleaved(self) -> bool:
        """Whether the two arms had their turns in the same blocks."""
        return self.base.run == self.other.run

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What stands beside every ratio."""
        return () if self.interleaved else (raise_flag("not-interleaved"),)

    @property
    def distances(self) -> tuple[float, float] | None:
        """Median and 95th percentile of |ratio - 1| over the sound cells; None: there is none.

        Linear between order statistics (numpy's default).
        """
        off = [abs(one.value - 1) for one in self.sound.values()]
        if not off:
            return None
        return float(np.median(off)), float(np.percentile(off, CLOSE_SHARE))


@dataclass(frozen=True, kw_only=True)
class Versus:
    """Several campaigns side by side: their columns, the cells of all plans, the comparisons."""

    summaries: tuple[Summary, ...]
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...]
    pairs: tuple[Pair, ...]

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Those of all its campaigns."""
        return tuple(one for found in self.summaries for one in found.flags)


def set_side_by_side(summaries: Sequence[Summary], wanted: Sequence[str] = ()) -> Versus:
    """Campaigns of one suite beside each other, and the comparisons between their arms.

    Args:
        summaries: at least two, in the order in which their columns stand.
        wanted: comparisons as ``2:cuda/1:cpu``, the other over the base; none: every arm against
            the same arm of the first campaign that has it.

    Raises:
        UsageError: the campaigns did not measure the same suite, are the same campaign or too few,
            or a comparison names no column.
    """
    _demand_comparable(summaries)
    columns = tuple(
        Column(run=run, arm=arm, summary=one, cells={found.cell.id: found for found in one.cells})
        for run, one in enumerate(summaries, start=1)
        for arm in one.campaign.arms
    )
    cells: dict[str, Cell] = {}
    for summary in summaries:
        for found in summary.cells:
            cells.setdefault(found.cell.id, found.cell)
    chosen = [_find_pair(text, columns) for text in wanted] or _choose_pairs(columns)
    pairs = tuple(_compare(base, other, list(cells)) for other, base in chosen)
    return Versus(
        summaries=tuple(summaries), columns=columns, cells=tuple(cells.values()), pairs=pairs
    )


def _demand_comparable(summaries: Sequence[Summary]) -> None:
    if len(summaries) < 2:
        raise UsageError("a comparison needs two campaigns", 'such as RUNS="results/X results/Y"')
    ids = [one.campaign.id for one in summaries]
    twice = next((one for one in ids if ids.count(one) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} was named twice", "name each campaign once")
    first = summaries[0]
    for one in summaries[1:]:
        ours, theirs = first.campaign.suite.content, one.campaign.suite.content
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


def _compare(base: Column, other: Column, names: Sequence[str]) -> Pair:
    found = {name: _compare_cell(base, other, name) for name in names}
    ratios = {name: ratio for name, (ratio, _) in found.items()}
    floors = [one.summary.conclusions.floor for one in (base, other)]
    # Nothing is paired here, so that what a machine makes of nothing is not in the intervals.
    margin = max(MARGIN, *(floor or 0.0 for floor in floors))
    if base.run == other.run:
        margin = base.summary.conclusions.margin
    sides = {name: [one for c in (base, other) if (one := c.find(name))] for name in names}
    invalid = find_invalid(sides)
    profiles = [one.summary.campaign.profile for one in (base, other)]
    return Pair(
        base=base,
        other=other,
        ratios=ratios,
        verdicts=judge_all(ratios, *profiles, margin=margin, invalid=invalid),
        invalid=invalid,
        beside={name: flags for name, (_, flags) in found.items()},
        margin=margin,
        floor_known=None not in floors,
    )


def find_invalid(sides: Mapping[str, Sequence[ArmResult]]) -> dict[str, tuple[Flag, ...]]:
    """The cells of a comparison of which some side must not be believed, and why."""
    return {
        name: flags
        for name, results in sides.items()
        if (flags := next((one.invalid for one in results if one.invalid), ()))
    }


def _compare_cell(base: Column, other: Column, name: str) -> tuple[Ratio | Flag, tuple[Flag, ...]]:
    first, second = base.find(name), other.find(name)
    if first is None or second is None:
        return raise_flag("not-in-both"), ()
    refused = refuse_ratio(first, second)
    if refused is not None:
        return refused, ()
    results = {one.name: one.results(name) for one in (base, other)}
    disagreement = find_disagreement(results)
    if disagreement is not None:
        return replace(disagreement, code="other-results", scope="comparison"), ()
    if (first.work.amount, first.work.unit) != (second.work.amount, second.work.unit):
        return raise_flag("other-work"), ()
    calls = {
        one.calls_per_sample
        for blocks in results.values()
        for one in blocks.values()
        if one.outcome == "measured"
    }
    # Each campaign finds its own; timing costs at most 0.5 % of a sample whichever it is.
    beside = (raise_flag("other-calls"),) if len(calls) > 1 else ()
    if base.run == other.run:
        return compare(first.values, second.values) or raise_flag("no-common-block"), beside
    ratio = compare_campaigns(first.values.values(), second.values.values())
    return ratio or raise_flag("no-number"), beside
