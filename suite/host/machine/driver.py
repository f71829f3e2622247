"""The version of NVIDIA's driver as the kernel tells it, here or in a container elsewhere.

Looks at two files; knows no engine.
"""

from __future__ import annotations

import re
from pathlib import Path

from suite.host.machine.files import read_text

_PLACES = ("/proc/driver/nvidia/version", "/sys/module/nvidia/version")
"""The driver's own file, which NVIDIA's hook leaves visible in containers, then its module's."""

_VERSION = re.compile(r"(?:Module\s+(?:for \S+\s+)?|^\s*)(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
"""The first file has a line about the module and one about a compiler; the second only a number."""

VERSION_PROBE = (
    f"import pathlib; [print(p.read_text()) for p in map(pathlib.Path, {_PLACES!r}) if p.is_file()]"
)
"""Python that prints what a container sees of both files, and nothing where it sees neither."""


def find_version(text: str) -> str | None:
    """The driver's version in the text of one of the files or both; None: it does not say."""
    found = _VERSION.search(text)
    return found[1] if found else None


def read_version(root: Path = Path("/")) -> str | None:
    """The version of this machine's driver; None: none is loaded, or it can't be told (WSL)."""
    for place in _PLACES:
        if version := find_version(read_text(root / place.lstrip("/"))):
            return version
    return None
