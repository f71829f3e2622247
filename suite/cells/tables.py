"""The tables that lie beside the code: data and texts, in TOML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_table(code: str, name: str) -> dict[str, Any]:
    """The table of that name beside a file of code, which says ``__file__``."""
    path = Path(code).with_name(f"{name}.toml")
    table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return table
