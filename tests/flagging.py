"""What tests ask of flags and of evidence."""

from __future__ import annotations

from collections.abc import Iterable

from suite.analysis.result.numbers import Evidence
from suite.flags import Flag


def codes(found: Iterable[Flag | Evidence]) -> list[str]:
    """The codes of some flags, or of the evidence for something."""
    return [one.code for one in found]
