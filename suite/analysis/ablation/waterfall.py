"""From what the asker's script prints to the fair number, one change at a time.

The factors of the steps that were measured, and what the script says about the GPU against what the
fair numbers say; the stages are what the cells say.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from suite.analysis.ablation.catalogue import Catalogue, Values
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.numbers.estimate import Estimate, estimate
from suite.analysis.numbers.ratio import Ratio, compare
from suite.analysis.numbers.verdict import MARGIN, is_beyond
from suite.cells.cell import Param, Way
from suite.cells.traits import Removed


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A stage that has a number, seconds a ``unit`` by block, and all changes since the one before."""

    cell: str
    unit: str
    changes: tuple[str, ...]
    rules: tuple[Removed, ...]
    values: Values


@dataclass(frozen=True, kw_only=True)
class Step:
    """A measured stage: seconds a unit, and how many times less that is than at the stage before.

    ``changes`` are all changes since the stage before that was measured, and ``rules`` their
    causes; ``factor`` is None at the first.
    """

    cell: str
    changes: tuple[str, ...]
    rules: tuple[Removed, ...]
    value: Estimate
    factor: Ratio | None


@dataclass(frozen=True, kw_only=True)
class Waterfall:
    """One case on one arm; ``factor`` is what the whole way takes away."""

    case: Way
    arm: str
    steps: tuple[Step, ...]
    factor: Ratio
    ends: tuple[Values, Values] = field(repr=False)

    @property
    def pinned(self) -> bool:
        """Whether the work was on the CPU beside a visible GPU."""
        return self.case.pinned

    @property
    def fixed(self) -> Mapping[str, Param]:
        """The values of the case's own axes."""
        return self.case.fixed

    @property
    def largest(self) -> Step | None:
        """The step that takes away most; None where no step makes it shorter."""
        found = [step for step in self.steps if step.factor and step.factor.value > 1]
        return max(found, key=lambda step: step.factor.value if step.factor else 0.0, default=None)


@dataclass(frozen=True, kw_only=True)
class Misled:
    """What a script says about two places, and what the fair numbers say: ``other`` over ``base``.

    ``factor``, at least 1, is by how much the script is off.
    """

    other: Waterfall
    base: Waterfall
    naive: Ratio
    fair: Ratio
    factor: float

    @property
    def reverses(self) -> bool:
        """Whether the script names one of them as the faster, and it is the other."""
        return _find_side(self.naive) * _find_side(self.fair) < 0

    @property
    def invents(self) -> bool:
        """Whether the script sees a difference where the fair numbers see none."""
        return _find_side(self.naive) != 0 and _find_side(self.fair) == 0


def build_waterfalls(catalogue: Catalogue) -> list[Waterfall]:
    """Every waterfall of which at least two stages have a number, in the order of the plan."""
    places: dict[str, dict[bool, Way]] = {}
    for one in catalogue.cells.values():
        if (way := one.cell.way) is not None:
            places.setdefault(f"{way.name} {way.fixed}", {})[way.pinned] = way
    return [
        found
        for ways in places.values()
        for arm in catalogue.arms
        for _, way in sorted(ways.items())
        if (found := _build(catalogue, way, arm)) is not None
    ]


def find_misled(waterfalls: list[Waterfall], catalogue: Catalogue) -> list[Misled]:
    """The GPU against the CPU arm, and against the CPU beside it, by script and by fair number."""
    found = []
    for one in waterfalls:
        if one.arm != catalogue.gpu or one.pinned:
            continue
        for other in waterfalls:
            rival = (other.arm == catalogue.cpu and not other.pinned) or (
                other.arm == one.arm and other.pinned
            )
            same = (other.case.name, other.fixed) == (one.case.name, one.fixed)
            if not (rival and same and _same_ends(one, other)):
                continue
            naive, fair = (compare(other.ends[end], one.ends[end]) for end in (0, 1))
            if naive is None or fair is None:
                continue
            off = naive.value / fair.value
            found.append(
                Misled(
                    other=one,
                    base=other,
                    naive=naive,
                    fair=fair,
                    factor=max(off, 1 / off),
                )
            )
    return found


def find_way(catalogue: Catalogue, one: CellSummary, arm: str) -> list[Leg]:
    """The way from a cell of a case to the fair number; the cell itself is its first leg.

    Nothing where the cell belongs to no case, is its last stage, or has no number.
    """
    way = one.cell.way
    cells = [stage.cell for stage in way.stages] if way else []
    if way is None or one.cell.id not in cells:
        return []
    legs = list(_walk(catalogue, way, arm, begin=cells.index(one.cell.id)))
    return legs if len(legs) > 1 else []


def _find_side(ratio: Ratio) -> int:
    """1: slower, -1: faster, 0: nobody can tell, because there is no interval, or it contains 1, or
    the difference is one that counts for none."""
    low, high = ratio.low, ratio.high
    if low is None or high is None or low <= 1 <= high or not is_beyond(ratio.value, MARGIN):
        return 0
    return (ratio.value > 1) - (ratio.value < 1)


def _walk(catalogue: Catalogue, way: Way, arm: str, *, begin: int = 0) -> Iterator[Leg]:
    """The stages that have a number, each with all changes since the one before; nothing where the
    first has none."""
    changes: list[str] = []
    rules: list[Removed] = []
    for index, stage in enumerate(way.stages[begin:]):
        changes.append(stage.change)
        rules += [stage.removes] if stage.removes else []
        cell = catalogue.cells.get(stage.cell or "")
        values = (catalogue.values if way.by_call else catalogue.per_work)(cell, arm)
        if cell is not None and values:
            first = index == 0
            yield Leg(
                cell=cell.cell.id,
                unit=way.unit,
                changes=(stage.change,) if first else tuple(changes),
                rules=() if first else tuple(dict.fromkeys(rules)),
                values=values,
            )
            changes, rules = [], []
        elif index == 0:
            return


def _build(catalogue: Catalogue, way: Way, arm: str) -> Waterfall | None:
    legs = list(_walk(catalogue, way, arm))
    factor = compare(legs[-1].values, legs[0].values) if len(legs) > 1 else None
    if factor is None:
        return None
    factors = [None, *(compare(after.values, before.values) for before, after in pairwise(legs))]
    steps = [
        Step(
            cell=leg.cell,
            changes=leg.changes,
            rules=leg.rules,
            value=estimate(list(leg.values.values())),
            factor=found,
        )
        for leg, found in zip(legs, factors, strict=True)
    ]
    return Waterfall(
        case=way,
        arm=arm,
        steps=tuple(steps),
        factor=factor,
        ends=(legs[0].values, legs[-1].values),
    )


def _same_ends(one: Waterfall, other: Waterfall) -> bool:
    """Whether both begin and end at the same stages, so that their ends can be compared."""
    ends = [
        [step.changes[-1] for step in (found.steps[0], found.steps[-1])] for found in (one, other)
    ]
    return ends[0] == ends[1]
