"""Which tests run today, where all of them take too long for every day."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import date
from typing import TypeVar

Test = TypeVar("Test")


def draw_share(
    tests: Sequence[Test], parts: int, day: date, file_of: Callable[[Test], Hashable]
) -> list[Test]:
    """One of so many parts of each file's tests, another each day; a file of fewer tests whole.

    As many days in a row run all. A part is tests that stand together, since those share what takes long
    to make.
    """
    files: dict[Hashable, list[Test]] = {}
    for test in tests:
        files.setdefault(file_of(test), []).append(test)
    drawn = []
    turn = day.toordinal() % parts
    for group in files.values():
        whole = len(group)
        first, end = whole * turn // parts, whole * (turn + 1) // parts
        drawn += group[first:end] if whole >= parts else group
    return drawn
