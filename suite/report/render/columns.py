"""How wide the columns of a table are on paper: what stands in them decides.

No library that knows fonts: widths are in em, of letters as wide as DejaVu Sans has them, which is the
widest of the usual fonts.  So a text may leave room, and hardly ever needs more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

_NARROW, _WIDE = frozenset(" .,:;'|!iljftr()[]-/"), frozenset("mwMW%=×±+<>~—≤≥≈@&")
_BOLD = 1.2
"""By how much a head's letters are wider."""

_BREAK = re.compile(r"(?<=[/–-])(?=[^\W\d])")
"""Where a line may end within a word."""

_LONGEST, _CUT = 40, 8
"""Letters: a longer word, such as a hash, may be cut behind every so many."""

_GAP = 6.0
"""Points between two columns."""

_LEAST = 0.6
"""The share of the text's width that a table takes at least, so that its caption has some."""

_TRIES = (
    *((size, lines, 1) for lines in (2, 3, 4) for size in (15, 14, 13, 12)),
    *((size, lines, 2) for lines in (3, 4) for size in (13, 12, 11)),
    *((11, lines, 2) for lines in (5, 6, 8, 10, 14, 20, 40, 80)),
)
"""What a table may look like, best first: the letters in half points, and the lines of a text and of a number."""

_CELL = re.compile(r"<t[hd](?P<attributes>[^>]*)>(?P<content>.*?)</t[hd]>", re.DOTALL)
_ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_ALIGNED = re.compile(r'<span class="w(\d+)">(.*?)</span>')


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A table's letters in half points, its columns' widths in points, and whether a number may take two lines."""

    size: int
    widths: tuple[float, ...]
    tight: bool


@dataclass(frozen=True, kw_only=True)
class _Column:
    head: str
    texts: frozenset[str]
    number: bool

    def need(self, lines: int) -> float:
        """The em in which no text takes more lines, and the head at most one more."""
        cells = (_find_width(text, max(1, lines)) for text in self.texts)
        return max(_BOLD * _find_width(self.head, lines + 1), *cells)


def fit_table(table: str, room: float) -> Fit:
    """How a table of the HTML page, which has a head and rows, fits into so many points."""
    columns = _read_columns(table)
    for size, lines, number_lines in _TRIES:
        limits = [number_lines if column.number else lines for column in columns]
        wide = room / (size / 2) - len(columns) * _GAP / (size / 2)
        if sum(column.need(limit) for column, limit in zip(columns, limits, strict=True)) <= wide:
            break
    widths, wraps = _loosen(columns, limits, wide)
    points = [width * size / 2 + _GAP for width in widths]
    least = room if wraps or sum(points) > room else _LEAST * room
    scale = max(1.0, least / sum(points)) if sum(points) <= room else room / sum(points)
    return Fit(size=size, widths=tuple(width * scale for width in points), tight=number_lines > 1)


def _loosen(
    columns: Sequence[_Column], limits: list[int], room: float
) -> tuple[list[float], bool]:
    """The columns' em, of which the cheapest get fewer lines as long as there is room; whether any text
    still takes several."""
    widths = [column.need(limit) for column, limit in zip(columns, limits, strict=True)]
    while True:
        dearer = [
            (column.need(limit - 1) - width, place)
            for place, (column, limit, width) in enumerate(
                zip(columns, limits, widths, strict=True)
            )
            if limit
        ]
        more, place = min(dearer, default=(0.0, -1))
        if place < 0 or sum(widths) + more > room:
            return widths, any(limit > 1 for limit in limits)
        limits[place] -= 1
        widths[place] += more


def _read_columns(table: str) -> list[_Column]:
    head, *rows = (list(_CELL.finditer(row)) for row in _ROW.findall(table))
    return [
        _Column(
            head=_read(name["content"]),
            texts=frozenset(_read(cell["content"]) for cell in cells),
            number=any('class="n"' in cell["attributes"] for cell in cells),
        )
        for name, cells in zip(head, zip(*rows, strict=True), strict=True)
    ]


def _read(content: str) -> str:
    """A cell's text; what stands before a point is as wide as its column has it."""
    padded = _ALIGNED.sub(lambda span: unescape(span[2]).rjust(int(span[1]), "0"), content)
    return unescape(_TAG.sub("", padded))


def _break(text: str) -> Iterator[tuple[float, float]]:
    """The parts of a text between which a line may end: the em of the space before each, and its own."""
    for word in text.split():
        space = _measure(" ")
        for part in _BREAK.split(word):
            step = _CUT if len(part) > _LONGEST else len(part)
            for start in range(0, len(part), step):
                yield space, _measure(part[start : start + step])
                space = 0.0


@lru_cache(maxsize=20_000)
def _find_width(text: str, lines: int) -> float:
    """The em in which a text takes at most so many lines, to a third of an em; of its longest word at least."""
    parts = list(_break(text))
    low = max((width for _, width in parts), default=0.0)
    high = max(low, sum(space + width for space, width in parts))
    if _count_lines(parts, low) <= lines:
        return low
    while high - low > 1 / 3:
        middle = (low + high) / 2
        low, high = (low, middle) if _count_lines(parts, middle) <= lines else (middle, high)
    return high


def _count_lines(parts: Sequence[tuple[float, float]], room: float) -> int:
    count, along = 1, 0.0
    for space, width in parts:
        along += (space if along else 0.0) + width
        if along > room:
            count, along = count + 1, width
    return count


def _measure(text: str) -> float:
    return sum(map(_measure_letter, text))


def _measure_letter(letter: str) -> float:
    if letter in _NARROW:
        return 0.38
    if letter in _WIDE:
        return 0.88
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.7 if letter.isupper() else 0.62
