"""A page as GitHub-flavoured Markdown: ``report.md``, ``compare.md``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby, takewhile

from suite.report.pictures.picture import FOLDER
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

_SPECIAL = re.compile(
    r"""
      [\\`*$] | (?<!\ )~ | ~(?!\ )                     # markup wherever it stands
    | \[(?=\^) | \](?=[(:])                            # a footnote, a link, what a link refers to
    | <(?=[a-z/!?]) | &(?=[\#\w])                      # a tag, an entity
    | (?<=\ )\#+(?=\ *$)                               # a heading's end
    | (?<![^\W_])_ | _(?![^\W_])                       # emphasis, but not inside a word
    | /(?=/) | (?<=mailto):|(?<=xmpp):                 # bare links and addresses
    | (?<=www)\. | @(?=[\w-]+\.)
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,  # what a letter is beyond, changes with Python
)
_BLOCK_START = re.compile(
    r"^()([=>|]|[-+](?=[-\s]|$)|#{1,6}(?=\s|$)|\[(?=[ xX]\](?:\s|$)))|^(\d+)([.)])(?=\s|$)"
)
_BRACKET = re.compile(r"\\.|[\[\]]")
_TICKS = re.compile("`+")
_REFERENCE = re.compile(r"""\S+(?:\s+["'(].*["')])?""")
"""What CommonMark alone, which knows no footnotes, would take behind ``[^1]:`` for a link's destination and
title."""

WIDEST = 100
"""Characters of the widest table whose columns are padded: a terminal shows it in lines of their own.  Of a
wider one the spaces would be a third of the file."""


def render_page(page: Page) -> str:
    """Any page as Markdown with a final newline; of its appendix what stands there, and where."""
    shown = list(takewhile(lambda block: not isinstance(block, Appendix), page.blocks))
    parts = list(map(_render, shown))
    if len(shown) < len(page.blocks):
        parts.append(_point_to(page.blocks[len(shown) :]))
    return "\n\n".join(parts) + "\n"


def write_image(alt: str, path: str) -> str:
    """A picture, and what it shows for those who don't see it."""
    # Every bracket, since one without its other would end the picture's text elsewhere.
    words = _BRACKET.sub(lambda match: match[0].rjust(2, "\\"), escape(alt))
    return f"![{words}]({path})"


def escape(text: str, limit: int = LONGEST) -> str:
    """The text as Markdown that renders as exactly this text, on one line and as no markup.

    Covers CommonMark and GitHub's additions: bare links and addresses, strike-through, mathematics,
    footnotes and tasks.
    """
    return _start_no_block(_escape_inside(f" {show_privately(text, limit)} ").strip(" "))


def _start_no_block(line: str) -> str:
    return _BLOCK_START.sub(r"\1\3\\\2\4", line)


def _escape_inside(text: str) -> str:
    """A part of a line, which keeps the spaces at its ends."""
    return _SPECIAL.sub(r"\\\g<0>", re.sub(" +", " ", text))


def _point_to(appendix: Sequence[Block]) -> str:
    """One line on an appendix, which begins with its own block: its file, and its parts."""
    first, *others = appendix
    assert isinstance(first, Appendix)  # noqa: S101  that is where it begins
    parts = [part.text for part in others if isinstance(part, Heading) and part.level == 3]
    return escape(f"In {first.file} there is more: {'; '.join(parts)}. {first.besides}")


def _render(block: Block) -> str:
    match block:
        case Heading():
            text = f"{'#' * block.level} {escape(block.text)}"
        case Paragraph(runs=(Code(text=command),)):
            # Indented, so that nothing in it can be markup.
            text = "    " + show_privately(command)
        case Paragraph():
            text = _render_runs(block.runs)
        case Bullets():
            text = "\n".join(f"- {_render_runs(item)}" for item in block.items)
        case Table():
            text = _render_table(block)
        case Figure():
            path = f"{FOLDER}/{block.name}.svg"
            text = f"{write_image(block.alt, path)}\n\n`{path}`: {escape(block.caption)}"
        case Footnotes():
            text = "\n\n".join(f"[^{number}]: {_define(note)}" for number, note in block.items)
        case Appendix():
            raise ValueError("a page has one appendix, which render_page leaves out")
    return text


def _define(note: str) -> str:
    """A footnote's text, which stays one where footnotes are unknown."""
    text = escape(note, LONGEST_ASIDE)
    return f"{text} ·" if _REFERENCE.fullmatch(text) else text


def _render_runs(runs: Iterable[Run]) -> str:
    text = ""
    # Plain runs behind each other are one text: what follows a bracket decides whether it is markup.
    for _, group in groupby(runs, key=lambda run: isinstance(run, str)):
        together = list(group)
        plain = "".join(run for run in together if isinstance(run, str))
        text += _escape_inside(show_privately(plain))
        text += "".join(_render_marked(run) for run in together if not isinstance(run, str))
    return _start_no_block(text.strip(" "))


def _render_marked(run: Strong | Code) -> str:
    if isinstance(run, Strong):
        return f"**{escape(run.text)}**"
    text = show_privately(run.text)
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def _render_table(table: Table) -> str:
    banner = f"**{escape(table.banner)}** · " if table.banner else ""
    heads = ["".join(_render_cell(cell)) for cell in table.headers]
    columns = []
    for i, (head, cells) in enumerate(zip(heads, zip(*table.rows, strict=True), strict=True)):
        parts = list(map(_render_cell, cells))
        before, after = (max(map(len, side)) for side in zip(*parts, strict=True))
        if i in table.numbers:
            body = [f"{text:>{before}}{tail:<{after}}" for text, tail in parts]
            columns.append((head, body, ">"))
        else:
            columns.append((head, ["".join(part) for part in parts], "<"))
    return f"{banner}{escape(table.caption)}\n\n{_lay_out(columns)}"


def _lay_out(columns: Sequence[tuple[str, Sequence[str], str]]) -> str:
    """Columns by head, cells and side as a table, padded where that is no wider than `WIDEST`."""
    widths = [max(3, *map(len, (head, *cells))) for head, cells, _ in columns]
    fits = sum(widths) + 3 * len(widths) + 1 <= WIDEST

    def join(texts: Iterable[str]) -> str:
        if not fits:
            return f"| {' | '.join(text.strip(' ') for text in texts)} |"
        padded = (
            f"{text:{side}{width}}"
            for text, width, (_, _, side) in zip(texts, widths, columns, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rule = "|".join(
        "-" * (width + 1 if fits else 2) + (":" if side == ">" else "-")
        for width, (_, _, side) in zip(widths, columns, strict=True)
    )
    rows = zip(*(cells for _, cells, _ in columns), strict=True)
    return "\n".join([join(head for head, _, _ in columns), f"|{rule}|", *map(join, rows)])


def _render_cell(cell: Cell) -> tuple[str, str]:
    """A cell before and from its decimal point on."""
    strike = "~~" if cell.struck else ""
    # What ends a whole text ends at a space, unless it is struck.
    edge = "" if cell.struck else " "
    head, tail = (show_privately(part, LONGEST_ASIDE) for part in cell.parts)
    head = _escape_inside(edge + head + (edge if not tail else "")).lstrip(" ")
    tail = _escape_inside(tail + edge if tail else "").rstrip(" ")
    if not tail:
        head = head.rstrip(" ")
    marks = "".join(f"[^{number}]" for number in cell.marks)
    tail += strike + (" " if cell.text and marks else "") + marks
    return (strike + head).replace("|", r"\|"), tail.replace("|", r"\|")
