"""Several campaigns with cells as rows: any arm of any of them against any other.  Pure.

Decides what may be compared, and calls the one comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from suite.analysis.campaign.consistency import find_disagreement
from suite.analysis.compare import (
    Bounded,
    Rows,
    compare_pairs,
    find_pooled_ratio,
    is_beyond,
    judge_bound,
)
from suite.analysis.observations import Observation, observe, values_by_block
from suite.analysis.result.campaign import SCHEMA, Analysis
from suite.analysis.result.cells import ArmResult, Comparison
from suite.analysis.result.numbers import FEWEST, LEVEL, MARGIN
from suite.analysis.result.several import Again, Column, Pair, Versus
from suite.analysis.several.eligibility import find_copies
from suite.analysis.statistics.rounding import hand_over
from suite.errors import UsageError
from suite.flags import Flag, raise_flag

CLOSE_SHARE = 95.0

_COLUMN = re.compile(r"([0-9]+):(\S+)")

Compared = Mapping[str, Comparison]


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
    _demand_comparable(analyses)
    columns = [
        Column(run=run, arm=arm)
        for run, analysis in enumerate(analyses, start=1)
        for arm in analysis.arms
    ]
    # The same one twice would count twice in a family of tests.
    named = dict.fromkeys(wanted)
    chosen = [_find_pair(text, columns) for text in named] or _choose_pairs(columns)
    tables = _Tables(analyses)
    again = None
    if seed is None:
        pairs = [tables.compare(base, other) for other, base in chosen]
    else:
        pairs, again = tables.compare_again([(base, other) for other, base in chosen], seed)
    if bound is not None:
        pairs = tables.judge_bound(pairs, bound)
    failed = {analysis.campaign.id: analysis.controls.failed for analysis in analyses}
    versus = Versus(
        schema=SCHEMA,
        rows="cell",
        campaigns=tuple(analysis.campaign for analysis in analyses),
        noise_floors=tuple(analysis.noise_floor for analysis in analyses),
        failed={name: codes for name, codes in failed.items() if codes},
        pairs=tuple(pairs),
        bound=bound,
        lacking=tuple(
            f"{run}:{arm}"
            for run, analysis in enumerate(analyses[1:], start=2)
            for arm in analyses[0].arms
            if arm not in analysis.arms and bound is not None and not wanted
        ),
        copied=find_copies(analyses),
        again=again,
    )
    return hand_over(versus)


class _Tables:
    """The observations of some campaigns, by column, and what is known of their cells beside them."""

    def __init__(self, analyses: Sequence[Analysis]) -> None:
        self.analyses = analyses
        self.names = list(dict.fromkeys(cell.id for one in analyses for cell in one.cells))
        self.rows: dict[tuple[int, str, str], list[Observation]] = {}
        self.results: dict[tuple[int, str, str], ArmResult] = {}
        for run, analysis in enumerate(analyses, start=1):
            for row in observe(analysis):
                self.rows.setdefault((run, row.arm, row.cell), []).append(row)
            for cell in analysis.cells:
                for arm, result in cell.arms.items():
                    self.results[run, arm, cell.id] = result

    def find_rows(self, column: Column, cell: str) -> Rows:
        """The observations of a cell in a column; none: it is not in that campaign's plan."""
        return self.rows.get((column.run, column.arm, cell), ())

    def compare(self, base: Column, other: Column) -> Pair:
        """Two columns, as the family of tests that a pair of arms is."""
        refused, beside = self._find_obstacles(base, other)
        interleaved = base.run == other.run
        first = self.analyses[base.run - 1]
        margin = first.margin if interleaved else self._find_margin(base, other)
        cells = compare_pairs(
            {
                cell: (self.find_rows(base, cell), self.find_rows(other, cell))
                for cell in self.names
            },
            margin=margin,
            paired=interleaved,
            refused=refused,
            beside=beside,
        )
        return self._make_pair(base, other, margin, cells)

    def compare_again(
        self, chosen: Sequence[tuple[Column, Column]], seed: str
    ) -> tuple[list[Pair], Again]:
        """What the second campaign has measured again: a reader can doubt any cell on any arm, so that all
        are one family."""
        drawn = [cell.id for cell in self.analyses[1].cells]
        margin = self._find_margin(*chosen[0])
        keyed: dict[tuple[str, str], tuple[Rows, Rows]] = {}
        refused: dict[tuple[str, str], Flag] = {}
        for base, other in chosen:
            obstacles, _ = self._find_obstacles(base, other)
            refused |= {(other.arm, cell): flag for cell, flag in obstacles.items()}
            for cell in drawn:
                keyed[other.arm, cell] = self.find_rows(base, cell), self.find_rows(other, cell)
        compared = compare_pairs(
            keyed,
            margin=margin,
            paired=False,
            level=LEVEL,
            any_profile=True,
            unpaired=find_pooled_ratio,
            refused=refused,
        )
        pairs, differing = [], {}
        for base, other in chosen:
            cells = {cell: compared[other.arm, cell] for cell in drawn}
            pairs.append(self._make_pair(base, other, margin, cells))
            differing[other.arm] = tuple(
                cell for cell, found in cells.items() if not _reproduces(found, margin)
            )
        return pairs, Again(seed=seed, drawn=tuple(drawn), differing=differing)

    def judge_bound(self, pairs: Sequence[Pair], bound: float) -> list[Pair]:
        """The pairs with an answer for each cell of work: one exit status is one claim, so that all arms
        are one family."""
        tested = {
            (number, cell): Bounded(
                found.ratio,
                self.find_rows(pair.base, cell),
                self.find_rows(pair.other, cell),
                max(bound, self._find_noise(pair)),
                pair.interleaved,
            )
            for number, pair in enumerate(pairs)
            for cell, found in pair.cells.items()
            if found.ratio
            and found.verdict
            and not found.invalid
            and self.find_rows(pair.other, cell)[0].role == "work"
        }
        answers = judge_bound(tested, bound)
        return [
            structs.replace(
                pair,
                cells={
                    cell: structs.replace(found, bound=answers.get((number, cell)))
                    for cell, found in pair.cells.items()
                },
                lost=tuple(self._find_lost(pair)),
            )
            for number, pair in enumerate(pairs)
        ]

    def _find_lost(self, pair: Pair) -> Iterator[str]:
        """The cells of work that have a sound number in the base, and nothing to set beside it."""
        refused, _ = self._find_obstacles(pair.base, pair.other)
        for cell in pair.cells:
            base, other = self.find_rows(pair.base, cell), self.find_rows(pair.other, cell)
            if not base or base[0].role != "work" or not _is_sound(base):
                continue
            few = _has_enough(base) and not _has_enough(other)
            if few or not _is_sound(other) or cell in refused:
                yield cell

    def _find_noise(self, pair: Pair) -> float:
        """What noise makes of nothing, a share: of one campaign, what its intervals do not cover."""
        if pair.interleaved:
            return self.analyses[pair.base.run - 1].noise_unexplained or 0.0
        columns = pair.base, pair.other
        return max(self.analyses[column.run - 1].noise_floor or 0.0 for column in columns)

    def _find_margin(self, *columns: Column) -> float:
        """Nothing is paired between campaigns, so that what a machine makes of nothing is not in the
        intervals."""
        return max(MARGIN, *(self.analyses[one.run - 1].noise_floor or 0.0 for one in columns))

    def _find_obstacles(
        self, base: Column, other: Column
    ) -> tuple[dict[str, Flag], dict[str, tuple[Flag, ...]]]:
        """Why cells must not be compared, and what stands beside their ratios."""
        refused: dict[str, Flag] = {}
        beside: dict[str, tuple[Flag, ...]] = {}
        for cell in self.names:
            first = self.results.get((base.run, base.arm, cell))
            second = self.results.get((other.run, other.arm, cell))
            if first is None or second is None:
                continue
            disagreement = find_disagreement({base.name: first.check, other.name: second.check})
            if disagreement is not None:
                refused[cell] = replace(disagreement, code="other-results", scope="comparison")
            elif (first.work.amount, first.work.unit) != (second.work.amount, second.work.unit):
                refused[cell] = raise_flag("other-work")
            # Each campaign finds its own; timing costs at most 0.5 % of a sample whichever it is.
            elif len({*first.calls, *second.calls}) > 1:
                beside[cell] = (raise_flag("other-calls"),)
        return refused, beside

    def _make_pair(self, base: Column, other: Column, margin: float, cells: Compared) -> Pair:
        floors = [self.analyses[one.run - 1].noise_floor for one in (base, other)]
        off = [abs(one.ratio.value - 1) for one in cells.values() if one.ratio and not one.invalid]
        return Pair(
            base=base,
            other=other,
            margin=margin,
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


def _has_enough(rows: Rows) -> bool:
    """Whether there are as many numbers as a verdict needs."""
    return len(values_by_block(rows)) >= FEWEST


def _reproduces(found: Comparison, margin: float) -> bool:
    if found.ratio is None or found.invalid:
        return False
    if found.verdict is None or found.ratio.p is None:
        # Without any spread there is no test: then the margin is what noise makes.
        return not is_beyond(found.ratio.value, margin)
    return not found.verdict.names_winner


def _demand_comparable(analyses: Sequence[Analysis]) -> None:
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
    return by_name[names[0]], by_name[names[1]]
