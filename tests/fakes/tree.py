"""Folders that stand for a machine's root."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def lay(root: Path, files: Mapping[str, str]) -> Path:
    """Files below a folder, by their names there; each ends its last line."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.removesuffix("\n") + "\n", encoding="utf-8")
    return root
