"""Words to JSON and back to plain values; the schema number and its history.

Standard library only: the worker writes records with it inside the container.
Turning plain values into words again, validated, is ``suite.analysis.documents.read``'s task.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
from datetime import datetime
from typing import Any

SCHEMA = 2
"""The number that every document and plan carries.

History: 1, November 2026, the first.  2, the same month: the cells of a plan say what they are
(`suite.cells`); what a plan of schema 1 leaves out stands in ``suite.analysis.documents.schema1``.
"""

READ = (1, SCHEMA)
"""The schemas that this version reads."""

_UUID = re.compile(r"\b(GPU|MIG)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b", re.IGNORECASE)


def hash_uuid(uuid: str) -> str:
    """What stands for a GPU's UUID in documents: the same GPU is recognised, none is named.

    Only its hexadecimal digits count, since CUDA tells them without ``GPU-`` before them.
    """
    digits = re.sub("^(GPU|MIG)-", "", uuid, flags=re.IGNORECASE).lower()
    return "sha256:" + hashlib.sha256(digits.encode()).hexdigest()[:16]


def hide_uuids(text: str) -> str:
    """The text with every UUID of a GPU's replaced by its hash, so that no file names a machine."""
    return _UUID.sub(lambda found: f"{found[1]}-{hash_uuid(found[2])}", text)


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
    """A document or plan as indented JSON text with a final newline; keys in declared order."""
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def dump_record(record: Any) -> str:
    """One record of the worker as a single line of JSON, without its newline."""
    return json.dumps(plain(record), separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse_record(line: str) -> dict[str, Any]:
    """One line of the worker as a record.

    Raises:
        ValueError: the line is not a JSON object with a text ``record`` in it, or holds a number
            that is not finite.
    """
    try:
        record = json.loads(line, parse_float=_finite, parse_constant=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(record, dict) or not isinstance(record.get("record"), str):
        raise ValueError(f"not a record: {line[:200]!r}")
    return record


def _finite(text: str) -> float:
    # JSON has no NaN; Python reads it all the same, and 1e999 as infinity.
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number
