"""A table a family of cells, for reports that set several campaigns beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from suite.analysis.result.cells import CellAnalysis
from suite.cells.families import name_title
from suite.report.text.names import list_families, name_cells, sort_cells
from suite.report.text.page import Cell, Page

Columns = Iterable[tuple[str, Sequence[Cell]]]
"""A table's columns: each its head, and what it says of each cell."""


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
    names, shared = name_cells(cells)
    for family in list_families(ordered):
        kin = [one for one in ordered if one.scenario == family]
        title = name_title(family)
        page.heading(family + (f": {title}" if title else ""), level=3)
        shown = {one.id for one in kin}
        kept = [text for ids, text in shared.items() if shown & set(ids)]
        words = caption(family)
        if kept:
            words += f" The same in all rows, and left out of the names: {'; '.join(kept)}."
        made = list(columns(kin))
        rows = zip([names[one.id] for one in kin], *(found for _, found in made), strict=True)
        page.table(words, ["cell", *(head for head, _ in made)], rows)
