"""The arms of a family against its first: which results differ, and how much slower cells and parts are.

Decides which arms are compared, and calls the one comparison.  Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from msgspec import structs

from suite.analysis.ablation.cell_index import CellIndex, Values, mean
from suite.analysis.campaign.summarise import Summary
from suite.analysis.campaign.verdicts import count_pairs
from suite.analysis.causes.parts import mean_of, subtract
from suite.analysis.compare import compare
from suite.analysis.observations import select
from suite.analysis.result.cells import Comparison
from suite.analysis.result.numbers import Estimate
from suite.analysis.result.versions import (
    VERSION_PARTS,
    Differing,
    PartChange,
    PartRow,
    VersionChange,
    VersionPart,
)
from suite.analysis.statistics.estimate import estimate_difference
from suite.analysis.versions.amounts import Amount, Told, compare_parts
from suite.analysis.versions.effect import find_effects
from suite.analysis.versions.parts import UNITS, PartFinder
from suite.analysis.versions.software import Software, sort_versions, tell_difference

MOST_ALIKE = 3.0
"""Of cells whose own seconds are further apart, a mean of seconds is that of the largest alone."""


def compare_arms(summary: Summary, base: str, other: str) -> dict[str, Comparison]:
    """By cell an arm against another: where that is the campaign's first, what stands with the cells."""
    if base == summary.base:
        return {cell.cell.id: cell.comparisons[other] for cell in summary.cells}
    rows = (select(summary.table, arm=arm) for arm in (base, other))
    return compare(
        *rows,
        margin=summary.margin,
        refused=summary.find_refused(base, other),
        share=summary.share,
        among=count_pairs(summary.campaign, base, other),
    )


@dataclass(frozen=True, kw_only=True)
class Versions:
    """The versions in a campaign; ``software`` is by arm what it ran."""

    summary: Summary
    index: CellIndex
    software: Mapping[str, Software]
    _finders: dict[frozenset[str], PartFinder] = field(init=False, default_factory=dict)

    @property
    def groups(self) -> list[tuple[str, ...]]:
        """The arms that are versions of each other, the older first where that is known."""
        groups = self.summary.campaign.version_groups
        return [sort_versions(group, self.software) for group in groups]

    def find_changes(self) -> Iterator[VersionChange]:
        """Every arm of a family but its first, against that."""
        for base, *others in self.groups:
            for other in others:
                yield VersionChange(
                    base=base,
                    other=other,
                    software=self.tell_software(base, other),
                    differs=tuple(self._find_differing(base, other)),
                    # What makes a side INVALID stands with the arm, and in the verdict.
                    cells={
                        cell: structs.replace(row, invalid=())
                        for cell, row in compare_arms(self.summary, base, other).items()
                    },
                    parts=tuple(self._compare_parts(base, other)),
                )

    def tell_software(self, base: str, other: str) -> dict[str, tuple[str, str]]:
        """By name what two arms ran of which the version, or whether it is on, is not the same."""
        return tell_difference(self.software.get(base, {}), self.software.get(other, {}))

    def _find_differing(self, base: str, other: str) -> Iterator[Differing]:
        refused = self.summary.find_refused(base, other)
        for summary in self.summary.cells:
            cell, arms = summary.cell.id, summary.arms
            wrong = tuple(arm for arm in (base, other) if arms[arm].is_wrong)
            if wrong or cell in refused:
                yield Differing(
                    cell=cell, wrong=wrong, base=arms[base].check, other=arms[other].check
                )

    # --- Parts ----------------------------------------------------------------------------------------

    def find_parts(self, base: str, other: str) -> PartFinder:
        """The parts of the cells whose results are the same on two arms; of other work no time is taken, nor
        taken away from another."""
        differing = frozenset(self.summary.find_refused(base, other))
        if differing not in self._finders:
            table = [row for row in self.index.table if row.cell not in differing]
            self._finders[differing] = PartFinder(replace(self.index, table=table))
        return self._finders[differing]

    def find_amounts(self, part: VersionPart, base: str, other: str) -> dict[str, Amount]:
        """By cell what a part takes on two arms, of those that it can be read off on both."""
        finder = self.find_parts(base, other)
        first, second = (finder.find(part, arm) for arm in (base, other))
        return {
            cell: Amount(
                most=(own.most, second[cell].most),
                least=(own.least, second[cell].least),
                whole=whole,
            )
            for cell, own in first.items()
            if cell in second
            and (whole := mean(own.whole))
            and all(
                getattr(own, end).keys() & getattr(second[cell], end).keys()
                for end in ("most", "least")
            )
        }

    @cached_property
    def _amounts(self) -> dict[tuple[VersionPart, str, str], dict[str, Amount]]:
        """By part and two arms what is compared: each arm with the first of its family, and neighbours."""
        firsts = [(base, other) for base, *others in self.groups for other in others]
        neighbours = [pair for group in self.groups for pair in pairwise(group)]
        pairs = dict.fromkeys([*firsts, *neighbours])
        return {
            (part, *pair): found
            for pair in pairs
            for part in VERSION_PARTS
            if (found := self.find_amounts(part, *pair))
        }

    @cached_property
    def parts(self) -> dict[tuple[VersionPart, str, str], Told]:
        """By part and two arms what is told of it: of all that a report tells one family of tests, so that a
        longer list has no more false verdicts, and two arms have one verdict wherever they stand."""
        index = self.index
        return compare_parts(
            self._amounts, margin=index.margin, share=index.share, judged=index.gives_verdicts
        )

    def _compare_parts(self, base: str, other: str) -> list[PartChange]:
        parts = [
            self._make_part(part, amounts, self.parts[part, base, other], base, other)
            for part in VERSION_PARTS
            if (amounts := self._amounts.get((part, base, other)))
        ]
        effects = find_effects(self.find_parts(base, other), base, parts)
        parts = [structs.replace(part, effect=effects.get(part.name, 0.0)) for part in parts]
        return sorted(parts, key=lambda part: -abs(part.effect) if part.changed else 1.0)

    def _make_part(
        self, part: VersionPart, amounts: Mapping[str, Amount], told: Told, base: str, other: str
    ) -> PartChange:
        owns = {cell: mean_of(amount.most[0]) for cell, amount in amounts.items()}
        differences = {cell: subtract(of.most[1], of.most[0]) for cell, of in amounts.items()}
        mean_of_all = _average(list(differences.values()))
        says = are_alike(owns.values()) and not contradict(told, mean_of_all)
        return PartChange(
            name=part,
            cells=tuple(amounts),
            unit=UNITS.get(part, "call"),
            own=math.fsum(owns.values()) / len(owns) if says else None,
            seconds=mean_of_all if says else None,
            ratio=told.ratio,
            least=None if told.least == told.ratio else told.least,
            verdict=told.verdict,
            contains=self.find_parts(base, other).contains(part, (base, other)),
            rows={
                cell: PartRow(
                    own=owns[cell],
                    seconds=estimate_difference(list(differences[cell].values())),
                    ratio=told.rows[cell][0],
                    verdict=told.rows[cell][1],
                )
                for cell in amounts
            },
        )


def are_alike(owns: Collection[float]) -> bool:
    """Whether the mean of several cells' seconds is near that of each."""
    return len(owns) == 1 or 0 < max(owns) <= MOST_ALIKE * min(owns)


def contradict(told: Told, seconds: Estimate) -> bool:
    """Whether a difference in seconds goes one way and the ratio of the same cells another, and one of the
    two is more than noise."""
    verdict = told.verdict.name if told.verdict else ""
    slower = {"SLOWER": True, "FASTER": False}.get(verdict)
    if slower is None:
        if told.ratio is None or (seconds.least <= 0 <= seconds.most):
            return False
        slower = told.ratio.value > 1
    return slower != (seconds.value > 0)


def _average(rows: list[Values]) -> Estimate:
    """The mean of several cells' differences, by the blocks that all have; without such a block, the mean of
    their means, whose spread nobody knows."""
    common = set.intersection(*(set(row) for row in rows))
    if not common:
        value = math.fsum(map(mean_of, rows)) / len(rows)
        return Estimate(value=value, low=None, high=None, n=0)
    return estimate_difference(
        [math.fsum(row[block] for row in rows) / len(rows) for block in sorted(common)]
    )
