"""A campaign beside a sheet of requirements: what each line comes to, and what would decide it.  Pure.

Every check of a cell on an arm has an interval at a level at which those of the whole sheet hold at once: of
``k`` checks, facts and controls among them, 1 - 0.05/k (Bonferroni).  A line passes where the whole interval
lies on the right side, and fails where it lies wholly on the wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from suite.analysis.acceptance.asked import Asked
from suite.analysis.acceptance.cells import Cells
from suite.analysis.acceptance.facts import KNOWN, find_values
from suite.analysis.acceptance.selection import Selection
from suite.analysis.acceptance.sheet import Requirement, Sheet
from suite.analysis.acceptance.whole import (
    judge_controls,
    judge_facts,
    judge_floor,
    judge_machine,
)
from suite.analysis.observations import HOUR_S
from suite.analysis.result.acceptance import Acceptance, Check, Deciding, Line, conclude
from suite.analysis.result.campaign import SCHEMA, Analysis
from suite.analysis.result.numbers import LEVEL
from suite.analysis.result.several import list_failed
from suite.analysis.statistics.rounding import hand_over


def judge_campaign(
    sheet: Sheet, selection: Selection, samples: str, others: Mapping[str, Analysis]
) -> Acceptance:
    """A sheet's answers of the campaign of a ``selection``, whose ``samples`` have this hash; ``others`` are
    campaigns by the name that the sheet has for them.

    Raises:
        SheetError: a line names a cell, an arm or a campaign that is none, or a unit that does not fit.
    """
    analysis = selection.analysis
    cells = Cells(selection=selection, others=others)
    asked = [list(_ask(wanted, cells)) for wanted in sheet.requirements]
    counted = sum(map(len, asked))
    confidence = 1 - LEVEL / counted
    lines = tuple(
        _make_line(number, wanted, _judge_all(of, confidence), analysis)
        for number, (wanted, of) in enumerate(zip(sheet.requirements, asked, strict=True), start=1)
    )
    blocks = max((len(arm.blocks) for arm in analysis.arms.values()), default=0)
    facts = {
        name: next((", ".join(map(str, v)) for v in values if v), None)
        for name, values in (
            (name, [find_values(KNOWN[name], arm) for arm in analysis.arms.values()])
            for name in ("machine type", "TensorFlow", "driver")
        )
    }
    return hand_over(
        Acceptance(
            schema=SCHEMA,
            sheet=sheet.name,
            digest=sheet.digest,
            title=sheet.title,
            signed_by=sheet.signed_by,
            answer=conclude(line.answer for line in lines),
            lines=lines,
            counted=counted,
            confidence=confidence,
            campaign=analysis.campaign,
            samples=samples,
            suite=analysis.suite,
            analysed_by=analysis.analysed_by,
            machine=analysis.machine,
            machine_type=facts["machine type"],
            software=_tell_software(analysis) or facts["TensorFlow"],
            driver=facts["driver"],
            arms=tuple(analysis.arms),
            blocks=blocks,
            price=analysis.price,
            flags=analysis.flags,
            wrong={arm: len(cells) for arm, cells in analysis.wrong.items()},
            failed=list_failed([analysis, *others.values()]),
            decides=_decide(lines, analysis, blocks),
        )
    )


def _tell_software(analysis: Analysis) -> str | None:
    """Which TensorFlow each arm ran; None: all ran the same, or nobody knows."""
    found = {
        arm: ", ".join(map(str, find_values(KNOWN["TensorFlow"], about)))
        for arm, about in analysis.arms.items()
    }
    if len({*found.values()} - {""}) < 2:
        return None
    return ", ".join(f"{version} ({arm})" for arm, version in found.items() if version)


def _ask(wanted: Requirement, cells: Cells) -> Iterator[Asked | Check]:
    match wanted.what:
        case "noise_floor":
            yield judge_floor(wanted, cells.analysis)
        case "controls":
            yield judge_controls(cells.analysis)
        case "machine":
            yield judge_machine(cells.analysis)
        case "fact":
            yield from judge_facts(wanted, cells.selection)
        case "expected":
            yield from cells.ask_expected(wanted)
        case _:
            yield from cells.ask(wanted)


def _judge_all(asked: Sequence[Asked | Check], confidence: float) -> list[Check]:
    return [each.judge(confidence) if isinstance(each, Asked) else each for each in asked]


def _make_line(
    number: int, wanted: Requirement, checks: Sequence[Check], analysis: Analysis
) -> Line:
    return Line(
        number=number,
        line=wanted.find_line(),
        clause=wanted.clause,
        what=wanted.what,
        wanted=wanted.wanted,
        of=wanted.part or wanted.of,
        cells=wanted.cell or wanted.every,
        arm=wanted.arm,
        against=wanted.base or wanted.than or analysis.base * (wanted.what == "faster_from"),
        side=wanted.side,
        bound=wanted.bound,
        scale=wanted.scale,
        unit=wanted.unit,
        answer=conclude(check.answer for check in checks),
        checks=tuple(checks),
    )


def _decide(lines: Sequence[Line], analysis: Analysis, blocks: int) -> Deciding | None:
    """What more blocks of this campaign decide, and what they take at its own pace; None: nothing."""
    needed = {
        line.number: most
        for line in lines
        if line.answer == "undecided"
        and (most := max((c.blocks or 0 for c in line.checks if not c.both), default=0)) > blocks
    }
    if not needed:
        return None
    most = max(needed.values())
    seconds = analysis.block_s * (most - blocks) or None
    money = analysis.price.hourly * seconds / HOUR_S if analysis.price and seconds else None
    return Deciding(
        blocks=most, more=most - blocks, lines=tuple(needed), seconds=seconds, money=money
    )
