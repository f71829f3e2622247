"""A page as plain lines for a terminal, which obeys nothing that a document says."""

from __future__ import annotations

from tabulate import tabulate

from suite.report.render.plain import show_privately
from suite.report.text.page import Block, Bullets, Heading, Page, Paragraph, Run, Table


def render_lines(page: Page) -> str:
    """A short page; a list is one line an item, a table stands without its caption."""
    return "\n".join(map(_render, page.blocks))


def _render(block: Block) -> str:
    if isinstance(block, Heading):
        return show_privately(block.text)
    if isinstance(block, Paragraph):
        return f"{_join(block.runs)}\n"
    if isinstance(block, Bullets):
        return "".join(f"{_join(item)}\n" for item in block.items)
    assert isinstance(block, Table), block  # noqa: S101  no short page has another block
    rows = [[show_privately(cell.text) for cell in row] for row in (block.headers, *block.rows)]
    return tabulate(rows, headers="firstrow", tablefmt="simple", disable_numparse=True) + "\n"


def _join(runs: tuple[Run, ...]) -> str:
    return show_privately("".join(run if isinstance(run, str) else run.text for run in runs))
