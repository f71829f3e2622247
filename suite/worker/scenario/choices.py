"""The axes that whoever writes a script chooses: ``choices.toml`` beside this file."""

from __future__ import annotations

import sys
from pathlib import Path

from suite.cells.cell import Choice

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHOICES = {
    name: Choice(**declared)
    for name, declared in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
"""By the name of the choice."""
