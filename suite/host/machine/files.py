"""Small files, such as the kernel's: what is not there, or not for us, is empty."""

from __future__ import annotations

from pathlib import Path


def read_text(path: Path) -> str:
    """The text of a file; empty where it can't be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
