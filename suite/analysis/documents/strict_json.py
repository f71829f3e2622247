"""A folder's JSON of this schema, and how it is refused: by its file and its field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from suite.errors import DocumentError
from suite.folder import MEND, Folder
from suite.model.rules import Complaint
from suite.wire import READ, Malformed, decode_json, judge_values

_READ = " and ".join(map(str, READ))


def read_json(folder: Folder, name: str) -> dict[str, Any]:
    """The object in a folder's file of this schema.

    Raises:
        DocumentError: it is none, or holds a value that no document may.
    """
    try:
        value = decode_json(folder.read(name))
    except Malformed as error:
        refuse(name, error.where, error.complaint)
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
    refuse_first(name, judge_values(value))
    return value


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
