"""From ratios to conclusions: noise floor, controls, verdicts and crossovers of one campaign.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from suite.analysis.campaign.controls import (
    compare_family,
    find_excess,
    find_floor,
    find_honest,
    is_input_only,
)
from suite.analysis.numbers.crossover import Sweep, find_crossover, find_sweeps
from suite.analysis.numbers.ratio import compare
from suite.analysis.numbers.verdict import judge
from suite.analysis.result.campaign import Controls, ExtraWork, Family
from suite.analysis.result.numbers import (
    FEWEST,
    MARGIN,
    OTHER_LEVEL,
    WORK_LEVEL,
    Crossover,
    Ratio,
    Verdict,
)
from suite.cells.cell import Cell
from suite.cells.traits import ProfileName
from suite.flags import Flag, raise_flag
from suite.model import Campaign

JUDGED = ("standard", "full")
"""The profiles whose campaigns give verdicts."""

Values = Mapping[str, Mapping[str, Mapping[int, float]]]
"""Invocation values in seconds per call, by two names and block."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What conclusions are drawn from.

    ``ratios``, ``values`` (in seconds per call, by block) and ``invalid`` (the flags for which a number
    is struck) are by cell and arm of the plan, every pair there; ``placements`` are the nodes by
    device of every measured invocation by cell; ``controls`` are the values of the control arms, by
    arm and cell.
    """

    ratios: Mapping[str, Mapping[str, Ratio | Flag]]
    values: Values
    invalid: Mapping[str, Mapping[str, tuple[Flag, ...]]]
    placements: Mapping[str, Sequence[Mapping[str, int]]]
    controls: Values


@dataclass(frozen=True, kw_only=True)
class Conclusions:
    """What a campaign says.

    ``margin`` is what a difference must exceed to count.  ``floor`` is the noise floor, None where no
    twin ran; ``excess`` is what of it the twins' own intervals do not explain.  ``verdicts`` are by cell
    and other arm; ``crossovers`` by other arm.
    """

    margin: float
    floor: float | None
    excess: float | None
    controls: Controls
    verdicts: Mapping[str, Mapping[str, Verdict | Flag]]
    crossovers: Mapping[str, tuple[tuple[Sweep, Crossover], ...]]


def conclude(campaign: Campaign, compared: Compared) -> Conclusions:
    """The conclusions of a campaign; deterministic."""
    twins = tuple(
        _compare_control(one.of, one.name, compared, compared.controls[one.name])
        for one in campaign.every_arm
        if one.control == "twin" and one.of is not None and one.name in compared.controls
    )
    floor = find_floor(twins)
    excess = find_excess(twins)
    margin = max(MARGIN, excess or 0.0)
    base, *others = campaign.arms
    verdicts: dict[str, dict[str, Verdict | Flag]] = {name: {} for name in compared.ratios}
    for other in others:
        for name, found in _judge_arm(campaign, other, compared, margin).items():
            verdicts[name][other] = found
    return Conclusions(
        margin=margin,
        floor=floor,
        excess=excess,
        controls=Controls(
            twins=twins,
            cuda_hidden=_find_hidden(campaign, compared),
            again=tuple(
                _collect(base, other, compared, verdicts)
                for other in others
                if campaign.arm(other).control == "again" and campaign.arm(other).of == base
            ),
            extra_work=tuple(_compare_extra(campaign, compared)),
            input_only=_find_input_only(campaign.cells, compared, verdicts),
        ),
        verdicts=verdicts,
        crossovers={
            other: tuple(
                (sweep, find_crossover(sweep, _pick_verdicts(verdicts, other)))
                for sweep in find_sweeps(campaign.cells)
            )
            for other in others
        },
    )


def _judge_arm(
    campaign: Campaign, other: str, compared: Compared, margin: float
) -> dict[str, Verdict | Flag]:
    """The verdicts of an arm against the first."""
    base = campaign.arms[0]
    invalid = {
        name: found
        for name, arms in compared.invalid.items()
        if (found := arms[base] or arms[other])
    }
    ratios = {name: arms[other] for name, arms in compared.ratios.items()}
    work = {cell.id for cell in campaign.cells if cell.role == "work"}
    return judge_all(ratios, campaign.profile, margin=margin, invalid=invalid, work=work)


def judge_all(
    ratios: Mapping[str, Ratio | Flag],
    *profiles: ProfileName,
    margin: float,
    invalid: Mapping[str, tuple[Flag, ...]],
    work: Collection[str],
) -> dict[str, Verdict | Flag]:
    """The verdict of every cell of one comparison, or the flag that says why there is none.

    Cells of ``work`` are judged as one family, all others as another.

    ``profiles`` are those of the campaigns that the ratios come from: one that gives no verdicts
    forbids them.
    """
    families: dict[bool, dict[str, Ratio]] = {True: {}, False: {}}
    for name, one in ratios.items():
        if isinstance(one, Ratio):
            families[name in work][name] = one
    hasty = next((profile for profile in profiles if profile not in JUDGED), None)
    judged: dict[str, Verdict] = {}
    for is_work, found in () if hasty else families.items():
        level = WORK_LEVEL if is_work else OTHER_LEVEL
        judged |= judge(found, margin=margin, invalid=invalid, level=level)
    few = raise_flag("few-pairs", fewest=FEWEST)
    missing = raise_flag("provisional", profile=hasty) if hasty else few
    return {
        name: judged.get(name, ratio if isinstance(ratio, Flag) else missing)
        for name, ratio in ratios.items()
    }


def _pick(compared: Compared, other: str) -> dict[str, Ratio]:
    """The ratios of one comparison that are there."""
    return {
        name: one for name, arms in compared.ratios.items() if isinstance(one := arms[other], Ratio)
    }


def _collect(
    base: str,
    other: str,
    compared: Compared,
    verdicts: Mapping[str, Mapping[str, Verdict | Flag]],
) -> Family:
    """A comparison of the plan's arms as a family of which the truth is known."""
    return Family(
        base=base,
        other=other,
        ratios=_pick(compared, other),
        verdicts=_pick_verdicts(verdicts, other),
    )


def _pick_verdicts(
    verdicts: Mapping[str, Mapping[str, Verdict | Flag]], other: str
) -> dict[str, Verdict]:
    """The verdicts of one comparison that are there."""
    return {n: one for n, arms in verdicts.items() if isinstance(one := arms[other], Verdict)}


def _compare_control(
    arm: str, control: str, compared: Compared, values: Mapping[str, Mapping[int, float]]
) -> Family:
    """A control's values by cell against an arm of the plan, over the cells that are not INVALID."""
    pairs = {
        name: (compared.values[name][arm], found)
        for name, found in values.items()
        if name in compared.values
        and not compared.invalid[name][arm]
        and compared.values[name][arm]
    }
    return compare_family(arm, control, pairs)


def _find_hidden(campaign: Campaign, compared: Compared) -> Family | None:
    cpu = campaign.find_arm(gpu=False)
    hidden = next((one.name for one in campaign.every_arm if one.control == "hidden"), None)
    if cpu is None or hidden is None:
        return None
    if hidden in compared.controls:
        return _compare_control(cpu.name, hidden, compared, compared.controls[hidden])
    if hidden not in campaign.arms:
        return None
    values = {
        name: arms[hidden]
        for name, arms in compared.values.items()
        if arms[hidden] and not compared.invalid[name][hidden]
    }
    return _compare_control(cpu.name, hidden, compared, values)


def _compare_extra(campaign: Campaign, compared: Compared) -> Iterable[ExtraWork]:
    values, invalid = compared.values, compared.invalid
    for cell in campaign.cells:
        honest = find_honest(cell, campaign.cells)
        if honest is None:
            continue
        twin, truth = honest
        for arm in campaign.arms:
            if invalid[cell.id][arm] or invalid[twin.id][arm]:
                continue
            own, honest_s = values[cell.id][arm], values[twin.id][arm]
            ratio = compare(honest_s, own)
            meant = compare({block: truth * s for block, s in honest_s.items()}, own)
            if ratio is not None and meant is not None:
                yield ExtraWork(
                    arm=arm, cell=cell.id, honest=twin.id, ratio=ratio, truth=truth, p=meant.p
                )


def _find_input_only(
    cells: Iterable[Cell],
    compared: Compared,
    verdicts: Mapping[str, Mapping[str, Verdict | Flag]],
) -> dict[str, dict[str, Verdict]]:
    found = {}
    for cell in cells:
        if is_input_only(cell, compared.placements.get(cell.id, ())):
            judged = {
                arm: one
                for arm, one in verdicts[cell.id].items()
                if isinstance(one, Verdict) and one.name != "INVALID"
            }
            if judged:
                found[cell.id] = judged
    return found
