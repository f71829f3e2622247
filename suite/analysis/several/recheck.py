"""Which cells of a campaign are measured again: its samples draw them, so that nobody chooses.  Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence

from suite.analysis.documents.read import LoadedCampaign
from suite.analysis.result.campaign import Analysis
from suite.errors import UsageError
from suite.fingerprint import hash_lines

DRAWN = 5
"""How many cells are drawn."""


def hash_samples(loaded: LoadedCampaign) -> str:
    """A hash over every sample of a campaign.

    Whatever else its files say can be chosen, or hidden in a bundle; these nobody chooses.
    """
    return hash_lines(
        f"{document.name} {cell.id} {cell.samples_s!r}"
        for document in loaded.documents
        for cell in document.cells
    )


def draw_cells(
    analysis: Analysis, arms: Sequence[str], seed: str, number: int = DRAWN
) -> list[str]:
    """The ids of so many cells, or of all where there are fewer, that have a number on each of these arms.

    Raises:
        UsageError: no cell has one.
    """
    sound = sorted(
        cell.id
        for cell in analysis.cells
        if all(cell.arms[arm].value is not None and not cell.arms[arm].invalid for arm in arms)
    )
    if not sound:
        raise UsageError(
            f"no cell of {analysis.campaign.id} has a number on {' and '.join(arms)}",
            "name some of its arms with ARMS=, or another campaign",
        )
    return random.Random(seed).sample(sound, min(number, len(sound)))
