"""Two texts that should be the same: where they differ, in words; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from os.path import commonprefix
from typing import Any

_AROUND, _SHOWN = 20, 60
"""Characters in front of what differs, and from there on, that are shown."""


def find_difference(name: str, here: str, anew: str) -> str | None:
    """Where a file differs from what it should be, with the field or line; None: nowhere."""
    if here == anew:
        return None
    found = _find_fields(here, anew) if name.endswith(".json") else []
    found = found or list(_find_lines(here, anew))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{name}: {found[0]}{more}"


def _find_fields(here: str, anew: str) -> list[str]:
    try:
        return list(_walk("$", json.loads(here), json.loads(anew)))
    except (ValueError, RecursionError):
        return []


def _walk(path: str, here: Any, anew: Any) -> Iterator[str]:
    if isinstance(here, dict) and isinstance(anew, dict):
        for key in dict.fromkeys([*anew, *here]):
            if key not in here or key not in anew:
                yield f"{path}.{key}: " + ("is missing" if key in anew else "should not be there")
            else:
                yield from _walk(f"{path}.{key}", here[key], anew[key])
    elif isinstance(here, list) and isinstance(anew, list) and len(here) == len(anew):
        for index, pair in enumerate(zip(here, anew, strict=True)):
            yield from _walk(f"{path}[{index}]", *pair)
    elif type(here) is not type(anew) or here != anew:
        shown = [json.dumps(one, ensure_ascii=False)[:_SHOWN] for one in (here, anew)]
        yield f"{path}: is {shown[0]}, but rebuilds as {shown[1]}"


def _find_lines(here: str, anew: str) -> Iterator[str]:
    # By newlines alone, so that no odd character of a document makes a line.
    pairs = zip_longest(here.split("\n"), anew.split("\n"))
    for number, (old, new) in enumerate(pairs, 1):
        if old != new:
            same = len(commonprefix([old or "", new or ""]))  # noqa: RUF071  by letters
            start = max(0, same - _AROUND)
            shown = [
                "not there" if one is None else repr(one[start : same + _SHOWN])
                for one in (old, new)
            ]
            yield f"line {number}: is {shown[0]}, but rebuilds as {shown[1]}"
