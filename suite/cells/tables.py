"""The tables that lie beside the code: data and texts.

In JSON, which every Python here reads without help, and fast: a container's start is measured, too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read_table(code: str, name: str) -> dict[str, Any]:
    """The table of that name beside the module whose ``__file__`` is given."""
    path = Path(code).with_name(f"{name}.json")
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table
