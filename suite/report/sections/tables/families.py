"""A table a family of cells: a row each, and columns of what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from suite.analysis.result.cells import CellAnalysis
from suite.cells.families import name_title
from suite.report.text.names import list_families, list_shared, name_cells, sort_cells
from suite.report.text.page import NO_NUMBER, Cell, Page

Columns = Iterable[tuple[str, Sequence[Cell]]]
"""What a table says of each cell, by its heads."""


def write_family_tables(
    page: Page,
    among: Sequence[CellAnalysis],
    cells: Sequence[CellAnalysis],
    *,
    caption: Callable[[str], str],
    columns: Callable[[Sequence[CellAnalysis]], Columns],
) -> None:
    """A heading and a table for each family, its cells in the order in which a reader looks for them.

    Args:
        page: where they are written.
        among: all cells, so that one has the same name in every table.
        cells: those that have a row.
        caption: of a family, without its final word on what the names leave out.
        columns: those of the cells of one family.
    """
    ordered = sort_cells(cells)
    for family in list_families(ordered):
        own = [cell for cell in ordered if cell.scenario == family]
        title = name_title(family)
        page.heading(family + (f": {title}" if title else ""), level=3)
        write_columns(page, caption(family), among, own, columns(own))


def write_columns(
    page: Page,
    caption: str,
    among: Sequence[CellAnalysis],
    cells: Sequence[CellAnalysis],
    columns: Columns,
) -> None:
    """A table of these cells, named ``among`` all; a note that all numbers of a column share is marked in
    its head."""
    shown = {cell.id for cell in cells}
    names = name_cells(among)
    kept = [text for ids, text in list_shared(among).items() if shown & set(ids)]
    if kept:
        caption += f" Common to all rows and left out of the names: {'; '.join(kept)}."
    named = ("cell", [Cell(names[cell.id]) for cell in cells])
    page.columns(caption, (_share_notes(*column) for column in (named, *columns)))


def _share_notes(head: str, cells: Sequence[Cell]) -> tuple[Cell, list[Cell]]:
    """A column whose head has the footnotes that all its numbers share."""
    numbers = [cell.notes for cell in cells if cell.text != NO_NUMBER]
    common = [n for n in numbers[0] if all(n in notes for notes in numbers)] if numbers else []
    body = [
        cell
        if cell.text == NO_NUMBER
        else replace(cell, notes=tuple(note for note in cell.notes if note not in common))
        for cell in cells
    ]
    return Cell(head, tuple(common)), body
