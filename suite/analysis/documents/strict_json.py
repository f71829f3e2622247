"""JSON that is what it says: no field twice, no number beyond what any program reads, no stray text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from suite.analysis.documents.rules import Complaint
from suite.errors import DocumentError
from suite.wire import READ

_LARGEST = 2**63
"""Integers from here on are no count, size or seed; every JSON reader agrees below it."""


_READ = " and ".join(map(str, READ))

MEND = "Put the original file back, or remove it and measure again what it held (RESUME=…)."


class Twice:
    """Stands in the place of a value whose key stood twice in one object."""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file of this schema.

    Raises:
        DocumentError: it is none, or holds a value that no document may.
    """
    try:
        if path.exists() and not path.is_file():
            refuse(path, "", "is not a regular file")
        text = path.read_bytes().decode()
    except OSError as error:
        raise DocumentError(f"{path.name}: {error.strerror} ({path})", MEND) from error
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path.name}: byte {error.start} is not UTF-8", MEND) from error
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
            f"{path.name}: not JSON, or cut short: {error.msg} at {where}", MEND
        ) from error
    except RecursionError as error:
        raise DocumentError(f"{path.name}: nested too deeply", MEND) from error
    if not isinstance(value, dict):
        refuse(path, "$", f"is {name_type(value)}, not an object")
    number = value.get("schema")
    if number is None:
        refuse(path, "$.schema", f"is missing; this version reads schema {_READ}")
    if not isinstance(number, int) or isinstance(number, bool):
        refuse(path, "$.schema", f"is {name_type(number)}, not a whole number")
    if number not in READ:
        raise DocumentError(
            f"{path.name}: $.schema: the file has schema {number}, this version reads {_READ}",
            "Read it with the version of the suite that wrote it, or a newer one.",
        )
    refuse_first(path, _judge_values(value))
    return value


def _parse_integer(text: str) -> int | float:
    # Python refuses to convert thousands of digits; such a number is refused with its path later.
    return int(text) if len(text) <= 20 else math.inf


def _gather(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    gathered: dict[str, Any] = {}
    for key, value in pairs:
        gathered[key] = Twice() if key in gathered else value
    return gathered


def _judge_values(value: dict[str, Any]) -> Iterable[Complaint]:
    """What no value of any field may be; walks without recursion, in the order of the file."""
    waiting: list[tuple[str, Any]] = [("$", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, Twice):
            yield path, "stands twice in the same object"
        elif isinstance(item, float) and not math.isfinite(item):
            yield path, "is not a finite number"
        elif isinstance(item, int) and abs(item) >= _LARGEST:
            yield path, f"{item} is larger than any number here can be"
        elif isinstance(item, str) and not _is_text(item):
            yield path, "holds half a character (a lone surrogate)"
        elif isinstance(item, dict):
            for key in item:
                if not _is_text(key):
                    yield path, "has a key that holds half a character (a lone surrogate)"
            waiting.extend((f"{path}.{key}", item[key]) for key in reversed(item))
        elif isinstance(item, list) and not _are_finite(item):
            waiting.extend((f"{path}[{i}]", item[i]) for i in range(len(item) - 1, -1, -1))


def _are_finite(items: list[Any]) -> bool:
    """Whether these are finite floats and nothing else, at the speed of the C that sums them.

    Most of a document is samples, and a campaign can have a thousand documents.  A sum that
    overflows only costs the time of a look at each.
    """
    return set(map(type, items)) == {float} and math.isfinite(sum(items))


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_first(path: Path, complaints: Iterable[Complaint]) -> None:
    """Refuses the file for the first complaint, where there is one."""
    for where, complaint in complaints:
        refuse(path, where, complaint)


def refuse(path: Path, where: str, complaint: str) -> NoReturn:
    """Gives up: names the file, the field and what is wrong with it."""
    raise DocumentError(": ".join(filter(None, [path.name, where, complaint])), MEND)


def name_type(value: Any) -> str:
    """A value's type, in the words of JSON."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
