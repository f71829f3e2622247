"""A page as plain lines for a terminal, which obeys nothing that a document says."""

from __future__ import annotations

import textwrap

from tabulate import tabulate

from suite.report.render.plain import show_privately
from suite.report.text.page import Block, Bullets, Heading, Page, Paragraph, Run, Table

COLUMNS = 100
"""Characters of a line; only a table's cell that is one long word is cut in its middle."""

MOST_LINES = 20
"""Lines of the brief; where the files are, that follows, makes them 24 at most."""


def render_lines(page: Page, most: int | None = None) -> str:
    """A short page; a list is one item after the other, a table stands without its caption.

    ``most`` lines: where there are more, the longest blocks are cut.
    """
    blocks = [_render(block) for block in page.blocks]
    limit = max(map(len, blocks), default=0)
    while most is not None and sum(len(lines[:limit]) for lines in blocks) > most and limit > 1:
        limit -= 1
    return "\n".join(line for lines in blocks for line in _cut(lines, limit))


def _cut(lines: list[str], limit: int) -> list[str]:
    """At most so many of the lines of a block, and that there are more."""
    if len(lines) <= limit:
        return lines
    *kept, last = lines[:limit]
    return [*kept, f"{last.rstrip()[: COLUMNS - 2].rpartition(' ')[0]} …"]


def _render(block: Block) -> list[str]:
    if isinstance(block, Heading):
        return _wrap(block.text)
    if isinstance(block, Paragraph):
        return _wrap(_join(block.runs))
    if isinstance(block, Bullets):
        return [line for item in block.items for line in _wrap(_join(item))]
    assert isinstance(block, Table), block  # noqa: S101  no short page has another block
    return _render_table(block)


def _render_table(table: Table) -> list[str]:
    """The table; one that is too wide as a line a row, each cell behind its head."""
    rows = [[show_privately(cell.text) for cell in row] for row in (table.headers, *table.rows)]
    lines = tabulate(rows, headers="firstrow", tablefmt="simple", disable_numparse=True)
    if max(map(len, lines.splitlines())) <= COLUMNS:
        return ["", *lines.splitlines(), ""]
    heads, *body = rows
    texts = (
        f"{row[0]}: {'; '.join(f'{head} {text}' for head, text in zip(heads[1:], row[1:], strict=True))}"
        for row in body
    )
    return [line for text in texts for line in _wrap(text)]


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(show_privately(text), COLUMNS, break_on_hyphens=False) or [""]


def _join(runs: tuple[Run, ...]) -> str:
    return "".join(run if isinstance(run, str) else run.text for run in runs)
