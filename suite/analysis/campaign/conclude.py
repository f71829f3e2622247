"""From ratios to conclusions: noise floor, controls and verdicts of one campaign.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from suite.analysis.campaign.reading import read
from suite.analysis.campaign.validity import find_cell_disturbance, find_whole_disturbance
from suite.analysis.numbers.ratio import compare
from suite.analysis.numbers.verdict import judge
from suite.analysis.result.campaign import Controls, ExtraWork, Family
from suite.analysis.result.cells import ArmResult
from suite.analysis.result.numbers import (
    FEWEST,
    MARGIN,
    OTHER_LEVEL,
    WORK_LEVEL,
    Ratio,
    Verdict,
)
from suite.cells.cell import Cell
from suite.cells.traits import WITH_VERDICTS, ProfileName
from suite.flags import Flag, raise_flag
from suite.model import Campaign, CellResult, Document

FLOOR_SHARE = 95.0
"""The noise floor is this percentile of the twins' |ratio - 1|."""

Results = Mapping[str, Mapping[str, ArmResult]]
"""What a campaign knows of its cells, by cell and arm of the plan, every pair there."""

Values = Mapping[str, Mapping[int, float]]
"""Invocation values of an arm in seconds per call, by cell and block."""

Told = Mapping[str, Mapping[str, Mapping[int, CellResult]]]
"""What the documents that count have of every cell, by cell, arm and block."""

Verdicts = Mapping[str, Mapping[str, Verdict | Flag]]
"""By cell and arm, the first one excepted."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Conclusions:
    """What a campaign says.

    ``margin`` is what a difference must exceed to count.  ``floor`` is the noise floor, None where no
    twin ran; ``excess`` is what of it the twins' own intervals do not explain.
    """

    margin: float
    floor: float | None
    excess: float | None
    controls: Controls
    verdicts: Verdicts


def conclude(
    campaign: Campaign,
    results: Results,
    ratios: Mapping[str, Mapping[str, Ratio | Flag]],
    *,
    told: Told,
    controls: Mapping[str, Values],
) -> Conclusions:
    """The conclusions of a campaign; deterministic.

    Args:
        campaign: the plan.
        results: its cells' numbers.
        ratios: by cell and arm, the first one excepted.
        told: what its documents have of its cells, among it where the work was seen.
        controls: the values of the control arms, by arm.
    """
    twins = tuple(
        _compare_control(results, one.of, one.name, controls[one.name])
        for one in campaign.every_arm
        if one.control == "twin" and one.of is not None and one.name in controls
    )
    excess = find_excess(twins)
    margin = max(MARGIN, excess or 0.0)
    base, *others = campaign.arms
    compared = {other: {name: arms[other] for name, arms in ratios.items()} for other in others}
    work = {cell.id for cell in campaign.cells if cell.role == "work"}
    judged = {
        other: judge_all(
            found,
            campaign.profile,
            margin=margin,
            invalid={
                name: flags
                for name, arms in results.items()
                if (flags := arms[base].invalid or arms[other].invalid)
            },
            work=work,
        )
        for other, found in compared.items()
    }
    verdicts = {name: {other: judged[other][name] for other in others} for name in ratios}
    return Conclusions(
        margin=margin,
        floor=find_floor(twins),
        excess=excess,
        controls=Controls(
            twins=twins,
            cuda_hidden=_find_hidden(campaign, results, controls),
            again=tuple(
                Family(
                    base=base,
                    other=other,
                    ratios=_drop_flags(compared[other]),
                    verdicts=_drop_flags(judged[other]),
                )
                for other in others
                if campaign.arm(other).control == "again" and campaign.arm(other).of == base
            ),
            extra_work=tuple(_compare_extra(campaign, results)),
            input_only=_find_input_only(campaign.cells, told, verdicts),
        ),
        verdicts=verdicts,
    )


def judge_all(
    ratios: Mapping[str, Ratio | Flag],
    *profiles: ProfileName,
    margin: float,
    invalid: Mapping[str, tuple[Flag, ...]],
    work: Collection[str],
    paired: bool = True,
) -> dict[str, Verdict | Flag]:
    """The verdict of every cell of one comparison, or the flag that says why there is none.

    Cells of ``work`` are judged as one family, all others as another.

    ``profiles`` are those of the campaigns that the ratios come from: one that gives no verdicts
    forbids them.  ``paired``: as `judge`.
    """
    found = _drop_flags(ratios)
    hasty = next((profile for profile in profiles if profile not in WITH_VERDICTS), None)
    judged: dict[str, Verdict] = {}
    for is_work, level in () if hasty else ((True, WORK_LEVEL), (False, OTHER_LEVEL)):
        family = {name: one for name, one in found.items() if (name in work) == is_work}
        judged |= judge(family, margin=margin, invalid=invalid, level=level, paired=paired)
    few = raise_flag("few-pairs", fewest=FEWEST)
    missing = raise_flag("provisional", profile=hasty) if hasty else few
    return {
        name: judged.get(name, ratio if isinstance(ratio, Flag) else missing)
        for name, ratio in ratios.items()
    }


def _drop_flags(found: Mapping[str, T | Flag]) -> dict[str, T]:
    """What is there, without what is missing."""
    return {name: one for name, one in found.items() if not isinstance(one, Flag)}


def _compare_control(results: Results, arm: str, control: str, values: Values) -> Family:
    """A control's values against an arm of the plan, over the cells that are not INVALID."""
    found = {
        name: compare(results[name][arm].values, own)
        for name, own in values.items()
        if not results[name][arm].invalid
    }
    ratios = {name: one for name, one in found.items() if one is not None}
    verdicts = judge(ratios, margin=MARGIN, invalid={}, level=OTHER_LEVEL)
    return Family(base=arm, other=control, ratios=ratios, verdicts=verdicts)


def _find_hidden(
    campaign: Campaign, results: Results, controls: Mapping[str, Values]
) -> Family | None:
    cpu = campaign.find_arm(gpu=False)
    hidden = next((one.name for one in campaign.every_arm if one.control == "hidden"), None)
    if cpu is None or hidden is None or hidden not in {*controls, *campaign.arms}:
        return None
    values = controls.get(hidden) or {
        name: arms[hidden].values
        for name, arms in results.items()
        if hidden in arms and not arms[hidden].invalid
    }
    return _compare_control(results, cpu.name, hidden, values)


def _compare_extra(campaign: Campaign, results: Results) -> Iterable[ExtraWork]:
    for cell in campaign.cells:
        honest = find_honest(cell, campaign.cells)
        if honest is None:
            continue
        twin, truth = honest
        for arm in campaign.arms:
            own, other = results[cell.id][arm], results[twin.id][arm]
            if own.invalid or other.invalid:
                continue
            ratio = compare(other.values, own.values)
            meant = compare({block: truth * s for block, s in other.values.items()}, own.values)
            if ratio is not None and meant is not None:
                yield ExtraWork(
                    arm=arm, cell=cell.id, honest=twin.id, ratio=ratio, truth=truth, p=meant.p
                )


def _find_input_only(
    cells: Iterable[Cell], told: Told, verdicts: Verdicts
) -> dict[str, dict[str, Verdict]]:
    found = {}
    for cell in cells:
        every = (one for blocks in told[cell.id].values() for one in blocks.values())
        if is_input_only(cell, [one.placement for one in every if one.outcome == "measured"]):
            judged = _drop_flags(verdicts[cell.id])
            sound = {arm: one for arm, one in judged.items() if one.name != "INVALID"}
            if sound:
                found[cell.id] = sound
    return found


def find_floor(families: Iterable[Family]) -> float | None:
    """The noise floor: the 95th percentile of |ratio - 1| over all twin cells of all arms.

    Linear between order statistics (numpy's default).  None: there is no twin cell.
    """
    off = [abs(one.value - 1) for family in families for one in family.ratios.values()]
    return float(np.percentile(off, FLOOR_SHARE)) if off else None


def find_excess(families: Iterable[Family]) -> float | None:
    """What twins show beyond what their own intervals know of: the 95th percentile, over all twin
    cells of all arms that have an interval, of how far it misses a ratio of 1; 0 where it contains 1.

    A noisy cell differs from its twin by as much as its interval says, and its verdict takes that
    into account; only what the intervals miss has to be added for every cell.  By construction one
    in twenty misses by accident, which the percentile leaves out.  None: no twin has an interval.
    """
    misses = [
        max(0.0, one.low - 1, 1 / one.high - 1)
        for family in families
        for one in family.ratios.values()
        if one.low is not None and one.high is not None
    ]
    return float(np.percentile(misses, FLOOR_SHARE)) if misses else None


def find_honest(cell: Cell, cells: Iterable[Cell]) -> tuple[Cell, float] | None:
    """The honest twin of a known-extra-work cell and the true ratio of their work; None: no such cell."""
    names = [link.to for link in cell.links.get("honest", ())]
    twin = next((one for one in cells if one.id in names), None)
    return None if twin is None or cell.excess is None else (twin, 1 + cell.excess)


def is_input_only(cell: Cell, placements: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a cell's work was seen on CPUs alone, on whichever arm: a pipeline without a model.

    ``placements`` are the nodes by device of every measured invocation on every arm; a cell whose
    placement nobody saw is none.
    """
    seen = list(placements)
    return (
        cell.role == "input"
        and bool(seen)
        and all(one and all("GPU" not in device for device in one) for one in seen)
    )


def read_controls(documents: Mapping[int, Document]) -> dict[str, dict[int, float]]:
    """The values of a control arm, by cell and block; disturbed ones left out."""
    values: dict[str, dict[int, float]] = {}
    for block, document in documents.items():
        for one in document.cells if find_whole_disturbance(document) is None else ():
            if one.outcome == "measured" and find_cell_disturbance(one) is None:
                values.setdefault(one.id, {})[block] = read(one).value
    return values
