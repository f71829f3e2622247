"""A made-up scenario, of which a test says what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suite.cells.cell import Work
from suite.cells.scenario import Point, Scenario


def make_up(points: Sequence[Point], **more: Any) -> Scenario:
    """A scenario with these points."""
    return Scenario(
        **{
            "family": "made",
            "case": "up",
            "question": "What does it take?",
            "points": tuple(points),
            "profiles": ("smoke",),
            "work": Work(amount=1.0, unit="call"),
            "prepare": None,
            "role": "work",
            "work_key": "made up",
            "proof": "results",
            **more,
        }
    )
