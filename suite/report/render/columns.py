"""How wide the columns of a table are, on a screen as on paper: what stands in them decides.

No library that knows fonts: widths are in em, of letters as wide as DejaVu Sans has them, which is the
widest of the usual fonts.  So a text may leave room, and hardly ever needs more.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_NARROW, _WIDE = frozenset(" .,:;'|!iljftr()[]-/"), frozenset("mwMW%=×±+<>~—≤≥≈@&")
_BOLD = 1.2
"""By how much a head's letters are wider."""

BREAK = re.compile(r"(?<=/)(?=\w+=)")
"""Where a line may end within a word: before what a cell's name says of a setting."""

_LONGEST, _CUT = 40, 8
"""Letters: a longer word, such as a hash, may be cut behind every so many."""

_GAP = 0.8
"""The em between two columns."""

ROOM = 504.0
"""The points between the margins of an A4 sheet, the narrowest."""

_LEAST = 0.6
"""The share of the text's width that a table takes at least, so that its caption has some."""

_TRIES = (
    *((size, lines, 1) for lines in (2, 3, 4) for size in (15, 14, 13, 12)),
    *((size, lines, 2) for lines in (3, 4) for size in (13, 12, 11)),
    *((11, lines, 2) for lines in (5, 6, 8, 10, 14, 20, 40, 80)),
)
"""What a table may look like, best first: half points of its letters, lines of a text, lines of a number."""

Text = tuple[str, str]
"""What stands in a cell before its decimal point, and the rest; all in the first where it is no number."""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A table's letters in half points and its columns' widths in tenths of an em; ``tight``: a number takes
    two lines, and so stands below no other's point."""

    size: int
    widths: tuple[int, ...]
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


def fit_columns(
    heads: Sequence[str], columns: Sequence[Sequence[Text]], numbers: Container[int]
) -> Fit:
    """How a table fits between the margins of a sheet; ``numbers``: which of its columns are of numbers."""
    for size, lines, number_lines in _TRIES:
        fitted = [
            _Column(
                head=head,
                texts=frozenset(_read(column, aligned=place in numbers and number_lines == 1)),
                number=place in numbers,
            )
            for place, (head, column) in enumerate(zip(heads, columns, strict=True))
        ]
        limits = [number_lines if column.number else lines for column in fitted]
        em = size / 2
        room = ROOM / em - len(fitted) * (_GAP + 0.1)
        if (
            math.fsum(column.need(limit) for column, limit in zip(fitted, limits, strict=True))
            <= room
        ):
            break
    widths, wraps = _loosen(fitted, limits, room)
    whole = math.fsum(width + _GAP for width in widths)
    # A column is rounded up to a tenth of an em.
    most = ROOM / em - len(widths) / 10
    scale = most / whole if wraps else min(most, max(whole, _LEAST * most)) / whole
    return Fit(
        size=size,
        widths=tuple(math.ceil(10 * scale * (width + _GAP)) for width in widths),
        tight=number_lines > 1,
    )


def _read(column: Sequence[Text], *, aligned: bool) -> Iterator[str]:
    """The texts of a column; ``aligned``: each with its point below the others'."""
    longest = max(len(whole) for whole, _ in column) if aligned else 0
    return (whole.rjust(longest, "0") + rest for whole, rest in column)


def _loosen(columns: Sequence[_Column], limits: list[int], room: float) -> tuple[list[float], bool]:
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
        if place < 0 or math.fsum(widths) + more > room:
            return widths, any(limit > 1 for limit in limits)
        limits[place] -= 1
        widths[place] += more


def _break(text: str) -> Iterator[tuple[float, float]]:
    """The parts of a text between which a line may end: the em of the space before each, and its own."""
    for word in text.split():
        space = _measure(" ")
        for part in BREAK.split(word):
            step = _CUT if len(part) > _LONGEST else len(part)
            for start in range(0, len(part), step):
                yield space, _measure(part[start : start + step])
                space = 0.0


@lru_cache(maxsize=20_000)
def _find_width(text: str, lines: int) -> float:
    """The em in which a text takes at most so many lines, to a third of one; at least its longest word's."""
    parts = list(_break(text))
    low = max((width for _, width in parts), default=0.0)
    high = max(low, math.fsum(space + width for space, width in parts))
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
    return math.fsum(map(_measure_letter, text))


def _measure_letter(letter: str) -> float:
    if letter in _NARROW:
        return 0.38
    if letter in _WIDE:
        return 0.88
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.7 if letter.isupper() else 0.62
