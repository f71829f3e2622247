"""What one check of a folder found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check: what it is about, what it found in order, and what it did not, by file and field.

    ``unsure``: nothing speaks against it, and it can't be checked here.
    """

    name: str
    told: str
    troubles: tuple[str, ...] = ()
    unsure: bool = False
