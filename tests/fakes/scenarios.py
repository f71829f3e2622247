"""A made-up scenario, of which a test says what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from suite.cells.cell import Param, Work
from suite.cells.scenario import Point, Results, Scenario


def make_up(
    points: Iterable[Mapping[str, Param]], *, asked_about: bool = False, **more: Any
) -> Scenario:
    """A scenario with these points, each of which binds all axes unless they are named."""
    made = tuple(
        Point(params=params, profiles=("smoke",), asked_about=asked_about) for params in points
    )
    return Scenario(
        **{
            "family": "made",
            "case": "up",
            "question": "What does it take?",
            "axes": tuple(made[0].params),
            "points": made,
            "work": Work(amount=1.0, unit="call"),
            "prepare": None,
            "role": "work",
            "kin": "made up",
            "proof": Results(),
            **more,
        }
    )
