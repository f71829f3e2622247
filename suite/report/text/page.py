"""A page that is being written: headings, paragraphs, tables, pictures, footnotes and an appendix, as values.

Knows no format; `suite.report.render` makes one of it.  Every text is meant as it stands, whatever
characters it holds: what is strong, code or a link is a value of its own among the texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from suite.report.text.units import NO_NUMBER as NO_NUMBER  # noqa: PLC0414  sections find it here
from suite.report.text.units import Quantity, show_things


@dataclass(frozen=True)
class Strong:
    """Words that must not be missed."""

    text: str


@dataclass(frozen=True)
class Code:
    """Something to be typed, or a name in a file."""

    text: str


Run = str | Strong | Code
Runs = tuple[Run, ...]
"""What stands in one line of text, one behind the other."""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading; level 1 is the page's title."""

    text: str
    level: int


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A paragraph; one that is nothing but `Code` is a line to be typed."""

    runs: Runs


@dataclass(frozen=True, kw_only=True)
class Bullets:
    """A list without an order, never empty."""

    items: tuple[Runs, ...]


@dataclass(frozen=True)
class Cell:
    """A table's cell: a text, or a `Quantity` by which a column is aligned and sorted.

    ``notes`` are the footnotes that belong to it, ``marks`` their numbers, which the page gives them.
    """

    text: str
    notes: tuple[str, ...] = ()
    struck: bool = False
    marks: tuple[int, ...] = ()

    @property
    def parts(self) -> tuple[str, str]:
        """The text before and from its decimal point on, or from where one would stand."""
        point = self.text.point if isinstance(self.text, Quantity) else len(self.text)
        return self.text[:point], self.text[point:]


def say_none(why: str) -> Cell:
    """What stands in the place of a number that is missing."""
    return Cell(NO_NUMBER, (why,))


Row = Mapping[str, str | Cell]
"""A row of a table, by the heads of its columns."""

Column = tuple[str | Cell, Sequence[str | Cell]]
"""A column: its head, and what stands under it."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table under its caption."""

    banner: str
    caption: str
    headers: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @cached_property
    def numbers(self) -> frozenset[int]:
        """The columns that hold a `Quantity` a row, or its absence; the first names the rows."""
        columns = enumerate(zip(*self.rows, strict=True))
        return frozenset(i for i, column in columns if i and _are_numbers(column))


def _are_numbers(cells: Sequence[Cell]) -> bool:
    others = {cell.text for cell in cells if not isinstance(cell.text, Quantity)}
    return others <= {NO_NUMBER, ""} and any(isinstance(cell.text, Quantity) for cell in cells)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture: its file's name without ending, what it shows for those who don't see it, and the
    caption under it.
    """

    name: str
    alt: str
    caption: str


@dataclass(frozen=True, kw_only=True)
class Footnotes:
    """The footnotes of what stands before them, with their numbers."""

    items: tuple[tuple[int, str], ...]


@dataclass(frozen=True, kw_only=True)
class Appendix:
    """Where the appendix begins: what follows stands in ``file`` and on paper, but not in the Markdown, which
    names its parts and says what stands ``besides``.
    """

    file: str
    besides: str


Block = Heading | Paragraph | Bullets | Table | Figure | Footnotes | Appendix


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much a short page may hold: letters of a paragraph, item, caption or heading, of a table's cell and
    of what is `Strong`, and rows of a table.

    ``hide`` takes what is private out of a text; cut first, a text could lose the form that it is known by.
    """

    paragraph: int
    cell: int
    strong: int
    rows: int
    hide: Callable[[str], str]


class Page:
    """The blocks of a page in their order, and the footnotes that they refer to.

    ``banners`` stand in the title and over every table, so that none can be quoted without them.
    ``whole`` is the file that holds what a short page leaves out.
    """

    def __init__(self, banners: Sequence[str] = (), whole: str = "report.md") -> None:
        self.banner = " · ".join(banners)
        self.whole = whole
        self.blocks: list[Block] = []
        self._notes: dict[str, int] = {}
        self._listed = 0

    def title(self, text: str) -> None:
        """The page's title, the banners behind it."""
        self.heading(" — ".join(filter(None, [text, self.banner])), level=1)

    def heading(self, text: str, level: int = 2) -> None:
        """A heading of this level."""
        self.blocks.append(Heading(text=text, level=level))

    def paragraph(self, *runs: Run) -> None:
        """A paragraph."""
        self.blocks.append(Paragraph(runs=runs))

    def bullets(self, items: Iterable[str | Runs]) -> None:
        """A list; nothing where there are no items."""
        kept = tuple(item if isinstance(item, tuple) else (item,) for item in items)
        if kept:
            self.blocks.append(Bullets(items=kept))

    def code(self, text: str) -> None:
        """A line to be typed."""
        self.paragraph(Code(text))

    def figure(self, name: str, alt: str, caption: str) -> None:
        """A picture."""
        self.blocks.append(Figure(name=name, alt=alt, caption=caption))

    def table(self, caption: str, rows: Iterable[Row]) -> None:
        """A table under its caption; nothing where there are no rows, each of which has the same heads."""
        listed = list(rows)
        if any(row.keys() != listed[0].keys() for row in listed):
            raise ValueError(f"rows of several tables: {caption}")
        if listed:
            self.columns(caption, [(head, [row[head] for row in listed]) for head in listed[0]])

    def columns(self, caption: str, columns: Iterable[Column]) -> None:
        """A table of columns, nothing where they are empty; footnotes count up in the order in which they are
        read.

        A column whose cells are all a `Quantity`, or its absence, leans on its decimal points.
        """
        heads, bodies = zip(*columns, strict=True)
        if not bodies[0]:
            return
        self.blocks.append(
            Table(
                banner=self.banner,
                caption=caption,
                headers=self._mark(heads),
                rows=tuple(map(self._mark, zip(*bodies, strict=True))),
            )
        )

    def shorten(self, limits: Limits) -> None:
        """Cuts what is longer than ``limits``: texts between words, what is `Strong` at the end of a clause,
        and tables behind a row, after which it says how many more there are."""
        self.blocks = [
            short for block in self.blocks for short in _shorten_block(block, limits, self.banner)
        ]

    def footnotes(self) -> None:
        """Every footnote so far that is not listed yet; nothing where there is none."""
        items = [(number, note) for note, number in self._notes.items() if number > self._listed]
        if items:
            self.blocks.append(Footnotes(items=tuple(items)))
        self._listed = len(self._notes)

    def appendix(self, file: str, besides: str) -> None:
        """What is rarely read follows, in parts with headings of level 3: a reader of the Markdown finds it
        in ``file``, and is told what stands ``besides``."""
        self.blocks.append(Appendix(file=file, besides=besides))
        self.heading("Appendix")

    def _mark(self, cells: Sequence[str | Cell]) -> tuple[Cell, ...]:
        """The cells with the numbers of their footnotes; the same words are the same footnote."""
        made = (cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)
        return tuple(
            replace(cell, marks=tuple(dict.fromkeys(map(self._number, cell.notes))))
            for cell in made
        )

    def _number(self, note: str) -> int:
        return self._notes.setdefault(note, len(self._notes) + 1)


def shorten(text: str, most: int) -> str:
    """The text in at most so many letters, cut between two words where it has any there."""
    if len(text) <= most:
        return text
    kept = text[: max(0, most - 1)]
    return (kept.rpartition(" ")[0] or kept) + "…"


def point_to_rows(more: int) -> Paragraph:
    """What follows a table of which so many rows stand in the report alone."""
    return Paragraph(runs=(f"And {show_things(more, 'more row')}, in report.md.",))


def cut_clauses(text: str, fits: Callable[[str], bool], whole: str = "report.md") -> str:
    """As many clauses of the text as fit, and that the ``whole`` is elsewhere: half of one can say more than
    it all."""
    if fits(text):
        return text
    more = f"more in {whole}."
    for end in reversed([match.start() for match in re.finditer("[;.] ", text)]):
        short = f"{text[:end]}; {more}"
        if fits(short):
            return short
    return more.capitalize()


def _shorten_block(block: Block, limits: Limits, banner: str) -> Iterable[Block]:
    def cut(text: str) -> str:
        return _shorten_text(text, limits.paragraph, limits.hide)

    match block:
        case Heading():
            title = block.text.removesuffix(f" — {banner}")
            yield replace(block, text=cut(title) + block.text[len(title) :])
        case Paragraph():
            yield replace(block, runs=_shorten_runs(block.runs, limits))
        case Bullets():
            yield replace(block, items=tuple(_shorten_runs(item, limits) for item in block.items))
        case Figure():
            yield replace(block, alt=cut(block.alt), caption=cut(block.caption))
        case Table():
            yield replace(
                block,
                caption=cut(block.caption),
                headers=_shorten_cells(block.headers, limits),
                rows=tuple(_shorten_cells(row, limits) for row in block.rows[: limits.rows]),
            )
            if more := len(block.rows[limits.rows :]):
                yield point_to_rows(more)
        case _:
            yield block


def _shorten_text(text: str, most: int, hide: Callable[[str], str]) -> str:
    return text if len(text) <= most else shorten(hide(text), most)


def _shorten_cells(cells: Sequence[Cell], limits: Limits) -> tuple[Cell, ...]:
    return tuple(
        cell
        if len(cell.text) <= limits.cell
        else replace(cell, text=_shorten_number(cell.text, limits))
        for cell in cells
    )


def _shorten_number(text: str, limits: Limits) -> str:
    """The text, which stays a number where it is one."""
    short = _shorten_text(text, limits.cell, limits.hide)
    if not isinstance(text, Quantity):
        return short
    return Quantity(short[: text.point], "", short[text.point :], text.value)


def _shorten_runs(runs: Runs, limits: Limits) -> Runs:
    texts = [run if isinstance(run, str) else run.text for run in runs]
    if sum(map(len, texts)) <= limits.paragraph:
        return runs
    hidden = list(map(limits.hide, texts))
    whole = limits.hide("".join(texts))
    if whole != "".join(hidden):
        # What is private stands in several of them.
        return (shorten(whole, limits.paragraph),)
    kept: list[Run] = []
    most = limits.paragraph
    for run, text in zip(runs, hidden, strict=True):
        if isinstance(run, Strong):
            kept.append(Strong(cut_clauses(text, lambda short: len(short) <= limits.strong)))
        elif most > 0:
            short = shorten(text, most)
            kept.append(short if isinstance(run, str) else replace(run, text=short))
        most -= len(text)
    return tuple(kept)
