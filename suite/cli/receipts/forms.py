"""What names a machine, a person or a place by its form: the table of `forms.toml` as regular expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

_TABLE = Path(__file__).with_name("forms.toml")


@cache
def read_forms() -> Sequence[tuple[re.Pattern[str], str]]:
    """What is recognised by its form, and what it is, in the order in which it is looked for."""
    table = msgspec.toml.decode(_TABLE.read_bytes())
    parts: dict[str, str] = {}
    for name, part in table["parts"].items():
        parts[name] = (
            "|".join(map(re.escape, part)) if isinstance(part, list) else _fill(part, parts)
        )
    return [
        (re.compile(_fill(pattern, parts), re.IGNORECASE), form["what"])
        for form in table["forms"]
        for pattern in form["patterns"]
    ]


def _fill(pattern: str, parts: Mapping[str, str]) -> str:
    """The pattern with its parts in the place of their names; `{8}` is not a name."""
    return re.sub(r"\{([a-z_]+)\}", lambda match: parts[match[1]], pattern)
