"""A page as plain lines for a terminal, which obeys nothing that a document says."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, chop_cells

from suite.report.render.plain import show_privately
from suite.report.text.page import (
    Block,
    Bullets,
    Heading,
    Page,
    Paragraph,
    Run,
    Strong,
    Table,
    cut_clauses,
)

COLUMNS = 100
"""Columns of a line, of which a wide character takes two; only one long word is cut in its middle."""

MOST_LINES = 22
"""Lines of the brief; where the files are, that follows, makes them 24 at most."""

_MOST_HEADS = 4
"""Columns of the widest table that stays one where its rows are wider than a line."""

_GAP = "  "


def render_lines(page: Page, most: int | None = None) -> str:
    """A short page; a list is one item after the other, a table stands without its caption.

    ``most`` lines: where there are more, the longest blocks are cut, what is strong last and behind a clause.
    """
    lines = _render_all(page, None, None)
    if most is None or len(lines) <= most:
        return "\n".join(lines)
    limits = range(most, 0, -1)
    for limit, strong in [*((limit, most) for limit in limits), *((1, limit) for limit in limits)]:
        lines = _render_all(page, limit, strong)
        if len(lines) <= most:
            return "\n".join(lines)
    return "\n".join([*lines[: most - 1], "…"])


def _render_all(page: Page, limit: int | None, strong: int | None) -> list[str]:
    return [line for block in page.blocks for line in _render(block, limit, strong, page.whole)]


def _render(block: Block, limit: int | None, strong: int | None, whole: str) -> list[str]:
    """A block in ``limit`` lines, or in ``strong`` where all of it is strong."""
    if isinstance(block, Heading):
        return _cut(_wrap(block.text), limit)
    if isinstance(block, Paragraph):
        text = show_privately(_join(block.runs))
        if strong and all(isinstance(run, Strong) for run in block.runs):
            text = cut_clauses(text, lambda short: len(_wrap(short)) <= strong, whole)
            return _cut(_wrap(text), strong)
        return _cut(_wrap(text), limit)
    if isinstance(block, Bullets):
        return _cut([line for item in block.items for line in _wrap(_join(item))], limit)
    assert isinstance(block, Table), block  # noqa: S101  no short page has another block
    return _render_table(block, limit, whole)


def _cut(lines: list[str], limit: int | None) -> list[str]:
    """At most so many of the lines of a block, and that there are more."""
    if limit is None or len(lines) <= limit:
        return lines
    *kept, last = lines[:limit]
    while cell_len(last) > COLUMNS - 2:
        last = last.rpartition(" ")[0] or last[:-2]
    return [*kept, f"{last} …"]


def _render_table(table: Table, limit: int | None, whole: str) -> list[str]:
    """The table, its rows in twice ``limit`` lines, for they answer; one of many columns that is too wide as
    a line a row, each cell behind its head."""
    heads, *body = [
        [show_privately(cell.text) for cell in row] for row in (table.headers, *table.rows)
    ]
    widths = [max(map(cell_len, column)) for column in zip(heads, *body, strict=True)]
    columns = COLUMNS - len(_GAP) * (len(widths) - 1)
    if sum(widths) > columns and len(widths) > _MOST_HEADS:
        texts = (
            f"{row[0]}: {'; '.join(f'{head} {text}' for head, text in zip(heads[1:], row[1:], strict=True))}"
            for row in body
        )
        return _cut([line for text in texts for line in _wrap(text)], limit)
    while sum(widths) > columns:
        widths[widths.index(max(widths))] -= 1
    rows = [_lay_out(row, widths) for row in body]
    kept, room = len(rows), None if limit is None else 2 * limit
    while room and kept > 1 and sum(map(len, rows[:kept])) > room:
        kept -= 1
    more = [f"… {len(rows) - kept} more, in {whole}"] if kept < len(rows) else []
    rule = _GAP.join("-" * width for width in widths)
    lines = _cut([line for row in rows[:kept] for line in row], room)
    return ["", *_lay_out(heads, widths), rule, *lines, *more, ""]


def _lay_out(texts: Sequence[str], widths: Sequence[int]) -> list[str]:
    """A row in as many lines as its longest cell needs."""
    cells = [_wrap(text, width) for text, width in zip(texts, widths, strict=True)]
    lines = []
    for place in range(max(map(len, cells))):
        parts = [cell[place] if place < len(cell) else "" for cell in cells]
        padded = (
            part + " " * (width - cell_len(part)) for part, width in zip(parts, widths, strict=True)
        )
        lines.append(_GAP.join(padded).rstrip())
    return lines


def _wrap(text: str, columns: int = COLUMNS) -> list[str]:
    """The text in lines of at most so many columns, cut between words where it has any."""
    lines = [""]
    for word in show_privately(text).split():
        for part in chop_cells(word, columns) if cell_len(word) > columns else [word]:
            together = f"{lines[-1]} {part}".lstrip()
            if cell_len(together) <= columns:
                lines[-1] = together
            else:
                lines.append(part)
    return lines


def _join(runs: tuple[Run, ...]) -> str:
    return "".join(run if isinstance(run, str) else run.text for run in runs)
