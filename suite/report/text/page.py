"""A page that is being written: headings, paragraphs, tables, pictures and footnotes, as values.

Knows no format; `markdown` and `html` make one of it.  Every text is Markdown of a small kind:
``**strong**``, ``~~struck~~``, `` `code` ``, a footnote's ``[1]``, and backslashes before all that
is meant as it stands.  Whatever comes from a document is escaped by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NO_NUMBER = "—"
"""Stands where a number is missing, always with the mark of the footnote that says why."""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading; level 1 is the page's title."""

    text: str
    level: int


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A paragraph."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Bullets:
    """A list without an order, never empty."""

    items: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Code:
    """One line to be typed: plain text, not Markdown."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table under its caption; the columns ``right`` hold numbers, padded to a common point."""

    banner: str
    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture: its file's name without ending, what it shows for those who don't see it (plain
    text), and the caption under it.
    """

    name: str
    alt: str
    caption: str


@dataclass(frozen=True, kw_only=True)
class Footnotes:
    """The footnotes, with their numbers."""

    items: tuple[tuple[int, str], ...]


Block = Heading | Paragraph | Bullets | Code | Table | Figure | Footnotes


class Page:
    """The blocks of a page in their order, and the footnotes that they refer to.

    ``banners`` stand in the title and over every table, so that none can be quoted without them.
    """

    def __init__(self, banners: Sequence[str] = ()) -> None:
        self.banner = " · ".join(banners)
        self.blocks: list[Block] = []
        self._notes: dict[str, int] = {}

    def title(self, text: str) -> None:
        """The page's title, the banners behind it."""
        self.heading(" — ".join(filter(None, [text, self.banner])), level=1)

    def heading(self, text: str, level: int = 2) -> None:
        """A heading of this level."""
        self.blocks.append(Heading(text=text, level=level))

    def paragraph(self, text: str) -> None:
        """A paragraph."""
        self.blocks.append(Paragraph(text=text))

    def bullets(self, items: Iterable[str]) -> None:
        """A list; nothing where there are no items."""
        kept = tuple(items)
        if kept:
            self.blocks.append(Bullets(items=kept))

    def code(self, text: str) -> None:
        """A line to be typed, given as it is: it needs no escape."""
        self.blocks.append(Code(text=text))

    def figure(self, name: str, alt: str, caption: str) -> None:
        """A picture; ``alt`` is plain text and needs no escape."""
        self.blocks.append(Figure(name=name, alt=alt, caption=caption))

    def table(
        self,
        caption: str,
        headers: Sequence[str],
        rows: Sequence[Sequence[str]],
        right: Iterable[int] = (),
    ) -> None:
        """A table under its caption; the columns ``right`` hold numbers and lean to the right."""
        self.blocks.append(
            Table(
                banner=self.banner,
                caption=caption,
                headers=tuple(headers),
                rows=tuple(map(tuple, rows)),
                right=frozenset(right),
            )
        )

    def mark(self, *notes: str) -> str:
        """The marks of these footnotes, such as ``[1][4]``; the same words are the same footnote."""
        marks = []
        for note in notes:
            number = self._notes.setdefault(note, len(self._notes) + 1)
            marks.append(f"[{number}]")
        return "".join(marks)

    def footnotes(self) -> None:
        """Every footnote so far, as a list; nothing where there is none."""
        items = tuple((number, note) for note, number in self._notes.items())
        if items:
            self.blocks.append(Footnotes(items=items))
