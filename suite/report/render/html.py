"""A page as one HTML file that asks nobody for anything: ``report.html``.

Pictures are inside, as data; styles and the little script too, and a policy forbids all else.  What
the page says is there without the script, which only sorts and filters.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape as quote
from pathlib import Path

from suite.report.render.columns import BREAK, Text, fit_columns
from suite.report.render.plain import LONGEST, LONGEST_ASIDE, show_privately
from suite.report.text.page import (
    Appendix,
    Block,
    Bullets,
    Cell,
    Code,
    Figure,
    Footnotes,
    Heading,
    Page,
    Paragraph,
    Run,
    Strong,
    Table,
)
from suite.report.text.units import Quantity

_RANGE = re.compile(r"\d[\d.,]*–\d[\d.,]*")
"""An interval, from its low to its high end."""

_PAGE, _STYLE, _SCRIPT = (
    Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("page.html", "page.css", "page.js")
)


def render_html_page(page: Page, pictures: Mapping[str, str] | None = None) -> str:
    """Any page as HTML, with its pictures as SVG by name, if it has any."""
    return _Writer(pictures or {}).write(page)


class _Writer:
    """Renders one page, and remembers what has to be unique or known in its head."""

    def __init__(self, pictures: Mapping[str, str]) -> None:
        self._pictures = pictures
        self._links: list[str] = []
        self._names: set[str] = set()
        self._marked: set[int] = set()
        self._widths: set[int] = set()
        self._tenths: set[int] = set()

    def write(self, page: Page) -> str:
        title, *rest = page.blocks
        assert isinstance(title, Heading)  # noqa: S101  every page begins with its title
        parts = "\n".join(filter(None, map(self._render, rest)))
        # A class for every width that a column has, and that the whole part of a number has.
        widths = (f".w{width} {{ min-width: {width}ch; }}\n" for width in sorted(self._widths))
        tenths = (f".e{width} {{ width: {width / 10}em; }}\n" for width in sorted(self._tenths))
        style = _STYLE + "".join(widths) + "".join(tenths)
        return _PAGE.format(
            policy=_make_policy(style),
            title=_show(title.text),
            style=style,
            links="".join(self._links),
            parts=parts,
            script=_SCRIPT,
        )

    def _render(self, block: Block) -> str:
        match block:
            case Heading(level=level):
                name, text = self._name(block.text), _show(block.text)
                html = f'<h{level} id="{name}">{text}</h{level}>'
                if level == 2:
                    self._links.append(f'<li><a href="#{name}">{text}</a></li>')
                    html = f'</section>\n<section aria-labelledby="{name}">\n{html}'
            case Paragraph(runs=(Code(text=command),)):
                html = f"<pre><code>{_show(command)}</code></pre>"
            case Paragraph():
                html = f"<p>{_render_runs(block.runs)}</p>"
            case Bullets():
                items = "\n".join(f"<li>{_render_runs(item)}</li>" for item in block.items)
                html = f"<ul>\n{items}\n</ul>"
            case Table():
                html = self._render_table(block)
            case Figure():
                data = base64.b64encode(self._pictures[block.name].encode()).decode()
                html = (
                    f'<figure>\n<img src="data:image/svg+xml;base64,{data}" alt="{_show(block.alt)}">\n'
                    f"<figcaption>{_show(block.caption)}</figcaption>\n</figure>"
                )
            case Footnotes():
                items = "\n".join(
                    f'<li id="note-{number}"><a href="#mark-{number}">[{number}]</a> '
                    f"{_show(text, LONGEST_ASIDE)}</li>"
                    for number, text in block.items
                )
                html = f'<ul class="notes">\n{items}\n</ul>'
            case Appendix():
                html = ""
        return html

    def _render_table(self, table: Table) -> str:
        banner = f"<strong>{_show(table.banner)}</strong> · " if table.banner else ""
        heads = "".join(f'<th scope="col">{self._render_cell(head)}</th>' for head in table.headers)
        widths = {
            i: max(len(show_privately(row[i].parts[0])) for row in table.rows)
            for i in table.numbers
        }
        self._widths.update(widths.values())
        rows = "\n".join(
            "<tr>"
            + "".join(self._render_column(i, cell, widths.get(i)) for i, cell in enumerate(row))
            + "</tr>"
            for row in table.rows
        )
        fit = fit_columns(
            ["".join(_spell(head)) for head in table.headers],
            [list(map(_spell, column)) for column in zip(*table.rows, strict=True)],
            table.numbers,
        )
        self._tenths.update(fit.widths, [sum(fit.widths)])
        form = f"s{fit.size} e{sum(fit.widths)}{' tight' if fit.tight else ''}"
        columns = "".join(f'<col class="e{width}">' for width in fit.widths)
        name = self._name("table")
        return (
            f'<div class="scroll" role="region" aria-labelledby="{name}" tabindex="0">\n'
            f'<table class="{form}">\n'
            f'<caption id="{name}">{banner}{_show(table.caption)}</caption>\n'
            f"<colgroup>{columns}</colgroup>\n"
            f"<thead>\n<tr>{heads}</tr>\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
        )

    def _render_column(self, column: int, cell: Cell, width: int | None) -> str:
        """A cell of a column; in one of numbers, what stands before the points is ``width`` wide."""
        text = self._render_cell(cell, width)
        if column == 0:
            return f'<th scope="row">{text}</th>'
        if width is None:
            return f"<td>{text}</td>"
        key = f' data-value="{cell.text.value:.9g}"' if isinstance(cell.text, Quantity) else ""
        return f'<td class="n"{key}>{text}</td>'

    def _render_cell(self, cell: Cell, width: int | None = None) -> str:
        head, tail = map(_keep_whole, _spell(replace(cell, marks=())))
        text = head + tail if width is None else f'<span class="w{width}">{head}</span>{tail}'
        text = f"<s>{text}</s>" if cell.struck else text
        return " ".join(filter(None, [text, "".join(map(self._mark, cell.marks))]))

    def _mark(self, number: int) -> str:
        """A footnote's mark; the first of its number is where the footnote points back to."""
        name = "" if number in self._marked else f' id="mark-{number}"'
        self._marked.add(number)
        return f'<sup><a href="#note-{number}"{name}>[{number}]</a></sup>'

    def _name(self, text: str) -> str:
        """A name for a heading that no other has."""
        plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"
        name, count = plain, 1
        while name in self._names:
            count += 1
            name = f"{plain}-{count}"
        self._names.add(name)
        return name


def _show(text: str, limit: int = LONGEST) -> str:
    """Any text as HTML that shows exactly this text, on one line."""
    return quote(show_privately(text, limit))


def _spell(cell: Cell) -> Text:
    """What a reader sees in a cell, its footnotes' marks behind it."""
    head, tail = (show_privately(part, LONGEST_ASIDE) for part in cell.parts)
    return head, tail + "".join(f" [{mark}]" for mark in cell.marks)


def _keep_whole(text: str) -> str:
    """A cell's text as HTML, of which a line may end within a cell's name and not within an interval."""
    return BREAK.sub("<wbr>", _RANGE.sub(r'<span class="range">\g<0></span>', quote(text)))


def _render_runs(runs: Iterable[Run]) -> str:
    return "".join(map(_render_run, runs))


def _render_run(run: Run) -> str:
    if isinstance(run, str):
        return BREAK.sub("<wbr>", _show(run))
    tag = "strong" if isinstance(run, Strong) else "code"
    return f"<{tag}>{_show(run.text)}</{tag}>"


def _make_policy(style: str) -> str:
    """Nothing from outside, and inside only this style and this script."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src '{_hash(_SCRIPT)}'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
