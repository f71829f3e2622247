"""Every scenario there is, in the order in which the reports show them.

A new one is one file and one line in `SCENARIOS`.
"""

from __future__ import annotations

import difflib

from suite.model import Cell
from suite.worker.scenario import Scenario
from suite.worker.scenarios import (
    asked,
    matmul,
    mlp,
    mlp_build,
    mlp_fallback,
    mlp_infer,
    mlp_loop,
    overhead,
    overhead_moves,
    tfdata,
    tfdata_read,
    tfdata_triple,
)

SCENARIOS: tuple[Scenario, ...] = (
    matmul.SQUARE,
    matmul.EXTRA_WORK,
    mlp.TRAIN,
    mlp.WIDTH,
    mlp_loop.LOOP,
    mlp_infer.INFER,
    mlp_build.BUILD,
    mlp_fallback.FALLBACK,
    *asked.SCENARIOS,
    tfdata.SLICES,
    tfdata.CACHE,
    tfdata.MAP,
    tfdata_read.READ,
    *tfdata_triple.TRIPLE,
    tfdata_triple.TO_DEVICE,
    overhead.FENCE,
    overhead.EAGER_OP,
    overhead.FUNCTION_CALL,
    overhead.XLA_CALL,
    overhead.GRAPH_OP,
    overhead_moves.COPY,
    overhead_moves.SUM,
    *overhead.STARTUP,
    overhead.CONTAINER,
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
