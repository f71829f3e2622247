"""What tests ask of flags."""

from __future__ import annotations

from collections.abc import Iterable

from suite.flags import Flag


def codes(flags: Iterable[Flag]) -> list[str]:
    """The codes of some flags."""
    return [one.code for one in flags]
