"""What one check of a folder came to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check: its name, what is in order as ``text``, and what is not, by file and field.

    ``unsure``: nothing speaks against it, and it can't be checked here.
    """

    name: str
    text: str
    troubles: tuple[str, ...] = ()
    unsure: bool = False
