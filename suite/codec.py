"""Values to JSON and back to plain values; the schema number.

Standard library only: the worker writes records with it inside the container.  Whatever JSON comes from
outside is read by `parse_json` alone; turning plain values into words again, validated, is
``suite.analysis.documents.read``'s task.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from sys import intern
from typing import Any

from suite.input_limits import LENGTH, LENGTHS, LONGEST_KEY, LONGEST_TEXT
from suite.model.rules import Complaint

SCHEMA = 2
"""The number that every document and plan carries; no other is read."""

UUID = re.compile(r"\b(GPU|MIG)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b", re.IGNORECASE)


def hash_uuid(uuid: str) -> str:
    """What stands for a GPU's UUID in documents: the same GPU is recognised, none is named.

    Only its hexadecimal digits count, since CUDA tells them without ``GPU-`` before them.
    """
    digits = re.sub("^(GPU|MIG)-", "", uuid, flags=re.IGNORECASE).lower()
    return "sha256:" + hashlib.sha256(digits.encode()).hexdigest()[:16]


def hide_uuids(text: str) -> str:
    """The text with every UUID of a GPU's replaced by its hash, so that no file names a machine."""
    return UUID.sub(lambda found: f"{found[1]}-{hash_uuid(found[2])}", text)


def plain(value: Any) -> Any:
    """A word (a dataclass, a list or dict of them) as plain JSON values.

    Instants become ISO 8601 text with their offset.

    Raises:
        ValueError: a number is NaN or infinite, or an instant has no offset; such a thing may
            not enter a document.
        TypeError: the value is of a type that has no place on the wire.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a number that a document can hold")
        return value
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise ValueError(f"the instant {value} has no UTC offset")
        return value.isoformat()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no place on the wire")


def dump_document(value: Any) -> str:
    """Values that people may read, too, as indented JSON text with a final newline; keys as declared."""
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def dump_record(record: Any) -> str:
    """One record of the worker as a single line of JSON, without its newline."""
    return json.dumps(plain(record), separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse_record(line: str) -> dict[str, Any]:
    """One line of the worker as a record.

    Raises:
        ValueError: the line is not a JSON object with a text ``record`` in it, or holds a value that no
            document may.
    """
    record = parse_json(line)
    if not isinstance(record, dict) or not isinstance(record.get("record"), str):
        raise ValueError(f"not a record: {line[:200]!r}")
    return record


_LARGEST = 2**63
"""Integers from here on are no count, size or seed; every JSON reader agrees below it."""

MOST_VALUES = 1_000_000
"""A document has some 10,000 values, and each takes some 100 bytes of memory once it is read."""


class Malformed(ValueError):
    """A text is no JSON, or holds a value that no document may: where, and what is wrong with it."""

    def __init__(self, where: str, complaint: str) -> None:
        super().__init__(": ".join(filter(None, [where, complaint])))
        self.where = where
        self.complaint = complaint


class _Twice:
    """Stands in the place of a value whose key stood twice in one object."""


def parse_json(text: str | bytes) -> Any:
    """JSON that is what it says: no field twice, no number beyond what any program reads, no stray text.

    Raises:
        Malformed: it is none, or holds a value that no document may.
    """
    value = decode_json(text)
    for where, complaint in judge_values(value):
        raise Malformed(where, complaint)
    return value


def decode_json(text: str | bytes) -> Any:
    """JSON whose values are still to be judged, which `parse_json` does.

    Raises:
        Malformed: it is none, or too much to be read.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise Malformed("", f"byte {error.start} is not UTF-8") from error
    if text.count(",") + text.count("[") + text.count("{") > MOST_VALUES:
        raise Malformed("$", f"holds over {MOST_VALUES} values, the most that are read")
    try:
        return json.loads(
            text, parse_int=_parse_integer, parse_constant=float, object_pairs_hook=_gather
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise Malformed("", f"not JSON, or cut short: {error.msg} at {where}") from error
    except RecursionError as error:
        raise Malformed("", "nested too deeply") from error


def _parse_integer(text: str) -> int | float:
    # Python refuses to convert thousands of digits; such a number is refused with its path later.
    return int(text) if len(text) <= 20 else math.inf


def _gather(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    gathered: dict[str, Any] = {}
    for key, value in pairs:
        if key in gathered:
            gathered[key] = _Twice()
        else:
            # A campaign's documents say the same in most of their texts: each is kept once.
            gathered[key] = intern(value) if type(value) is str else value
    return gathered


Place = tuple[Any, str | int] | None
"""Where a value stands: the place of what holds it, and its key there.  Spelled when there is something to
say, since most of a document is in order, and a path can be long."""

ROOT: Place = None

_HOLDERS = frozenset({dict, list})
_FEWEST = min(LENGTH, *LENGTHS.values())


def spell(place: Place) -> str:
    """``$.cells[3].samples_s[2]``."""
    parts: list[str] = []
    while place is not None:
        place, key = place
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key[:LONGEST_KEY]}")
    return "$" + "".join(reversed(parts))


def judge_values(value: Any) -> Iterator[Complaint]:
    """What no value of any field may be; walks without recursion, in the order of the file."""
    waiting: list[tuple[Place, Any]] = [(ROOT, value)]
    sound: set[str] = set()
    while waiting:
        place, item = waiting.pop()
        holds = type(item)
        if holds in _HOLDERS and len(item) > _FEWEST and len(item) > (most := _most_values(place)):
            yield spell(place), f"holds {len(item)} values; {most} are the most"
        if holds is dict:
            if not item.keys() <= sound:
                for key in item:
                    for complaint in _judge_text(key, LONGEST_KEY):
                        yield spell(place), f"has a key that {complaint}"
                sound.update(item)
            waiting += [((place, key), item[key]) for key in reversed(item) if _asks(item[key])]
        elif holds is list:
            if not _are_finite(item):
                last = len(item) - 1
                waiting += [((place, i), item[i]) for i in range(last, -1, -1) if _asks(item[i])]
        else:
            for complaint in _judge_value(item):
                yield spell(place), complaint


def _asks(item: Any) -> bool:
    """Whether a value is one of the few that have to be looked at again."""
    kind = type(item)
    if kind is str:
        return len(item) > LONGEST_TEXT or not item.isascii()
    if kind is float:
        return not math.isfinite(item)
    if kind is int:
        return not -_LARGEST < item < _LARGEST
    return item is not None and kind is not bool


def _most_values(place: Place) -> int:
    holder = place and place[0]
    name = "at_s" if holder and holder[1] == "series" else place and place[1]
    return LENGTHS.get(str(name), LENGTH)


def _judge_value(item: Any) -> Sequence[str]:
    if isinstance(item, str):
        return _judge_text(item, LONGEST_TEXT)
    if isinstance(item, _Twice):
        return ("stands twice in the same object",)
    if isinstance(item, float) and not math.isfinite(item):
        return ("is not a finite number",)
    if isinstance(item, int) and abs(item) >= _LARGEST:
        return (f"{item} is larger than any number here can be",)
    return ()


def _judge_text(text: str, longest: int) -> Sequence[str]:
    if len(text) <= longest and text.isascii():
        return ()
    found = []
    if len(text) > longest:
        found.append(f"has {len(text)} characters; {longest} is the most")
    try:
        text.encode()
    except UnicodeEncodeError:
        found.append("holds half a character (a lone surrogate)")
    return found


def _are_finite(items: list[Any]) -> bool:
    """Whether these are finite floats and nothing else, at the speed of the C that sums them.

    Most of a document is samples, and a campaign can have a thousand documents.  A sum that
    overflows only costs the time of a look at each.
    """
    return set(map(type, items)) == {float} and math.isfinite(sum(items))
