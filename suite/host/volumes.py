"""Which volumes an invocation is given, decided as values: only what its cells have need of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from suite.host.engine import Volume
from suite.model import Campaign, Cell

SCRATCH_TARGET = "/scratch"
"""The image makes this folder for the worker's user."""

SCRATCH_VARIABLE = "CROSSOVER_SCRATCH"
"""As the worker's."""


def scratch_volume(campaign: Campaign) -> Volume:
    """The campaign's scratch space: all its invocations read the same files.

    Named after a hash: a campaign's own name may hold letters that no engine takes.
    """
    identity = hashlib.sha256(campaign.id.encode()).hexdigest()[:16]
    return Volume(
        name=f"crossover-{identity}-scratch",
        target=SCRATCH_TARGET,
        variable=SCRATCH_VARIABLE,
        purpose="scratch",
    )


def choose_volumes(campaign: Campaign, cells: Iterable[Cell]) -> tuple[Volume, ...]:
    """The volumes that a run of these cells of the campaign needs."""
    return (scratch_volume(campaign),) if any(cell.reads_files for cell in cells) else ()
