"""A table a family of cells, for reports that set several campaigns beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from suite.analysis.result.cells import CellAnalysis
from suite.cells.families import name_title
from suite.report.sections.tables import Entry
from suite.report.text.markup import escape
from suite.report.text.names import list_families, name_cells, sort_cells
from suite.report.text.page import Page
from suite.report.text.units import align

Columns = Iterable[tuple[str, Sequence[Entry]]]
"""A table's columns: each its head, and an entry a cell."""


def write_family_tables(
    page: Page,
    cells: Sequence[CellAnalysis],
    *,
    caption: Callable[[str], str],
    columns: Callable[[Sequence[CellAnalysis]], Columns],
) -> None:
    """A heading and a table for each family, its cells in the order in which a reader looks for them.

    Args:
        page: where they are written.
        cells: all of them, so that one has the same name in every table.
        caption: of a family, without its final word on what the names leave out.
        columns: those of the cells of one family.
    """
    ordered = sort_cells(cells)
    names, shared = name_cells(cells, escape)
    for family in list_families(ordered):
        kin = [one for one in ordered if one.scenario == family]
        title = name_title(family)
        page.heading(escape(family) + (f": {title}" if title else ""), level=3)
        shown = {one.id for one in kin}
        kept = [text for ids, text in shared.items() if shown & set(ids)]
        words = caption(escape(family))
        if kept:
            words += f" The same in all rows, and left out of the names: {'; '.join(kept)}."
        made = list(columns(kin))
        texts = [align([_mark(page, *entry) for entry in entries]) for _, entries in made]
        rows = zip([names[one.id] for one in kin], *texts, strict=True)
        page.table(
            words,
            ["cell", *(head for head, _ in made)],
            [list(row) for row in rows],
            right=range(1, len(made) + 1),
        )


def _mark(page: Page, text: str, notes: Sequence[str]) -> str:
    marks = page.mark(*(escape(note, limit=900) for note in notes))
    return " ".join(filter(None, [text, marks]))
