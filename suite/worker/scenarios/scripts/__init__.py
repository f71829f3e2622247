"""asked: the asker's own situation, and the ladder from it to a fair number.

Six cases, each a *waterfall*: stages that lead from what people time to what they meant to time,
with one change from each to the next.  Written anew after the questions; not one line is theirs.
A new case is one line in `SCENARIOS`, with its file here where it has little in common with the others.
"""

from __future__ import annotations

from suite.cells.scenario import Scenario
from suite.worker.scenarios.scripts import clones, dropout, fit, loops, products

SCENARIOS: tuple[Scenario, ...] = (
    *products.SCENARIOS,
    *clones.SCENARIOS,
    *loops.SCENARIOS,
    *fit.SCENARIOS,
    *dropout.SCENARIOS,
)
