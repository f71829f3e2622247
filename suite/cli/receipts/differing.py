"""Two texts that should be the same: where they differ, in words; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from os.path import commonprefix
from typing import Any

from suite.analysis.statistics.rounding import is_exact, settle
from suite.report.exports.summary import lay_out

TOLERANCE = 1e-8
"""Two numbers that are no counts are the same where they differ by no larger share: another SciPy or
another processor computes some of the last of ten digits differently (docs/decisions/0045)."""

_LEAST = 1e-15
"""And so are two that differ by less than this, what is left of numbers that cancel out: of seconds and of
shares nobody can tell as little."""

_AROUND, _SHOWN = 20, 60
"""Characters in front of what differs, and from there on, that are shown."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Where a file is not what it should be, None: nowhere; and how many of its numbers are the same to
    `TOLERANCE` only."""

    trouble: str | None
    near: int = 0


def compare_files(name: str, here: str, anew: str) -> Comparison:
    """A file as it is beside what it should be, with the field or line where they differ.

    In JSON numbers may differ in their last digits, and nothing else may; in other files nothing.
    """
    if here == anew:
        return Comparison(trouble=None)
    troubles = list[str]()
    if name.endswith(".json"):
        try:
            old = json.loads(here)
            every = list(_walk("$", old, json.loads(anew)))
            if every and not any(every) and lay_out(old) == here:
                return Comparison(trouble=None, near=len(every))
        except (ValueError, RecursionError):
            every = []
        troubles = [trouble for trouble in every if trouble]
    troubles = troubles or list(_find_lines(here, anew))
    more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
    return Comparison(trouble=f"{name}: {troubles[0]}{more}")


def _walk(path: str, here: Any, anew: Any) -> Iterator[str | None]:
    """Every difference in words, and a None for every number whose last digits differ."""
    if isinstance(here, dict) and isinstance(anew, dict):
        for key in dict.fromkeys([*anew, *here]):
            if key not in here or key not in anew:
                yield f"{path}.{key}: " + ("is missing" if key in anew else "should not be there")
            else:
                yield from _walk(f"{path}.{key}", here[key], anew[key])
        if here.keys() == anew.keys() and list(here) != list(anew):
            yield f"{path}: its fields are in another order"
    elif isinstance(here, list) and isinstance(anew, list) and len(here) == len(anew):
        for index, pair in enumerate(zip(here, anew, strict=True)):
            yield from _walk(f"{path}[{index}]", *pair)
    elif type(here) is not type(anew) or here != anew:
        if isinstance(here, float) and isinstance(anew, float) and _are_near(here, anew):
            yield None
            return
        shown = [json.dumps(value, ensure_ascii=False)[:_SHOWN] for value in (here, anew)]
        yield f"{path}: is {shown[0]}, but rebuilds as {shown[1]}"


def _are_near(here: float, anew: float) -> bool:
    """Whether two numbers are the same but for their last digits; an exact one has none."""
    if settle(here) == settle(anew):
        return True
    if is_exact(here) or is_exact(anew):
        return abs(here - anew) <= _LEAST
    return abs(here - anew) <= max(_LEAST, TOLERANCE * abs(anew))


def _find_lines(here: str, anew: str) -> Iterator[str]:
    # By newlines alone, so that no odd character of a document makes a line.
    pairs = zip_longest(here.split("\n"), anew.split("\n"))
    for number, (old, new) in enumerate(pairs, 1):
        if old != new:
            same = len(commonprefix([old or "", new or ""]))  # noqa: RUF071  by letters
            start = max(0, same - _AROUND)
            shown = [
                "not there" if line is None else repr(line[start : same + _SHOWN])
                for line in (old, new)
            ]
            yield f"line {number}: is {shown[0]}, but rebuilds as {shown[1]}"
