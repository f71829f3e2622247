"""The tables that lie beside the code: data and texts.

In JSON, because an image's Python may be 3.10, which reads no TOML.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_table(code: str, name: str) -> dict[str, Any]:
    """The table of that name beside a file of code, which says ``__file__``."""
    path = Path(code).with_name(f"{name}.json")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table
