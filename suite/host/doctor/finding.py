"""What one check of the doctor's finds, as a value.  Looks at nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from suite.codec import UUID
from suite.errors import CrossoverError
from suite.model import Scalar

State = Literal["yes", "no", "unknown", "not-applicable"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The answer of the check ``id``.

    ``text`` is one line for people and ``remedy`` what to do next, there for every "no".  ``stops``
    is the exit status with which ``make bench`` would end because of it; 0: it runs all the same.
    ``unless`` names the check that tries what is only reasoned here: where that is a "yes", this is no
    fault.
    ``facts`` are the numbers and names behind the text, for programs.
    """

    id: str = ""
    state: State
    text: str
    remedy: str = ""
    stops: int = 0
    unless: str = ""
    facts: dict[str, Scalar] = field(default_factory=dict)


class Unknown(CrossoverError):
    """The check can't be made here; the text says why.  Becomes a finding of its own."""


def yes(text: str, **facts: Scalar) -> Finding:
    """All is well."""
    return Finding(state="yes", text=text, facts=facts)


def no(text: str, remedy: str, *, stops: int = 0, unless: str = "", **facts: Scalar) -> Finding:
    """Something is wrong, and this is what to do; ``stops`` and ``unless`` as in `Finding`."""
    return Finding(state="no", text=text, remedy=remedy, stops=stops, unless=unless, facts=facts)


def unknown(why: str, remedy: str = "") -> Finding:
    """It is not known, and this is why."""
    return Finding(state="unknown", text=why, remedy=remedy)


def not_applicable(why: str) -> Finding:
    """The question does not arise here."""
    return Finding(state="not-applicable", text=why)


def shorten_uuids(text: str) -> str:
    """The text with no more of each GPU's UUID than tells it from the machine's others."""
    return UUID.sub(lambda uuid: f"{uuid[1]}-{uuid[2][:8]}…", text)
