"""What a text means with which something refuses, and how it is found in a table of such texts.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A pattern of what an engine, NVIDIA's hook or TensorFlow says, what causes it, and what to do next."""

    pattern: str
    cause: str
    remedy: str


def find_row(text: str, rows: Iterable[Refusal]) -> Refusal | None:
    """The first row that fits a text, if there is one."""
    return next((r for r in rows if re.search(r.pattern, text, re.IGNORECASE | re.DOTALL)), None)
