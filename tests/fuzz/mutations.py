"""Real files made wrong: by their structure, by their text, and byte by byte.

Whatever is drawn comes from the `random.Random` that is given, so that a seed says it all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

DEEP = 20_000
"""Objects within objects: more than any stack holds."""

MOST_BYTES = 1_000_000
"""What repeating may add: to make a file wrong should take less time than to read it."""

_WORDS = r"""
    null true false [] {} "" [[[]]] {"":0} [null] undefined 'a'
    0 -0.0 -1 1 2 99 100 0.5 1e-13 5e-324 1e-400 1e9 1e308 -1e308 1e999 -1e999 NaN Infinity -Infinity
    9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775809
    1000000000000000000000000000000 01 +1 1. .5 0x10
    "\ud800" "\u0000" "\u001b[31m" "\u202e" "a\nb" "../../x" "/etc/passwd"
    "<script>alert(1)</script>" "%s{}{0}" "nan" "cuda" "cpu-twin" "measured" "𝟙" "٣"
    "0001-01-01T00:00:00+23:59" "9999-12-31T23:59:59-23:59" "2026-02-30T00:00:00Z" "2026-11-21T00:00:00"
"""

ODD = ('" "', *_WORDS.split())
"""JSON, and what is nearly JSON, to stand in a value's place."""

_RAW = "\x00raw\x00"
"""Marks a text that `_dump` writes as it is."""


def _dump(value: Any) -> str:
    """JSON in which a marked text stands for itself, as a value or as a key."""
    text = json.dumps(value, ensure_ascii=True)
    marked = rf'"{re.escape(json.dumps(_RAW)[1:-1])}((?:[^"\\]|\\.)*)"'
    return re.sub(marked, lambda match: json.loads(f'"{match[1]}"'), text)


Holder = tuple[Any, Any]
"""An object or a list, and the key of a value in it."""


def _holders(value: Any) -> list[Holder]:
    holders: list[Holder] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        for key in list(item) if isinstance(item, dict) else range(len(item)):
            holders.append((item, key))
            if isinstance(item[key], dict | list):
                waiting.append(item[key])
    return holders


def _pick(value: Any, draw: Random) -> Holder:
    """A place: of all, or (as often) of those whose name nothing else has, lest samples hide the rest."""
    places = _holders(value)
    if draw.random() < 0.5:
        named = {key: (holder, key) for holder, key in places if isinstance(key, str)}
        places = list(named.values()) or places
    return draw.choice(places)


def _drop(value: Any, draw: Random) -> None:
    holder, key = _pick(value, draw)
    del holder[key]


def _odd(value: Any, draw: Random) -> None:
    holder, key = _pick(value, draw)
    holder[key] = _RAW + draw.choice(ODD)


def _long(value: Any, draw: Random) -> None:
    holder, key = _pick(value, draw)
    size = draw.choice([61, 201, 1001, 2001, 10_001, 100_001])
    holder[key] = _RAW + draw.choice(
        [
            f'"{"x" * size}"',
            f"[{','.join(['0.001'] * size)}]",
            f"[{','.join(['{}'] * size)}]",
            json.dumps({str(i): i for i in range(size)}),
            "1" * size,
            "[" * DEEP + "]" * DEEP,
            '{"a":' * DEEP + "0" + "}" * DEEP,
        ]
    )


def _twice(value: Any, draw: Random) -> None:
    holder, key = _pick(value, draw)
    if isinstance(holder, dict):
        holder[_RAW + json.dumps(key)] = holder[key]
    else:
        holder.insert(key, holder[key])


def _rename(value: Any, draw: Random) -> None:
    holder, key = _pick(value, draw)
    if isinstance(holder, dict):
        names = ["", " ", "x" * 1001, "\ud800", "\x1b", "__class__", key.upper(), key + " "]
        holder[draw.choice(names)] = holder.pop(key)


def _exchange(value: Any, draw: Random) -> None:
    holder, key = _pick(value, draw)
    other, there = _pick(value, draw)
    holder[key] = json.loads(json.dumps(other[there]))


def _scale(value: Any, draw: Random) -> None:
    """One number, or all of its name: what is still a number goes deeper than what is none."""
    numbers = [
        (holder, key) for holder, key in _holders(value) if type(holder[key]) in {int, float}
    ]
    if not numbers:
        return
    holder, name = draw.choice(numbers)
    factor = draw.choice([-1, 0, 0.5, 2, 10, 1e-9, 1e-6, 1e6, 1e9, 1e300])
    together = isinstance(name, str) and draw.random() < 0.5
    for item, key in numbers if together else [(holder, name)]:
        if key == name:
            scaled = item[key] * factor
            whole = float(scaled).is_integer() and abs(scaled) < 2**53
            item[key] = int(scaled) if whole else scaled


def _change_list(value: Any, draw: Random) -> None:
    """A list many times as long, or the other way around."""
    lists = [holder[key] for holder, key in _holders(value) if isinstance(holder[key], list)]
    if not lists:
        return
    items = draw.choice(lists)
    if draw.random() < 0.5:
        items.reverse()
        return
    text = json.dumps(items)
    times = min(draw.choice([1, 7, 300]), 1 + MOST_BYTES // len(text))
    items.extend(item for _ in range(times) for item in json.loads(text))


def _flip(content: bytearray, draw: Random) -> None:
    for _ in range(draw.choice([1, 1, 1, 4, 40])):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)


def _cut_out(content: bytearray, draw: Random) -> None:
    begin = draw.randrange(len(content))
    del content[begin : begin + draw.choice([1, 2, 30, 3000, len(content)])]


_BYTES = (
    *(b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b'"', b"{", b"]", b",", b"\n", b"\\u"),
    b"[" * DEEP,
)


def _put_in(content: bytearray, draw: Random) -> None:
    at = draw.randrange(len(content) + 1)
    content[at:at] = draw.choice([*_BYTES, draw.randbytes(9)])


def _put_value(content: bytearray, draw: Random) -> None:
    """A value of a line, in JSON or TOML, by another."""
    values = list(re.finditer(rb"[:=] *([^\n,{}\[\]]+)", content))
    if values:
        begin, end = draw.choice(values).span(1)
        content[begin:end] = draw.choice(ODD).encode("utf-8", "surrogatepass")


STRUCTURE: tuple[Callable[[Any, Random], None], ...] = (
    *(_drop, _odd, _odd, _odd, _long, _twice, _rename, _exchange),
    *(_scale, _scale, _change_list, _change_list),
)
TEXT: tuple[Callable[[bytearray, Random], None], ...] = (
    *(_flip, _cut_out, _cut_out, _put_in, _put_value, _put_value),
)


def mutate(content: bytes, draw: Random) -> bytes:
    """A file made wrong in one to three places, mostly by what it means."""
    times = draw.choice([1, 1, 2, 3])
    if draw.random() < 0.7:
        try:
            value = json.loads(content)
        except (ValueError, RecursionError):
            value = None  # TOML, several lines of JSON, or what was made wrong already
        if isinstance(value, dict | list) and value:
            for _ in range(times):
                if value:
                    draw.choice(STRUCTURE)(value, draw)
            return _dump(value).encode("utf-8", "surrogatepass")
    changed = bytearray(content)
    for _ in range(times):
        if changed:
            draw.choice(TEXT)(changed, draw)
    return bytes(changed)


def mutate_lines(lines: list[bytes], draw: Random) -> list[bytes]:
    """A stream of records made wrong: in a record, or in their order."""
    changed = list(lines)
    for _ in range(draw.choice([1, 1, 2, 4])):
        if not changed:
            break
        at = draw.randrange(len(changed))
        match draw.randrange(6):
            case 0:
                del changed[at]
            case 1:
                changed.insert(at, draw.choice(lines))
            case 2:
                other = draw.randrange(len(changed))
                changed[at], changed[other] = changed[other], changed[at]
            case _:
                changed[at] = mutate(changed[at], draw)
    return changed
