"""What a text means with which something refuses, and how it is found in a table of such texts.  Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

EngineKind = Literal["docker", "rootless", "snap", "desktop", "podman", "local", "inside"]
"""Docker as root, as a user, as a snap or as Docker Desktop; podman as either; no container at all, or one
that somebody else has started: each is set up in another place, by other commands."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A pattern of what an engine, NVIDIA's hook or TensorFlow says, what causes it, and what to do next.

    ``instead`` is the other way of asking for a GPU, where that may work: by CDI, or by NVIDIA's hook.
    """

    pattern: str
    cause: str
    remedy: str
    instead: Literal["cdi", "hook"] | None = None


def find_row(text: str, rows: Iterable[Refusal]) -> Refusal | None:
    """The first row that fits a text, if there is one."""
    return next((r for r in rows if re.search(r.pattern, text, re.IGNORECASE | re.DOTALL)), None)
