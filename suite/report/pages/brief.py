"""The page that is attached: the decision, what it rests on and what it leaves open, on one page that stands
alone; and the same on a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import get_args

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.findings import Finding, RuleName
from suite.analysis.result.numbers import Ratio, Verdict
from suite.report.pages.gallery import write_first_picture
from suite.report.sections.causes import describe_change, describe_naive_gaps, name_change
from suite.report.sections.controls import describe_failed, sort_controls
from suite.report.sections.deciding import MOST_CELLS, write_deciding, write_means
from suite.report.sections.limits import (
    describe_cost,
    describe_hardware,
    describe_limits,
    describe_shortfalls,
)
from suite.report.sections.opening import (
    UNSOUND,
    account,
    count_outcomes,
    describe_machine,
    judge_soundness,
    warn,
)
from suite.report.sections.steps import describe_feeding
from suite.report.sections.sustained import describe_sustained
from suite.report.sections.validity import describe_builds
from suite.report.sections.verdict import (
    decide,
    list_crossovers,
    tell_comparison,
    tell_early,
    tell_settling,
)
from suite.report.sections.versions import (
    list_open,
    list_versions,
    tell_software,
    tell_versions,
    write_screen,
    write_versions,
)
from suite.report.text.crossovers import describe_common
from suite.report.text.names import name_cells
from suite.report.text.page import Code, Page, Strong
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    end_sentence,
    show_as_fast,
    show_duration,
    show_seconds,
    show_things,
)
from suite.report.text.wording import NO_FINDING, name_banners, word

ROOM, _SCREEN = 10, 4
"""What there is room for: in a brief so many warnings and causes, and cells that decide; on a terminal so
many warnings."""


def compose_brief(analysis: Analysis, undrawn: str | None = None, room: int = ROOM) -> Page:
    """``brief.md``: one page that stands alone.

    Args:
        analysis: of the campaign.
        undrawn: why there are no pictures; None where there are.
        room: how many warnings, causes and cells that decide it may hold.
    """
    page = Page(name_banners(analysis.flags))
    write_brief(page, analysis, undrawn, room)
    page.paragraph(
        "Details: report.md in the same folder, whose rows have receipts; ",
        Code("make defend RUN=folder CELL=receipt"),
        " shows the evidence behind one.",
    )
    return page


def write_brief(
    page: Page, analysis: Analysis, undrawn: str | None, room: int | None = None
) -> None:
    """The blocks that ``brief.md`` consists of, and the report begins with, which needs no ``room``."""
    decision = _write_answers(page, analysis, room)
    write_first_picture(page, analysis, undrawn)
    if analysis.rivals or not analysis.others:
        common = describe_common(analysis)
        page.table(
            TEXTS["captions"]["who-wins"].format(common=f"; {common}" if common else ""),
            list_crossovers(analysis),
        )
        write_deciding(page, analysis, min(MOST_CELLS, 2 * (room or MOST_CELLS)))
        write_means(page, analysis, len(analysis.means))
    write_versions(page, analysis, room)
    if analysis.cpu and analysis.gpu:
        page.paragraph(Strong(f"Why {analysis.cpu} wins where it does"))
        page.bullets(list(_describe_causes(analysis))[:room] or [_NO_LOSS])
    answers = {
        "Undecided:": _describe_open(analysis, decision),
        "Cost:": [describe_cost(analysis)],
        "Controls:": [_describe_controls(analysis)],
        "Is it the machine that was ordered?": [
            *([_LACKING] if any(describe_shortfalls(analysis)) else []),
            *describe_hardware(analysis),
            *describe_limits(analysis),
        ],
        "When it is hot:": list(describe_sustained(analysis)),
        "GPUs:": [
            tell_comparison(view, other) for view in analysis.by_gpu for other in view.others
        ],
        "CPUs that feed a step:": describe_feeding(analysis),
        "Scripts:": list(describe_naive_gaps(analysis)),
        # Of arms that differ in it a warning tells.
        "Software:": [
            *tell_software(analysis),
            *([] if analysis.software_differs else describe_builds(analysis)),
        ],
        "Measured, and not:": account(analysis),
    }
    page.bullets(
        (Strong(topic), f" {' '.join(texts)}") for topic, texts in answers.items() if texts
    )


def compose_screen(analysis: Analysis, undrawn: str | None = None) -> Page:
    """What a terminal shows of the brief."""
    page = Page(name_banners(analysis.flags))
    _write_answers(page, analysis, _SCREEN)
    if analysis.rivals and (rows := list(list_crossovers(analysis))):
        other = "other" if len(analysis.rivals) > 1 else analysis.rivals[0]
        heads = ("who wins at which sizes", analysis.base, other, "neither")
        columns = zip(*(row.values() for row in rows), strict=True)
        page.columns("", zip(heads, columns, strict=True))
    elif not analysis.rivals:
        write_screen(page, analysis)
        for text in _describe_open(analysis, []) if analysis.others else []:
            page.paragraph(text)
    for answer in describe_feeding(analysis):
        page.paragraph(f"CPUs that feed a step: {answer}")
    page.paragraph(f"Controls: {_describe_controls(analysis)}")
    # Why a command that measured ends with another exit status than 0.
    cells = len(analysis.cells)
    outcomes = {arm: count_outcomes(analysis.cells, arm) for arm in analysis.arms}
    lacking = [
        f"{arm}: {text}" for arm, text in outcomes.items() if text != f"{cells} of {cells} measured"
    ]
    if lacking:
        page.paragraph(f"{'; '.join(lacking)}.")
    if undrawn:
        page.paragraph(undrawn)
    return page


def compose_look(analysis: Analysis, most: int) -> Page:
    """What a terminal shows after a block, of a campaign that may have ``most``: what holds by then of what
    is asked about, and what does not yet."""
    names, base = name_cells(analysis.cells), analysis.base
    asked = {cell.id: cell for cell in analysis.asked}
    page = Page()
    page.paragraph(
        f"By block {analysis.blocks_done} of at most {most}, after "
        f"{show_duration(math.fsum(spent.total_s for spent in analysis.spent.values()))}:"
    )
    _write_decision(page, analysis, settling=False)
    won: list[str] = []
    open_ = {other: list[str]() for other in analysis.leading}
    sizes = {id_ for sweep in analysis.main_sweeps for id_ in sweep.cells}
    for cell in asked.values():
        for other in analysis.leading:
            verdict, ratio = cell.verdicts[other], cell.ratios[other]
            if not isinstance(verdict, Verdict) or verdict.name == "INCONCLUSIVE":
                open_[other].append(names[cell.id])
            elif cell.id not in sizes and verdict.names_winner and isinstance(ratio, Ratio):
                winner = other if verdict.name == "FASTER" else base
                won.append(f"{names[cell.id]}: {winner} is {show_as_fast(ratio)}")
    if won:
        page.paragraph(f"{'; '.join(won)}.")
    told, unclear = _split_open([cell for cell in asked.values() if cell.lost])
    causes: dict[RuleName, list[str]] = {}
    for cell in told:
        causes.setdefault(cell.causes[0].rule, []).append(names[cell.id])
    if causes:
        parts = (f"{rule} at {', '.join(cells)}" for rule, cells in causes.items())
        page.paragraph(f"Why {analysis.cpu} wins: {'; '.join(parts)}.")
    yet = [f"who wins at {', '.join(cells)}" for cells in open_.values() if cells]
    yet += list_open(analysis, [*asked.values()])
    if unclear:
        yet.append(f"the main cause at {', '.join(names[cell.id] for cell in unclear)}")
    if yet:
        page.paragraph(f"Not yet: {'; '.join(yet)}.")
    return page


def _write_answers(page: Page, analysis: Analysis, room: int | None) -> list[str]:
    """What was measured where and when, whether it is sound, what must not be missed, and the decision, which
    it gives back."""
    campaign = analysis.campaign
    page.title(f"Crossover: {_name_question(analysis)}")
    page.paragraph(
        f"{describe_machine(analysis)}. Campaign {campaign.id}, begun on {campaign.created:%Y-%m-%d}."
    )
    soundness, why = judge_soundness(analysis)
    invalid = f" {NO_FINDING}" if analysis.invalid else ""
    page.paragraph(Strong(end_sentence(soundness).rstrip(".")), f": {why}.{invalid}")
    for flag in analysis.flags:
        is_said = flag.severity == "invalid" or (flag.scope == "machine" and soundness == UNSOUND)
        for banner in () if is_said else name_banners([flag]):
            page.paragraph(Strong(f"{banner}."), f" {word(flag)}.")
    # What makes it invalid is said already.
    warnings = [warning for warning in warn(analysis) if NO_FINDING not in warning]
    for warning in warnings[:room]:
        page.paragraph(warning)
    if room is not None and len(warnings) > room:
        page.paragraph(f"And {show_things(len(warnings) - room, 'more warning')}, in report.md.")
    return _write_decision(page, analysis, settling=not describe_failed(analysis))


def _write_decision(page: Page, analysis: Analysis, *, settling: bool) -> list[str]:
    """Who wins where, and what changed between versions; a paragraph each.  Gives the sentences back."""
    paragraphs = [] if tell_early(analysis) else tell_versions(analysis)
    if analysis.rivals or not (analysis.others and paragraphs):
        paragraphs.insert(0, decide(analysis, settling=settling))
    for sentences in paragraphs:
        page.paragraph(Strong(" ".join(sentences)))
    return [sentence for sentences in paragraphs for sentence in sentences]


def _name_question(analysis: Analysis) -> str:
    """The arms, as they are compared."""
    if not analysis.others:
        return f"{analysis.base} alone"
    if not analysis.rivals:
        return " → ".join(list_versions(analysis))
    return f"{', '.join(analysis.others)} against {analysis.base}"


def _describe_open(analysis: Analysis, decision: list[str]) -> list[str]:
    """What would decide more of the cells, where the decision does not say so."""
    # More blocks don't mend a control that fails.
    if describe_failed(analysis):
        return []
    # What would settle a comparison with the first would not settle a step.
    arms = analysis.leading or ([] if analysis.version_steps else analysis.others)
    open_ = (text for other in arms for text in tell_settling(analysis, other))
    return [text for text in dict.fromkeys(open_) if text not in decision]


_LACKING = "Not as it should be: see above."
_NO_LOSS = "No verdict says that it does."


def _describe_causes(analysis: Analysis) -> Iterator[str]:
    """A line for each cause of the cells that the GPU loses by a verdict, that of most cells first."""
    losses = [cell for cell in analysis.work if cell.lost]
    told, open_ = _split_open(losses)
    by_rule: dict[RuleName, list[CellAnalysis]] = {}
    for cell in told:
        by_rule.setdefault(cell.causes[0].rule, []).append(cell)
    order = get_args(RuleName)
    for rule in sorted(by_rule, key=lambda rule: (-len(by_rule[rule]), order.index(rule))):
        cells = by_rule[rule]
        sure = len([cell for cell in cells if cell.causes[0].confirmed])
        meaning = TEXTS["meanings"][rule]
        what = f"{rule} ({meaning})" if meaning else "a cause that nothing measured explains"
        how = f"confirmed in {sure}" if sure else "suspected"
        count = f"largest in {len(cells)} of {show_things(len(losses), 'cell')}"
        if rule != "unknown":
            count += f", {how}"
        # One for which something helps that leaves the results the same, if there is any.
        helped = [
            cell
            for cell in cells
            if any(_read_effect(change) == "script" for change in _find_changes(analysis, cell))
        ]
        worst = max(
            helped or cells, key=lambda cell: cell.standing.ratio.value if cell.standing else 0.0
        )
        example, remedy = _describe_example(analysis, worst), _describe_remedy(analysis, worst)
        yield f"{what}: {count}; {example}; {remedy}."
    if open_:
        yield f"the main cause is not yet beyond doubt in {len(open_)} of {show_things(len(losses), 'cell')}."


def _split_open(
    losses: Sequence[CellAnalysis],
) -> tuple[list[CellAnalysis], list[CellAnalysis]]:
    """The cells whose main cause is beyond doubt, as far as that is asked, and the others."""
    open_ = [cell for cell in losses if cell.standing and cell.standing.open]
    return [cell for cell in losses if cell not in open_], open_


def _describe_example(analysis: Analysis, cell: CellAnalysis) -> str:
    """What the cause takes in this cell, and of which difference."""
    name = name_cells(analysis.cells)
    cause, standing = cell.causes[0], cell.standing
    lost = standing.lost if standing else None
    took = ""
    if lost and cause.seconds and cause.seconds.value < lost.value:
        took = f"{show_seconds(cause.seconds)} of "
    of = f" {took}{show_seconds(lost.value)} lost a call" if lost else ""
    return f"such as {name[cell.id]}{of and ':'}{of}"


def _describe_remedy(analysis: Analysis, cell: CellAnalysis) -> str:
    """What was measured to help this cell with the same results, and by how much; what helps and is other
    training is named, and its gain is none of this cell's; else what to try."""
    names = name_cells(analysis.cells)
    changes = sorted(_find_changes(analysis, cell), key=lambda change: -change.number.value)
    same = [change for change in changes if _read_effect(change) == "script"]
    otherwise = [change for change in changes if _read_effect(change) == "training"]
    parts = [
        f"helps, with the same results: {describe_change(change, names)}" for change in same[:1]
    ]
    parts += [f"or {name_change(change)}" for change in otherwise[:1]]
    words, standing = TEXTS["standing"], cell.standing
    if not same and standing and standing.hopeless:
        return str(words["larger" if standing.winner else "hopeless"])
    if not same:
        parts.insert(0, f"to try: {TEXTS['advice'][cell.causes[0].rule]}")
    return ", ".join(parts)


def _find_changes(analysis: Analysis, cell: CellAnalysis) -> list[Finding]:
    """The changes that make this cell faster on the GPU."""
    return analysis.find("change", arm=analysis.gpu or "", cell=cell.id, verdict="faster")


def _read_effect(change: Finding) -> object:
    return change.evidence[2].values.get("effect")


def _describe_controls(analysis: Analysis) -> str:
    """Every control in one of three answers, and those that did not run."""
    answers = sort_controls(analysis)
    parts = [
        f"{answer}: {', '.join(names)}" if names else f"{answer}: none"
        for answer, names in answers.items()
        if names or answer == "failed"
    ]
    return f"{'; '.join(parts)}." if any(answers.values()) else "none ran."
