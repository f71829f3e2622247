"""What a finding rests on, as codes and unscaled numbers; the report makes the sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = float | str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One thing that supports a finding, or says what is different somewhere.

    ``values`` are what its sentence tells: seconds, bytes and shares as they are, names, or lists of names.
    """

    code: str
    values: Mapping[str, Value] = field(default_factory=dict)


def cite(code: str, **values: Value) -> Evidence:
    """The evidence with this code and these values; ``suite/report/text/evidence.py`` has its sentence."""
    return Evidence(code=code, values=values)
