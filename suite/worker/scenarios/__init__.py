"""Every scenario there is, in the order in which the reports show them.

A new one is one file and one line in `SCENARIOS`.
"""

from __future__ import annotations

import difflib

from suite.cells.cell import Cell
from suite.cells.scenario import Scenario
from suite.worker.scenarios import matmul, overhead, scripts, sustain
from suite.worker.scenarios.mlp import build, fallback, infer, loop, retrace, train
from suite.worker.scenarios.tfdata import memory, read, triple

SCENARIOS: tuple[Scenario, ...] = (
    matmul.SQUARE,
    matmul.REPEATED,
    train.TRAIN,
    train.WIDTH,
    loop.LOOP,
    loop.SHORT_LOOP,
    retrace.RETRACE,
    infer.INFER,
    build.BUILD,
    fallback.FALLBACK,
    *scripts.SCENARIOS,
    memory.SLICES,
    memory.SOURCE,
    memory.CACHE,
    memory.MAP,
    read.READ,
    *triple.TRIPLE,
    triple.TO_DEVICE,
    triple.FEED,
    *overhead.SCENARIOS,
    sustain.PRODUCT,
    sustain.COPY,
)

_BY_ID = {cell.id: (scenario, cell) for scenario in SCENARIOS for cell in scenario.cells()}


def cells() -> list[Cell]:
    """Every cell of every scenario, in declared order."""
    return [cell for _, cell in _BY_ID.values()]


def find(identity: str) -> tuple[Scenario, Cell]:
    """The scenario and cell of an id.

    Raises:
        KeyError: there is none; its text names the nearest ids.
    """
    if identity in _BY_ID:
        return _BY_ID[identity]
    near = difflib.get_close_matches(identity, _BY_ID, n=3)
    raise KeyError(f"no cell {identity}" + (f"; did you mean {', '.join(near)}?" if near else ""))
