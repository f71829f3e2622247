"""Flags: everything that speaks against a number, an invocation, a comparison or a campaign.

The one registry of their kinds, which stand in ``flags.toml``.  Whoever raises a flag gives a code and
values; the report makes the sentence from the text there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

Severity = Literal["info", "caution", "excluded", "invalid", "missing"]
"""Beside the number; in the opening, too; the invocation does not count; struck through and never
judged; no number."""

Scope = Literal["machine", "campaign", "arm", "invocation", "cell", "comparison"]
"""What a flag is about."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of flag; ``text`` is its sentence, with the names of the values that it needs."""

    severity: Severity
    scope: Scope
    text: str


@dataclass(frozen=True, kw_only=True)
class Flag:
    """One finding: its kind, how grave it is here, and about what.

    ``where`` names what it is about: ``arm``, ``cell``, ``block``, ``repeat``, or ``blocks``, the numbers
    of the blocks that have it.  ``values`` are what its sentence tells: numbers, names, or lists of these.
    """

    code: str
    severity: Severity
    scope: Scope
    where: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


_TEXTS = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(),
    type=dict[Severity, dict[Scope, dict[str, str]]],
)
"""The sentence of each kind, by how grave it is as a rule, what it is about, and its code."""

KINDS: Mapping[str, Kind] = {
    code: Kind(severity=severity, scope=scope, text=text)
    for severity, scopes in _TEXTS.items()
    for scope, texts in scopes.items()
    for code, text in texts.items()
}
"""Every kind of flag by its code."""

IMPLAUSIBLE = frozenset(
    {
        *("above-peak", "above-memory", "above-cores", "above-pcie", "above-nvlink"),
        *("below-call", "below-operation", "below-copy"),
    }
)
"""The codes of numbers that the hardware can't have made."""


def raise_flag(
    code: str,
    where: Mapping[str, Any] | None = None,
    *,
    severity: Severity | None = None,
    scope: Scope | None = None,
    **values: Any,
) -> Flag:
    """A flag of this kind; graver, or about something else, than its kind is where that is said."""
    kind = KINDS[code]
    return Flag(
        code=code,
        severity=severity or kind.severity,
        scope=scope or kind.scope,
        where=where or {},
        values=values,
    )


def is_common(flag: Flag) -> bool:
    """Whether it is said of the number, not of a block: most of the blocks have it, if not all.

    What fewer have is in the interval already, and stands in the files for programs.
    """
    return "of" not in flag.values or 2 * len(flag.where["blocks"]) > flag.values["of"]


def pick(flags: Iterable[Flag], severity: Severity) -> tuple[Flag, ...]:
    """The flags that are so grave."""
    return tuple(flag for flag in flags if flag.severity == severity)


def find_invalid(flags: Iterable[Flag]) -> tuple[Flag, ...]:
    """The flags for which a number is struck: those of the first kind that is invalid, or all
    that befell some blocks."""
    invalid = pick(flags, "invalid")
    return tuple(
        flag
        for flag in invalid
        if flag.code == invalid[0].code or ("blocks" in invalid[0].where and "blocks" in flag.where)
    )
