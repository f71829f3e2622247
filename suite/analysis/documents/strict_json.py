"""JSON that is what it says: no field twice, no number beyond what any program reads, no stray text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

from suite.analysis.documents.rules import Complaint
from suite.errors import DocumentError
from suite.folder import MEND, Folder
from suite.ranges import LENGTH, LENGTHS, LONGEST_KEY, LONGEST_TEXT
from suite.wire import READ

_LARGEST = 2**63
"""Integers from here on are no count, size or seed; every JSON reader agrees below it."""


MOST_VALUES = 1_000_000
"""A document has some 10,000 values, and each takes some 100 bytes of memory once it is read."""

_READ = " and ".join(map(str, READ))


class Twice:
    """Stands in the place of a value whose key stood twice in one object."""


def read_json(folder: Folder, name: str) -> dict[str, Any]:
    """The object in a folder's file of this schema.

    Raises:
        DocumentError: it is none, or holds a value that no document may.
    """
    try:
        text = folder.read(name).decode()
    except UnicodeDecodeError as error:
        raise DocumentError(f"{name}: byte {error.start} is not UTF-8", MEND) from error
    if text.count(",") > MOST_VALUES:
        refuse(name, "$", f"holds over {MOST_VALUES} values, the most that are read")
    try:
        value = json.loads(
            text,
            parse_int=_parse_integer,
            parse_constant=float,
            object_pairs_hook=_gather,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(
            f"{name}: not JSON, or cut short: {error.msg} at {where}", MEND
        ) from error
    except RecursionError as error:
        raise DocumentError(f"{name}: nested too deeply", MEND) from error
    if not isinstance(value, dict):
        refuse(name, "$", f"is {name_type(value)}, not an object")
    number = value.get("schema")
    if number is None:
        refuse(name, "$.schema", f"is missing; this version reads schema {_READ}")
    if not isinstance(number, int) or isinstance(number, bool):
        refuse(name, "$.schema", f"is {name_type(number)}, not a whole number")
    if number not in READ:
        raise DocumentError(
            f"{name}: $.schema: the file has schema {number}, this version reads {_READ}",
            "Read it with the version of the suite that wrote it, or a newer one.",
        )
    refuse_first(name, _judge_values(value))
    return value


def _parse_integer(text: str) -> int | float:
    # Python refuses to convert thousands of digits; such a number is refused with its path later.
    return int(text) if len(text) <= 20 else math.inf


def _gather(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    gathered: dict[str, Any] = {}
    for key, value in pairs:
        gathered[key] = Twice() if key in gathered else value
    return gathered


Place = tuple[Any, str | int] | None
"""Where a value stands: the place of what holds it, and its key there.  Spelled when there is something to
say, since most of a document is in order, and a path can be long."""

ROOT: Place = None


def spell(place: Place) -> str:
    """``$.cells[3].samples_s[2]``."""
    parts: list[str] = []
    while place is not None:
        place, key = place
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key[:LONGEST_KEY]}")
    return "$" + "".join(reversed(parts))


def _judge_values(value: dict[str, Any]) -> Iterable[Complaint]:
    """What no value of any field may be; walks without recursion, in the order of the file."""
    waiting: list[tuple[Place, Any]] = [(ROOT, value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, dict | list) and len(item) > (most := _most_values(place)):
            yield spell(place), f"holds {len(item)} values; {most} are the most"
        if isinstance(item, dict):
            for key in item:
                for complaint in _judge_text(key, LONGEST_KEY):
                    yield spell(place), f"has a key that {complaint}"
            waiting.extend(((place, key), item[key]) for key in reversed(item))
        elif isinstance(item, list):
            if not _are_finite(item):
                waiting.extend(((place, i), item[i]) for i in range(len(item) - 1, -1, -1))
        else:
            for complaint in _judge_value(item):
                yield spell(place), complaint


def _most_values(place: Place) -> int:
    holder = place and place[0]
    name = "at_s" if holder and holder[1] == "series" else place and place[1]
    return LENGTHS.get(str(name), LENGTH)


def _judge_value(item: Any) -> Iterable[str]:
    if isinstance(item, Twice):
        yield "stands twice in the same object"
    elif isinstance(item, float) and not math.isfinite(item):
        yield "is not a finite number"
    elif isinstance(item, int) and abs(item) >= _LARGEST:
        yield f"{item} is larger than any number here can be"
    elif isinstance(item, str):
        yield from _judge_text(item, LONGEST_TEXT)


def _judge_text(text: str, longest: int) -> Iterable[str]:
    if len(text) > longest:
        yield f"has {len(text)} characters; {longest} is the most"
    try:
        text.encode()
    except UnicodeEncodeError:
        yield "holds half a character (a lone surrogate)"


def _are_finite(items: list[Any]) -> bool:
    """Whether these are finite floats and nothing else, at the speed of the C that sums them.

    Most of a document is samples, and a campaign can have a thousand documents.  A sum that
    overflows only costs the time of a look at each.
    """
    return set(map(type, items)) == {float} and math.isfinite(sum(items))


def refuse_first(name: str, complaints: Iterable[Complaint]) -> None:
    """Refuses the file for the first complaint, where there is one."""
    for where, complaint in complaints:
        refuse(name, where, complaint)


def refuse(name: str, where: str, complaint: str) -> NoReturn:
    """Gives up: names the file, the field and what is wrong with it."""
    raise DocumentError(": ".join(filter(None, [name, where, complaint])), MEND)


def name_type(value: Any) -> str:
    """A value's type, in the words of JSON."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
