"""The tables of the cells: one a family, and one of all first calls.

Every time and ratio stands with unit and interval, a rate with its unit; every missing number with the
footnote that says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.numbers import Ratio, Verdict, VerdictName
from suite.flags import Flag
from suite.report.sections.tables.families import Columns, write_columns, write_family_tables
from suite.report.text.names import name_receipt, sort_cells
from suite.report.text.page import NO_NUMBER, Cell, Code, Page, say_none
from suite.report.text.texts import TEXTS
from suite.report.text.units import (
    show_inner,
    show_rate,
    show_ratio,
    show_relative,
    show_seconds,
    show_things,
)
from suite.report.text.wording import tell, word, word_invalid, word_missing, word_verdict


def gives_verdicts(analysis: Analysis, other: str) -> bool:
    """Whether any cell has a verdict on this arm; a column of dashes would say nothing."""
    return any(isinstance(cell.verdicts[other], Verdict) for cell in analysis.cells)


def write_tables(page: Page, analysis: Analysis) -> None:
    """One table a family in the plan's order: what most readers want to know (`_choose_shown`)."""
    _write_tables(page, analysis, _choose_shown(analysis), "")


def write_other_tables(page: Page, analysis: Analysis) -> None:
    """The appendix's part with the tables of all other cells."""
    shown = {cell.id for cell in _choose_shown(analysis)}
    others = [cell for cell in analysis.cells if cell.id not in shown]
    _write_tables(page, analysis, others, ", the cells that report.md leaves out")


def _write_tables(
    page: Page, analysis: Analysis, cells: Sequence[CellAnalysis], which: str
) -> None:
    blocks = _word_blocks(analysis)
    write_family_tables(
        page,
        analysis.cells,
        cells,
        caption=lambda family: f"Table: {family}{which}. Time per call and its 95 % CI; {blocks}.",
        columns=partial(_list_columns, analysis, analysis.by_gpu),
    )


def _choose_shown(analysis: Analysis) -> list[CellAnalysis]:
    """The cells of families in which some cell is work; of scripts those that are as posted or fair, on the
    arms' own devices; all, where that leaves none."""
    ends = {step.cell for way in analysis.waterfalls for step in (way.steps[0], way.steps[-1])}
    between = {step.cell for way in analysis.waterfalls for step in way.steps} - ends
    families = {cell.scenario for cell in analysis.work}
    cells = [cell for cell in analysis.cells if cell.scenario in families]
    aside = between | {cell.id for cell in cells if cell.staged and cell.on_cpu}
    return [cell for cell in cells if cell.id not in aside] or list(analysis.cells)


def _list_columns(
    analysis: Analysis, views: Sequence[Analysis], cells: Sequence[CellAnalysis]
) -> Columns:
    for arm in analysis.arms:
        results = [cell.arms[arm] for cell in cells]
        yield f"{arm}, time per call", list(map(show_time, results))
        # Versions alone are compared by their times, and a list of them leaves no room.
        if analysis.rivals or not analysis.others:
            yield f"{arm}, rate", list(map(_show_rate, results))
    yield from _list_comparisons(analysis, cells)
    for view in views:
        own = {cell.id: cell for cell in view.cells}
        yield from _list_comparisons(view, [own[cell.id] for cell in cells])
    if analysis.campaign.rested:
        yield "blocks", list(map(_show_blocks, cells))
    yield "receipt", [Cell(name_receipt(cell.id)) for cell in cells]


def _show_blocks(cell: CellAnalysis) -> Cell:
    """In how many blocks it has a value; by arm where these differ."""
    counts = [result.estimate.n if result.estimate else 0 for result in cell.arms.values()]
    return Cell(" / ".join(map(str, counts if len(set(counts)) > 1 else counts[:1])))


def _list_comparisons(analysis: Analysis, cells: Sequence[CellAnalysis]) -> Columns:
    base = analysis.base
    for other in analysis.others:
        # Where an arm has no number, its time says why.
        lacking = [
            cell.arms[base].estimate is None or cell.arms[other].estimate is None for cell in cells
        ]
        ratios = (show_arm_ratio(cell, other, base) for cell in cells)
        yield f"{other} against {base}", [*map(_leave_bare, ratios, lacking)]
        if gives_verdicts(analysis, other):
            # Beside the verdicts against the base of all these say which GPU they are about.
            beside = f" beside {base}" if analysis.arms[other].first_gpu == base else ""
            verdicts = (show_verdict(cell.verdicts[other]) for cell in cells)
            yield f"{other}{beside} is", [*map(_leave_bare, verdicts, lacking)]


def _leave_bare(cell: Cell, lacking: bool) -> Cell:
    """A dash without a mark, where the row has said why."""
    return Cell(NO_NUMBER) if lacking and cell.text == NO_NUMBER else cell


def write_first_calls(page: Page, analysis: Analysis) -> None:
    """The appendix's part on first calls; absent where there is none."""
    cells = [
        cell
        for cell in sort_cells(analysis.cells)
        if not cell.one_shot and any(result.first_call for result in cell.arms.values())
    ]
    if not cells:
        return
    page.heading("First calls", level=3)
    page.paragraph(TEXTS["about"]["first-calls"])
    columns = [
        (f"{arm}, first call", [_show_first(cell.arms[arm]) for cell in cells])
        for arm in analysis.arms
    ]
    columns.append(("receipt", [Cell(name_receipt(cell.id)) for cell in cells]))
    caption = f"Table: first calls and their 95 % CIs; {_word_blocks(analysis)}."
    write_columns(page, caption, analysis.cells, cells, columns)


def show_time(result: ArmResult) -> Cell:
    """An arm's time of a cell, struck through where it is INVALID, or the reason why there is none."""
    if result.estimate is None:
        return say_none(word_missing(result) or "")
    words = [*tell(result.flags, brief=True), word_invalid(result.invalid)]
    notes = tuple(dict.fromkeys(filter(None, words)))
    return Cell(show_seconds(result.estimate), notes, struck=bool(result.invalid))


def _show_rate(result: ArmResult) -> Cell:
    if result.estimate is None:
        return Cell(NO_NUMBER)
    rate = show_rate(result.work.amount, result.work.unit, result.estimate.value)
    moved = show_rate(result.work.bytes or 0, "byte", result.estimate.value)
    if not rate:
        return say_none("no rate: the cell declares no work that could be counted")
    return Cell(rate.amid(after=f", {moved}" if moved else ""), struck=bool(result.invalid))


def _show_first(result: ArmResult) -> Cell:
    first = result.first_call
    if first is not None:
        return Cell(show_seconds(first), tuple(tell(first.flags)), struck=bool(result.invalid))
    if result.estimate is None:
        return say_none(word_missing(result) or "")
    return say_none("no first call of its own: the cell was measured without one")


def show_arm_ratio(cell: CellAnalysis, other: str, base: str) -> Cell:
    """A cell's ratio of two arms, as `show_comparison` has it, without the names, which the head has."""
    ratio, invalid = cell.ratios[other], [cell.arms[arm].invalid for arm in (base, other)]
    shown = show_comparison(ratio, other=other, base=base, invalid=invalid)
    return shown if isinstance(ratio, Flag) else replace(shown, text=show_relative(ratio))


def show_comparison(
    ratio: Ratio | Flag, *, other: str, base: str, invalid: Sequence[Sequence[Flag]]
) -> Cell:
    """A ratio in words, struck through where flags make a side ``invalid``, or why there is none."""
    if isinstance(ratio, Flag):
        return say_none(word(ratio))
    words = show_ratio(ratio, other=other, base=base)
    why = [word_invalid(flags) for flags in invalid if flags]
    return Cell(words, (*tell(ratio.flags), *why), struck=bool(why))


def write_marks(page: Page, share: float | None = None) -> None:
    """The last section of every report: what the marks mean, and every footnote; ``share`` is the
    analysis's."""
    page.heading("Footnotes")
    page.paragraph(
        *(Code(NO_NUMBER), " no number; a mark in its row says why. "),
        *(Code("~"), f" equivalent: the {show_inner(share)} CI of the ratio lies within ±5 %. "),
        *(Code("?"), " inconclusive: neither a difference nor equivalence is shown. "),
        *(Code("✗"), " invalid: the mark beside it says why; the number is struck through."),
    )
    page.footnotes()


_MARKS: Mapping[VerdictName, str] = {
    "EQUIVALENT": "~",
    "INCONCLUSIVE": "?",
    "INVALID": "✗",
}
"""What stands beside a ratio; FASTER and SLOWER are said in words."""


def show_verdict(verdict: Verdict | Flag) -> Cell:
    """A verdict in a word or its mark, or the reason why there is none."""
    if isinstance(verdict, Flag):
        return say_none(word(verdict))
    # What every `?` means is explained with the marks; only what is particular has a footnote.
    particular = verdict.code in {"resolution", "within-noise"} or verdict.name == "INVALID"
    text = _MARKS.get(verdict.name, verdict.name.lower())
    return Cell(text, (word_verdict(verdict),) if particular else ())


def _word_blocks(analysis: Analysis) -> str:
    counts = {arm: len(details.blocks) for arm, details in analysis.arms.items()}
    fewer = ", fewer of cells that rested" if analysis.campaign.rested else ""
    if len(set(counts.values())) == 1:
        return show_things(next(iter(counts.values())), "block") + fewer
    every = ", ".join(f"{arm}: {show_things(count, 'block')}" for arm, count in counts.items())
    return every + fewer
