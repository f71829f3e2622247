"""A page as one HTML file that asks nobody for anything: ``report.html``.

Pictures are inside, as data; styles and the little script too, and a policy forbids all else.  What
the page says is there without the script, which only sorts and filters.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape as quote
from pathlib import Path
from typing import Any

from suite.report.text.markup import show_plainly
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
from suite.report.text.units import measure_text, split_number

_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
_SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")

_INLINE = re.compile(r"\\([!-/:-@\[-`{-~])|(\*\*)|(~~)|`([^`]+)`|\[(\d+)\]")
"""A page's small Markdown: an escaped character, strong, struck, code, a footnote's mark."""

_NUMBER = re.compile(r"(~~)?(.*?)(~~)?((?:\s*\[\d+\])*)\s*", re.DOTALL)
"""A table's number: struck or not, and the marks behind it."""


def render_html_page(page: Page, pictures: Mapping[str, str] | None = None) -> str:
    """Any page as HTML, with its pictures as SVG by name, if it has any."""
    return _Writer(pictures or {}).write(page)


class _Writer:
    """Renders one page, and remembers what has to be unique or known in its head."""

    def __init__(self, pictures: Mapping[str, str]) -> None:
        self._pictures = pictures
        self._names: set[str] = set()
        self._marked: set[int] = set()
        self._widths: set[int] = set()
        self._renderers: Mapping[type[Block], Callable[[Any], str]] = {
            Heading: self._render_heading,
            Paragraph: self._render_paragraph,
            Bullets: self._render_bullets,
            Code: self._render_code,
            Table: self._render_table,
            Figure: self._render_figure,
            Footnotes: self._render_footnotes,
        }

    def write(self, page: Page) -> str:
        title, *rest = page.blocks
        assert isinstance(title, Heading)  # noqa: S101  every page begins with its title
        sections = list(self._write_sections(rest))
        links = "".join(
            f'<li><a href="#{name}">{text}</a></li>' for name, text, _ in sections if name
        )
        body = "\n".join(
            [
                f"<header>\n<h1>{self._inline(title.text)}</h1>\n</header>",
                f'<nav aria-label="Sections">\n<ul>{links}</ul>\n</nav>',
                "<main>",
                *(self._wrap_section(name, html) for name, _, html in sections),
                "</main>",
            ]
        )
        return _HEAD.format(
            policy=_make_policy(style := self._make_style()),
            title=quote(strip(title.text)),
            style=style,
            body=body,
            script=_SCRIPT,
        )

    def _write_sections(self, blocks: Iterable[Block]) -> Iterator[tuple[str, str, str]]:
        """By section its name, heading and content; what comes before the first has no name."""
        name, text, parts = "", "", list[str]()
        for block in blocks:
            if isinstance(block, Heading) and block.level == 2:
                yield name, text, "\n".join(parts)
                name, text, parts = self._name(block.text), self._inline(block.text), []
                parts.append(f'<h2 id="{name}">{text}</h2>')
            else:
                parts.append(self._render(block))
        yield name, text, "\n".join(parts)

    def _wrap_section(self, name: str, html: str) -> str:
        label = f' aria-labelledby="{name}"' if name else ' aria-label="Verdict"'
        return f"<section{label}>\n{html}\n</section>"

    def _render(self, block: Block) -> str:
        return self._renderers[type(block)](block)

    def _render_heading(self, heading: Heading) -> str:
        level = heading.level
        return f'<h{level} id="{self._name(heading.text)}">{self._inline(heading.text)}</h{level}>'

    def _render_paragraph(self, paragraph: Paragraph) -> str:
        return f"<p>{self._inline(paragraph.text)}</p>"

    def _render_bullets(self, bullets: Bullets) -> str:
        items = "\n".join(f"<li>{self._inline(item)}</li>" for item in bullets.items)
        return f"<ul>\n{items}\n</ul>"

    def _render_code(self, code: Code) -> str:
        return f"<pre><code>{quote(show_plainly(code.text, limit=2000))}</code></pre>"

    def _render_figure(self, figure: Figure) -> str:
        data = base64.b64encode(self._pictures[figure.name].encode()).decode()
        alt = quote(show_plainly(figure.alt, limit=len(figure.alt)))
        return (
            f'<figure>\n<img src="data:image/svg+xml;base64,{data}" alt="{alt}">\n'
            f"<figcaption>{self._inline(figure.caption)}</figcaption>\n</figure>"
        )

    def _render_footnotes(self, notes: Footnotes) -> str:
        items = "\n".join(
            f'<li id="note-{number}"><a href="#mark-{number}">[{number}]</a> {self._inline(text)}</li>'
            for number, text in notes.items
        )
        return f'<ul class="notes">\n{items}\n</ul>'

    def _render_table(self, table: Table) -> str:
        banner = f"<strong>{self._inline(table.banner)}</strong> · " if table.banner else ""
        heads = "".join(f'<th scope="col">{self._inline(text)}</th>' for text in table.headers)
        columns = [
            self._render_numbers([row[i] for row in table.rows])
            if i in table.right
            else [self._inline(row[i].strip()) for row in table.rows]
            for i in range(len(table.headers))
        ]
        wrapped = [_wrap_cells(i, i in table.right, texts) for i, texts in enumerate(columns)]
        rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*wrapped, strict=True))
        name = self._name("table")
        return (
            f'<div class="scroll" role="region" aria-labelledby="{name}" tabindex="0">\n<table>\n'
            f'<caption id="{name}">{banner}{self._inline(table.caption)}</caption>\n'
            f"<thead>\n<tr>{heads}</tr>\n</thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
        )

    def _render_numbers(self, texts: Sequence[str]) -> list[str]:
        """Cells of a column of numbers: what stands before the decimal points is one wide."""
        parts = [_NUMBER.fullmatch(text.strip()) for text in texts]
        split = [split_number(part[2].strip()) if part else ("", "") for part in parts]
        width = max((len(strip(head)) for head, _ in split), default=0)
        self._widths.add(width)
        cells = []
        for part, (head, tail) in zip(parts, split, strict=True):
            number = f'<span class="w{width}">{self._inline(head)}</span>{self._inline(tail)}'
            struck = part is not None and part[1]
            number = f"<s>{number}</s>" if struck else number
            marks = self._inline((part[4] if part else "").strip())
            value = measure_text(strip(head + tail))
            key = "" if value is None else f' data-value="{value:.9g}"'
            cells.append(f'<td class="n"{key}>{number}{f" {marks}" if marks else ""}</td>')
        return cells

    def _inline(self, text: str) -> str:
        """The page's small Markdown as HTML; all else as text."""
        parts: list[str] = []
        open_: list[str] = []
        at = 0
        for match in _INLINE.finditer(text):
            parts.append(quote(text[at : match.start()]))
            at = match.end()
            char, strong, struck, code, mark = match.groups()
            if char is not None:
                parts.append(quote(char))
            elif code is not None:
                parts.append(f"<code>{quote(code)}</code>")
            elif mark is not None:
                parts.append(self._mark(int(mark)))
            else:
                tag = "strong" if strong else "s"
                parts.append(_toggle(open_, tag) if struck or strong else "")
        parts.append(quote(text[at:]))
        parts += [f"</{tag}>" for tag in reversed(open_)]
        return "".join(parts)

    def _mark(self, number: int) -> str:
        """A footnote's mark; the first of its number is where the footnote points back to."""
        name = "" if number in self._marked else f' id="mark-{number}"'
        self._marked.add(number)
        return f'<sup><a href="#note-{number}"{name}>[{number}]</a></sup>'

    def _name(self, text: str) -> str:
        """A name for a heading that no other has."""
        plain = re.sub(r"[^a-z0-9]+", "-", strip(text).lower()).strip("-") or "part"
        name, count = plain, 1
        while name in self._names:
            count += 1
            name = f"{plain}-{count}"
        self._names.add(name)
        return name

    def _make_style(self) -> str:
        """The style with a class for every width that a column of numbers has."""
        widths = (f".w{one} {{ min-width: {one}ch; }}\n" for one in sorted(self._widths))
        return _STYLE + "".join(widths)


def strip(text: str) -> str:
    """The text that a reader sees of a page's small Markdown."""
    return _INLINE.sub(lambda m: m[1] or m[4] or (f"[{m[5]}]" if m[5] else ""), text)


def _wrap_cells(place: int, numbers: bool, texts: Sequence[str]) -> list[str]:
    """The cells of a column; numbers are cells already, and the first column names its row."""
    if numbers:
        return list(texts)
    return [f'<th scope="row">{one}</th>' if place == 0 else f"<td>{one}</td>" for one in texts]


def _toggle(open_: list[str], tag: str) -> str:
    """Opens the tag, or closes it and whatever was opened since."""
    if tag not in open_:
        open_.append(tag)
        return f"<{tag}>"
    closing = ""
    while True:
        last = open_.pop()
        closing += f"</{last}>"
        if last == tag:
            return closing


def _make_policy(style: str) -> str:
    """Nothing from outside, and inside only this style and this script."""
    return (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src '{_hash(_SCRIPT)}'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script>{script}</script>
</body>
</html>
"""
