"""The profiles that hold a cell: mostly one of them, and all that are larger."""

from __future__ import annotations

from suite.cells.traits import ProfileName

Profiles = tuple[ProfileName, ...]

SMOKE: Profiles = ("smoke", "quick", "standard", "full")
QUICK: Profiles = ("quick", "standard", "full")
STANDARD: Profiles = ("standard", "full")
FULL: Profiles = ("full",)

NOT_QUICK: Profiles = ("smoke", "standard", "full")
"""Of what the smoke profile has only so that every path runs."""
