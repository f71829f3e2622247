"""A page as GitHub-flavoured Markdown: ``report.md``, ``compare.md``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tabulate import tabulate

from suite.report.pictures.picture import FOLDER
from suite.report.text.markup import escape, show_plainly
from suite.report.text.page import (
    Block,
    Bullets,
    Code,
    Figure,
    Footnotes,
    Heading,
    Page,
    Paragraph,
    Table,
)


def render_page(page: Page) -> str:
    """Any page as Markdown with a final newline."""
    return "\n\n".join(map(_render, page.blocks)) + "\n"


def _render(block: Block) -> str:
    return _RENDERERS[type(block)](block)


def _render_heading(heading: Heading) -> str:
    return f"{'#' * heading.level} {heading.text}"


def _render_paragraph(paragraph: Paragraph) -> str:
    return paragraph.text


def _render_bullets(bullets: Bullets) -> str:
    return "\n".join(f"- {item}" for item in bullets.items)


def _render_code(code: Code) -> str:
    # Indented, so that nothing in it can be markup.
    return "    " + show_plainly(code.text, limit=2000)


def _render_figure(figure: Figure) -> str:
    alt = escape(figure.alt, limit=len(figure.alt))
    return f"![{alt}]({FOLDER}/{figure.name}.svg)\n\n{figure.caption}"


def _render_footnotes(notes: Footnotes) -> str:
    return "\n".join(f"- [{number}] {note}" for number, note in notes.items)


def _render_table(table: Table) -> str:
    banner = f"**{table.banner}** · " if table.banner else ""
    body = tabulate(
        [list(row) for row in table.rows],
        headers=list(table.headers),
        tablefmt="pipe",
        disable_numparse=True,
        preserve_whitespace=True,
        colalign=["right" if i in table.right else "left" for i in range(len(table.headers))],
    )
    return f"{banner}{table.caption}\n\n{body}"


_RENDERERS: Mapping[type[Block], Callable[[Any], str]] = {
    Heading: _render_heading,
    Paragraph: _render_paragraph,
    Bullets: _render_bullets,
    Code: _render_code,
    Table: _render_table,
    Figure: _render_figure,
    Footnotes: _render_footnotes,
}
