"""What whoever writes a script can change: choices of an axis, and the steps from what people post.

Each is of one kind, which its row says: it is a judgement, and no measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suite.cells.cell import Choice, Step
from suite.cells.tables import read_table
from suite.cells.traits import Effect

CHOICES: Mapping[str, Choice] = {
    name: Choice(**row) for name, row in read_table(__file__, "choices").items()
}
"""What whoever writes a script chooses, by name: the rows of ``choices.json``."""

WATERFALLS: Mapping[str, Mapping[str, Any]] = read_table(__file__, "waterfalls")
"""The cases of ``waterfalls.json``, by name: what people post, and its changes one after the other.

A change is ``like`` a choice, or has an ``effect`` of its own.
"""

_EFFECTS: Mapping[str, Effect] = {
    stage["new"]: CHOICES[stage["like"]].effect if "like" in stage else stage["effect"]
    for waterfall in WATERFALLS.values()
    for stage in waterfall["stages"][1:]
}


def find_effect(step: Step) -> Effect:
    """The kind of a script's change: as the table has it, whatever an older plan said; a change that the
    table lacks is what its plan says."""
    return _EFFECTS.get(step.change, step.effect)
