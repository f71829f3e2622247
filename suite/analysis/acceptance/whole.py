"""What a requirement asks of a campaign as a whole: its controls, its noise, its machine.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median

from suite.analysis.acceptance.asked import FIRST_BLOCKS
from suite.analysis.acceptance.facts import (
    KNOWN,
    Bound,
    Known,
    Value,
    find_values,
    guess_kind,
    judge_fact,
    read_bound,
)
from suite.analysis.acceptance.power import count_showing
from suite.analysis.acceptance.quantities import QuantityError
from suite.analysis.acceptance.selection import Selection
from suite.analysis.acceptance.sheet import Requirement, SheetError
from suite.analysis.result.acceptance import Check
from suite.analysis.result.campaign import Analysis, ExtraWork, Family
from suite.analysis.result.numbers import EQUIVALENCE, FEWEST, INNER, Estimate, cite
from suite.analysis.statistics.estimate import CONFIDENCE, find_spread
from suite.cells.traits import WITH_CONTROLS


def judge_machine(analysis: Analysis) -> Check:
    """Whether nothing in any block makes the machine unsound."""
    unsound = tuple(flag for flag in analysis.flags if flag.scope == "machine")
    if unsound:
        return Check(answer="fail", flags=unsound)
    if invalid := analysis.invalid:
        return Check(answer="undecided", flags=invalid)
    if wrong := analysis.wrong:
        return Check(answer="undecided", reason=cite("wrong-results", arms=tuple(wrong)))
    return Check(answer="pass")


def judge_floor(wanted: Requirement, analysis: Analysis) -> Check:
    """The campaign's own noise floor beside what is required."""
    floor = analysis.noise_floor
    if floor is None:
        return Check(answer="undecided", reason=cite("no-twins"))
    bound = wanted.bound or 0.0
    held = floor < bound or (floor == bound and not wanted.strict)
    value = Estimate(value=floor, low=None, high=None, n=0)
    return Check(answer="pass" if held else "fail", value=value)


def judge_controls(analysis: Analysis) -> Check:
    """Whether every control held; of those that are too wide to tell, how many blocks would narrow them."""
    controls = analysis.controls
    if controls.failed:
        return Check(
            answer="fail",
            reason=cite("control-failed", campaign=analysis.campaign.id, controls=controls.failed),
        )
    hidden = [controls.cuda_hidden] if controls.cuda_hidden else []
    every: list[Family | ExtraWork] = [
        *controls.twins,
        *controls.again,
        *hidden,
        *controls.extra_work,
    ]
    found = ", ".join(sorted({control.answer for control in every}))
    wide = [control for control in every if control.answer == "too wide"]
    if every and not wide:
        return Check(answer="pass", found=found)
    if every and analysis.campaign.profile not in WITH_CONTROLS:
        reason = cite("profile-provisional", profile=analysis.campaign.profile)
        return Check(answer="undecided", reason=reason, found=found)
    if not every:
        return Check(answer="undecided", reason=cite("no-twins"))
    if max((len(arm.blocks) for arm in analysis.arms.values()), default=0) < FEWEST:
        few = cite("few-for-interval", fewest=FEWEST)
        return Check(answer="undecided", reason=few, found=found, blocks=FIRST_BLOCKS)
    needed = [
        _count_blocks(control) if isinstance(control, Family) else _count_extra(control)
        for control in wide
    ]
    known = [blocks for blocks in needed if blocks is not None]
    return Check(
        answer="undecided",
        reason=cite("controls-wide"),
        found=found,
        blocks=max(known) if len(known) == len(needed) else None,
    )


def _count_blocks(family: Family) -> int | None:
    """The blocks in all after which most cells are shown to be alike, since they are."""
    sound = [name for name, verdict in family.verdicts.items() if verdict.name != "INVALID"]
    spreads = [spread for name in sound if (spread := find_spread(family.ratios[name]))]
    if not spreads:
        return None
    n, near = max(family.ratios[name].n for name in sound), math.log(1 + EQUIVALENCE)
    return count_showing(median(spreads), len(sound) * (n - 1), n, near, INNER, ends=2)


def _count_extra(extra: ExtraWork) -> int | None:
    """The blocks in all after which work that is known is seen."""
    spread = find_spread(extra.ratio)
    if not spread:
        return None
    n = extra.ratio.n
    return count_showing(spread, n - 1, n, math.log(extra.truth), CONFIDENCE, ends=1)


def judge_facts(wanted: Requirement, selection: Selection) -> Iterator[Check]:
    """A fact of every arm that is meant.

    Raises:
        SheetError: there is no such fact, or it can't be what is required.
    """
    arms_by_name = selection.analysis.arms
    known = _find_fact(wanted, selection)
    arms = selection.match_arms(wanted, lambda arm: arms_by_name[arm].gpu or not known.gpu)
    assert wanted.rest is not None  # noqa: S101  every fact has one
    try:
        bound = read_bound(known, wanted.rest)
    except QuantityError as error:
        raise SheetError(
            selection.name, wanted.find_line("is"), f"is: {error.what}", error.remedy
        ) from error
    if not arms:
        yield Check(answer="undecided", reason=cite("no-gpu-arm"))
    for arm in arms:
        values = find_values(known, arms_by_name[arm])
        answer = judge_fact(values, bound)
        yield Check(
            answer=answer,
            arm=arm,
            found=", ".join(dict.fromkeys(_show(value, bound) for value in values)),
            reason=cite("fact-unknown") if answer == "undecided" else None,
        )


def _find_fact(wanted: Requirement, selection: Selection) -> Known:
    by_name = {name.lower(): known for name, known in KNOWN.items()}
    if wanted.of.lower() in by_name:
        return by_name[wanted.of.lower()]
    having = {
        arm: about.facts[wanted.of]
        for arm, about in selection.analysis.arms.items()
        if wanted.of in about.facts
    }
    values = [value for of in having.values() for value in of if value is not None]
    if values:
        gpu = all(selection.analysis.arms[arm].gpu for arm in having)
        return Known(kind=guess_kind(values), gpu=gpu, names=(wanted.of,))
    if having:
        return Known(kind="text", gpu=False, names=(wanted.of,))
    raise SheetError(
        selection.name,
        wanted.find_line("fact"),
        f"fact: {wanted.of!r} is neither a fact that a sheet can name nor one of this campaign's",
        f"known are: {', '.join(KNOWN)}; and every fact in the appendix of report.html",
    )


def _show(value: Value, bound: Bound) -> str:
    """A fact's value, in the unit that the sheet has for it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value
    return f"{value / bound.scale:.4g} {bound.unit}".rstrip()
