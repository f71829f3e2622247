"""A page as GitHub-flavoured Markdown: ``report.md``, ``compare.md``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import tabulate

from suite.report.pictures.picture import FOLDER
from suite.report.render.plain import LONGEST, LONGEST_ASIDE, show_plainly
from suite.report.text.page import (
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
      [\\`*\[\]~$]                                     # markup wherever it stands
    | <(?=[a-z/!?]) | &(?=[\#\w]) | (?<!\S)\# | !$     # a tag, an entity, a heading's end, an image
    | (?<![^\W_])_ | _(?![^\W_])                       # emphasis, but not inside a word
    | (?<=[a-z]):(?=//) | (?<=mailto):|(?<=xmpp):      # bare links and addresses
    | (?<=www)\. | @(?=[\w-]+\.)
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,  # what a letter is beyond, changes with Python
)
_BLOCK_START = re.compile(r"^()([=>|]|[-+](?=[-\s]|$))|^(\d+)([.)])(?=\s|$)")
_TICKS = re.compile("`+")

# Where wcwidth happens to be installed, columns with Chinese would be padded otherwise.
tabulate.WIDE_CHARS_MODE = False


def render_page(page: Page) -> str:
    """Any page as Markdown with a final newline."""
    return "\n\n".join(map(_render, page.blocks)) + "\n"


def write_image(alt: str, path: str) -> str:
    """A picture, and what it shows for those who don't see it."""
    return f"![{escape(alt)}]({path})"


def escape(text: str, limit: int = LONGEST) -> str:
    """The text as Markdown that renders as exactly this text, on one line and as no markup.

    Covers CommonMark and GitHub's additions: bare links and addresses, strike-through, mathematics.
    """
    return _BLOCK_START.sub(r"\1\3\\\2\4", _escape_inside(text, limit).strip(" "))


def _escape_inside(text: str, limit: int = LONGEST) -> str:
    """The same for a part of a line, which keeps the spaces at its ends."""
    return _SPECIAL.sub(r"\\\g<0>", re.sub(" +", " ", show_plainly(text, limit)))


def _render(block: Block) -> str:
    match block:
        case Heading():
            text = f"{'#' * block.level} {escape(block.text)}"
        case Paragraph(runs=(Code(text=command),)):
            # Indented, so that nothing in it can be markup.
            text = "    " + show_plainly(command)
        case Paragraph():
            text = _render_runs(block.runs)
        case Bullets():
            text = "\n".join(f"- {_render_runs(item)}" for item in block.items)
        case Table():
            text = _render_table(block)
        case Figure():
            image = write_image(block.alt, f"{FOLDER}/{block.name}.svg")
            text = f"{image}\n\n{escape(block.caption)}"
        case Footnotes():
            notes = (f"- [{number}] {escape(note, LONGEST_ASIDE)}" for number, note in block.items)
            text = "\n".join(notes)
    return text


def _render_runs(runs: Iterable[Run]) -> str:
    text = "".join(map(_render_run, runs)).strip(" ")
    return _BLOCK_START.sub(r"\1\3\\\2\4", text)


def _render_run(run: Run) -> str:
    if isinstance(run, str):
        return _escape_inside(run)
    if isinstance(run, Strong):
        return f"**{escape(run.text)}**"
    text = show_plainly(run.text)
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def _render_table(table: Table) -> str:
    banner = f"**{escape(table.banner)}** · " if table.banner else ""
    columns = [
        _align(column) if i in table.numbers else ["".join(_render_cell(cell)) for cell in column]
        for i, column in enumerate(zip(*table.rows, strict=True))
    ]
    body = tabulate.tabulate(
        list(zip(*columns, strict=True)),
        headers=["".join(_render_cell(cell)) for cell in table.headers],
        tablefmt="pipe",
        disable_numparse=True,
        preserve_whitespace=True,
        colalign=["right" if i in table.numbers else "left" for i in range(len(table.headers))],
    )
    return f"{banner}{escape(table.caption)}\n\n{body}"


def _align(cells: Sequence[Cell]) -> list[str]:
    """The cells of a column padded to one width, their decimal points below each other."""
    parts = list(map(_render_cell, cells))
    before, after = (max(map(len, side)) for side in zip(*parts, strict=True))
    return [f"{head:>{before}}{tail:<{after}}" for head, tail in parts]


def _render_cell(cell: Cell) -> tuple[str, str]:
    """A cell before and from its decimal point on."""
    strike = "~~" if cell.struck else ""
    head, tail = cell.parts
    marks = "".join(f"[{number}]" for number in cell.marks)
    # Without spaces at its ends, beside which a strike would be none.
    head = _escape_inside(head).lstrip(" ") if tail else escape(head, LONGEST_ASIDE)
    tail = _escape_inside(tail).rstrip(" ") + strike + (" " if cell.text and marks else "") + marks
    head = strike + head
    return head.replace("|", r"\|"), tail.replace("|", r"\|")
