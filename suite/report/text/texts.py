"""The report's own words: the tables of ``texts.toml``, by what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

TEXTS: Mapping[str, Mapping[str, str]] = msgspec.toml.decode(
    Path(__file__).with_name("texts.toml").read_bytes(), type=dict[str, dict[str, str]]
)
"""By table and key; the file says of each table what it holds."""
