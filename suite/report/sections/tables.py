"""The tables of the report: one a family, and one of all first calls.

Every number stands with unit and interval; every missing one with the footnote that says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from suite.analysis.result.campaign import Analysis
from suite.analysis.result.cells import ArmResult, CellAnalysis
from suite.analysis.result.numbers import Estimate, Ratio, Verdict, VerdictName
from suite.cells.families import name_title
from suite.flags import Flag
from suite.report.text.markup import escape
from suite.report.text.names import list_families, name_cells, name_receipt, sort_cells
from suite.report.text.page import NO_NUMBER, Page
from suite.report.text.units import align, show_rate, show_ratio, show_seconds, show_things
from suite.report.text.wording import tell, word, word_invalid, word_missing, word_verdict

_NO_RATE = "no rate: the cell declares no work that could be counted"
_NOT_TIMED = "no first call of its own: the cell was measured without one"

Entry = tuple[str, tuple[str, ...]]
"""A table's cell: its text, and the footnotes that belong to it."""

Column = tuple[str, list[Entry]]
"""A column's head, escaped, and its entries."""


def gives_verdicts(analysis: Analysis, other: str) -> bool:
    """Whether any cell has a verdict on this arm; a column of dashes would say nothing."""
    return any(isinstance(one.verdicts[other], Verdict) for one in analysis.cells)


def write_tables(page: Page, analysis: Analysis) -> None:
    """One table a family in the plan's order, then the first calls."""
    ordered = {cell.id: i for i, cell in enumerate(sort_cells(analysis.cells))}
    everything = sorted(analysis.cells, key=lambda one: ordered[one.id])
    for family in list_families(everything):
        cells = [one for one in everything if one.scenario == family]
        title = name_title(family)
        page.heading(escape(family) + (f": {title}" if title else ""), level=3)
        _write_family(page, analysis, family, cells)
    _write_first_calls(page, analysis, everything)


def _write_family(
    page: Page, analysis: Analysis, family: str, cells: Sequence[CellAnalysis]
) -> None:
    columns: list[Column] = []
    for arm in analysis.arms:
        results = [one.arms[arm] for one in cells]
        columns.append((f"{escape(arm)}, time per call", list(map(show_time, results))))
        columns.append((f"{escape(arm)}, rate", list(map(_show_work, results))))
    for other in analysis.others:
        entries = [_compare(one, other, analysis.base) for one in cells]
        columns.append((f"{escape(other)} against {escape(analysis.base)}", entries))
        if gives_verdicts(analysis, other):
            marks = [show_verdict(one.verdicts[other]) for one in cells]
            columns.append((f"{escape(other)} is", marks))
    caption = f"Table: {escape(family)}. Time per call and its 95 % interval"
    _write_columns(page, analysis, caption, cells, columns)


def _write_first_calls(page: Page, analysis: Analysis, everything: Sequence[CellAnalysis]) -> None:
    cells = [
        one
        for one in everything
        if not one.one_shot and any(result.first_call for result in one.arms.values())
    ]
    if not cells:
        return
    page.heading("First calls", level=3)
    page.paragraph(
        "Tracing, compiling and the first result of each cell, in a process that has "
        "been through the start-up sequence. Timed apart and never pooled with the times above."
    )
    columns = [
        (f"{escape(arm)}, first call", [_show_first(one.arms[arm]) for one in cells])
        for arm in analysis.arms
    ]
    _write_columns(page, analysis, "Table: first calls and their 95 % intervals", cells, columns)


def _write_columns(
    page: Page,
    analysis: Analysis,
    caption: str,
    cells: Sequence[CellAnalysis],
    columns: Sequence[Column],
) -> None:
    """A table of these cells; a note that all numbers of a column share is marked in its head."""
    shown = {one.id for one in cells}
    # Named among the whole plan, so that a cell has the same name in every table.
    names, shared = name_cells(analysis.cells, escape)
    caption += f"; {_word_blocks(analysis)}."
    kept = [text for name, text in shared.items() if any(one in shown for one in name)]
    if kept:
        caption += f" The same in all rows, and left out of the names: {'; '.join(kept)}."
    common = [_find_common(entries) for _, entries in columns]
    headers = [
        " ".join(filter(None, [head, _mark(page, notes)]))
        for (head, _), notes in zip(columns, common, strict=True)
    ]
    # Row by row, so that the marks count up in the order in which they are read.
    marked: list[list[str]] = [[] for _ in columns]
    for index in range(len(cells)):
        for (_, entries), notes, texts in zip(columns, common, marked, strict=True):
            text, own = entries[index]
            rest = [note for note in own if text == NO_NUMBER or note not in notes]
            texts.append(" ".join(filter(None, [text, _mark(page, rest)])))
    body = [[names[one.id] for one in cells], *map(align, marked)]
    body.append([name_receipt(one.id) for one in cells])
    rows = [list(row) for row in zip(*body, strict=True)]
    page.table(caption, ["cell", *headers, "receipt"], rows, right=range(1, len(columns) + 1))


def show_time(result: ArmResult) -> Entry:
    """An arm's time of a cell, struck through where it is INVALID, or the reason why there is none."""
    if result.estimate is None:
        return NO_NUMBER, (word_missing(result) or "",)
    text = _strike(_show_estimate(result.estimate), struck=bool(result.invalid))
    told = tell(result.flags, brief=True)
    told.append(word_invalid(result.invalid))
    return text, tuple(dict.fromkeys(filter(None, told)))


def _show_work(result: ArmResult) -> Entry:
    if result.estimate is None:
        return NO_NUMBER, (word_missing(result) or "",)
    rate = show_rate(result.work.amount, escape(result.work.unit), result.estimate.value)
    moved = show_rate(result.work.bytes or 0, "byte", result.estimate.value)
    if not rate:
        return NO_NUMBER, (_NO_RATE,)
    text = ", ".join(filter(None, [rate, moved]))
    return _strike(text, struck=bool(result.invalid)), ()


def _show_first(result: ArmResult) -> Entry:
    if result.first_call is not None:
        text = _show_estimate(result.first_call)
        return _strike(text, struck=bool(result.invalid)), tuple(tell(result.first_call.flags))
    return NO_NUMBER, (_NOT_TIMED if result.estimate else word_missing(result) or "",)


def _compare(one: CellAnalysis, other: str, base: str) -> Entry:
    invalid = [flags for arm in (base, other) if (flags := one.arms[arm].invalid)]
    return show_comparison(one.ratios[other], other=other, base=base, invalid=invalid)


def show_comparison(
    ratio: Ratio | Flag, *, other: str, base: str, invalid: Sequence[Sequence[Flag]]
) -> Entry:
    """A ratio in words, struck through where a side is ``invalid``, or the reason why there is none."""
    if isinstance(ratio, Flag):
        return NO_NUMBER, (word(ratio),)
    words = show_ratio(ratio.value, ratio.low, ratio.high, other=escape(other), base=escape(base))
    return _strike(words, struck=bool(invalid)), (*tell(ratio.flags), *map(word_invalid, invalid))


def write_marks(page: Page) -> None:
    """The last section of every report: what the marks mean, and every footnote."""
    page.heading("Footnotes")
    page.paragraph(
        f"`{NO_NUMBER}` no number; the mark beside it says why. `~` equivalent: the 90 % interval "
        "of the ratio lies within ±5 %. `?` inconclusive: neither a difference nor equivalence is "
        "shown. `✗` invalid: the mark beside it says why; the number is struck through."
    )
    page.footnotes()


_MARKS: Mapping[VerdictName, str] = {
    "EQUIVALENT": "~",
    "INCONCLUSIVE": "?",
    "INVALID": "✗",
}
"""What stands beside a ratio; FASTER and SLOWER are said in words."""


def show_verdict(verdict: Verdict | Flag) -> Entry:
    """A verdict in a word or its mark, or the reason why there is none."""
    if isinstance(verdict, Flag):
        return NO_NUMBER, (word(verdict),)
    # What every `?` means is explained with the marks; only what is particular has a footnote.
    particular = verdict.code in {"resolution", "within-noise"} or verdict.name == "INVALID"
    text = _MARKS.get(verdict.name, verdict.name.lower())
    return text, (word_verdict(verdict),) if particular else ()


def _strike(text: str, *, struck: bool) -> str:
    """The text, crossed out where it must not be believed."""
    return f"~~{text}~~" if struck else text


def _show_estimate(estimate: Estimate) -> str:
    return show_seconds(estimate.value, estimate.low, estimate.high)


def _find_common(entries: Sequence[Entry]) -> list[str]:
    numbers = [notes for text, notes in entries if text != NO_NUMBER]
    return [note for note in numbers[0] if all(note in one for one in numbers)] if numbers else []


def _mark(page: Page, notes: Sequence[str]) -> str:
    # Longer than other texts may be, because a footnote holds a reason.
    return page.mark(*(escape(note, limit=900) for note in notes))


def _word_blocks(analysis: Analysis) -> str:
    counts = {arm: len(one.blocks) for arm, one in analysis.arms.items()}
    if len(set(counts.values())) == 1:
        return show_things(next(iter(counts.values())), "block")
    return ", ".join(
        f"{escape(arm)}: {show_things(count, 'block')}" for arm, count in counts.items()
    )
