"""From what the asker's script prints to the fair number, one change at a time.

The factors of the steps that were measured, and what the script says about the GPU against what the
fair numbers say; the cases themselves are `questions`.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from suite.analysis.ablation.catalogue import Catalogue, Values, name_case
from suite.analysis.ablation.questions import CASES, Case, Stage, StepRule
from suite.analysis.campaign.summarise import CellSummary
from suite.analysis.numbers.estimate import Estimate, estimate
from suite.analysis.numbers.ratio import Ratio, compare
from suite.analysis.numbers.verdict import MARGIN, is_beyond
from suite.cells.cell import Param


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A stage that has a number, seconds a ``unit`` by block, and all changes since the one before."""

    cell: str
    unit: str
    changes: tuple[str, ...]
    rules: tuple[StepRule, ...]
    values: Values


@dataclass(frozen=True, kw_only=True)
class Step:
    """A measured stage: seconds a unit, and how many times less that is than at the stage before.

    ``changes`` are all changes since the stage before that was measured, and ``rules`` their
    causes; ``factor`` is None at the first.
    """

    cell: str
    changes: tuple[str, ...]
    rules: tuple[StepRule, ...]
    value: Estimate
    factor: Ratio | None


@dataclass(frozen=True, kw_only=True)
class Waterfall:
    """One case on one arm: ``pinned`` where the work was on the CPU beside a visible GPU.

    ``factor`` is what the whole way takes away; ``fixed`` are the values of the case's own axes.
    """

    case: Case
    arm: str
    pinned: bool
    fixed: Mapping[str, Param]
    steps: tuple[Step, ...]
    factor: Ratio
    ends: tuple[Values, Values] = field(repr=False)

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

    case: Case
    fixed: Mapping[str, Param]
    base: str
    other: str
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
    """Every waterfall of which at least two stages have a number, in the order of the cases."""
    return [
        found
        for case in CASES
        for fixed in _list_fixed(catalogue, case)
        for arm in catalogue.arms
        for pinned in (False, True)
        if (found := _build(catalogue, case, fixed, arm, pinned=pinned)) is not None
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
            same = (other.case, other.fixed) == (one.case, one.fixed)
            if not (rival and same and _same_ends(one, other)):
                continue
            naive, fair = (compare(other.ends[end], one.ends[end]) for end in (0, 1))
            if naive is None or fair is None:
                continue
            off = naive.value / fair.value
            found.append(
                Misled(
                    case=one.case,
                    fixed=one.fixed,
                    base=name_place(other),
                    other=name_place(one),
                    naive=naive,
                    fair=fair,
                    factor=max(off, 1 / off),
                )
            )
    return found


def name_place(one: Waterfall) -> str:
    """Where a waterfall was measured: ``cuda``, or ``cuda, pinned to its CPU``."""
    return f"{one.arm}, pinned to its CPU" if one.pinned else one.arm


def find_way(catalogue: Catalogue, one: CellSummary, arm: str) -> list[Leg]:
    """The way from a cell of a case to the fair number; the cell itself is its first leg.

    Nothing where the cell belongs to no case, is its last stage, or has no number.
    """
    for case in CASES:
        for index, stage in enumerate(case.stages):
            if not _is_stage(one, stage):
                continue
            fixed = {axis: one.cell.params[axis] for axis in case.over if axis in one.cell.params}
            pinned = one.cell.params.get("on") == "cpu"
            legs = list(_walk(catalogue, case, fixed, arm, pinned=pinned, begin=index))
            return legs if len(legs) > 1 and legs[0].cell == one.cell.id else []
    return []


def _find_side(ratio: Ratio) -> int:
    """1: slower, -1: faster, 0: nobody can tell, because there is no interval, or it contains 1, or
    the difference is one that counts for none."""
    low, high = ratio.low, ratio.high
    if low is None or high is None or low <= 1 <= high or not is_beyond(ratio.value, MARGIN):
        return 0
    return (ratio.value > 1) - (ratio.value < 1)


def _list_fixed(catalogue: Catalogue, case: Case) -> Iterator[dict[str, Param]]:
    seen = []
    for one in catalogue.select(case.stages[0].case):
        fixed = {axis: one.cell.params[axis] for axis in case.over if axis in one.cell.params}
        if fixed not in seen:
            seen.append(fixed)
            yield fixed


def _walk(
    catalogue: Catalogue,
    case: Case,
    fixed: Mapping[str, Param],
    arm: str,
    *,
    pinned: bool,
    begin: int = 0,
) -> Iterator[Leg]:
    """The stages that have a number, each with all changes since the one before; nothing where the
    first has none."""
    changes: list[str] = []
    rules: list[StepRule] = []
    last: str | None = None
    for index, stage in enumerate(case.stages[begin:]):
        # Two cells can be the same stage, one for each place; its change is one change.
        if stage.change not in {*changes, last}:
            changes.append(stage.change)
            rules += [stage.rule] if stage.rule else []
        cell = _find_cell(catalogue, stage, fixed, pinned=pinned)
        values = _measure(catalogue, case, cell, arm)
        if cell is not None and values:
            first = index == 0
            yield Leg(
                cell=cell.cell.id,
                unit=case.unit,
                changes=(stage.change,) if first else tuple(changes),
                rules=() if first else tuple(dict.fromkeys(rules)),
                values=values,
            )
            changes, rules, last = [], [], stage.change
        elif index == 0:
            return


def _build(
    catalogue: Catalogue, case: Case, fixed: Mapping[str, Param], arm: str, *, pinned: bool
) -> Waterfall | None:
    legs = list(_walk(catalogue, case, fixed, arm, pinned=pinned))
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
        case=case,
        arm=arm,
        pinned=pinned,
        fixed=dict(fixed),
        steps=tuple(steps),
        factor=factor,
        ends=(legs[0].values, legs[-1].values),
    )


def _measure(catalogue: Catalogue, case: Case, cell: CellSummary | None, arm: str) -> Values:
    """Seconds by block for what the case counts."""
    return catalogue.values(cell, arm) if case.by_call else catalogue.per_work(cell, arm)


def _find_cell(
    catalogue: Catalogue, stage: Stage, fixed: Mapping[str, Param], *, pinned: bool
) -> CellSummary | None:
    """The cell of a stage, on the arm's own device or pinned to the CPU."""
    if pinned and stage.case == "matmul.square":
        return None
    if not pinned and stage.axes.get("stage") == "warm":
        return None
    axes = {**stage.axes, **fixed}
    if stage.case != "matmul.square":
        axes["on"] = "cpu" if pinned else "arm"
    found = catalogue.select(stage.case, **axes)
    # A pinned cell has to say so; an axis that a cell lacks fits any value.
    return next((one for one in found if not pinned or one.cell.params.get("on") == "cpu"), None)


def _is_stage(one: CellSummary, stage: Stage) -> bool:
    params = one.cell.params
    return name_case(one.cell) == stage.case and all(
        params.get(axis) == value for axis, value in stage.axes.items()
    )


def _same_ends(one: Waterfall, other: Waterfall) -> bool:
    """Whether both begin and end at the same stages, so that their ends can be compared."""
    ends = [
        [step.changes[-1] for step in (found.steps[0], found.steps[-1])] for found in (one, other)
    ]
    return ends[0] == ends[1]
