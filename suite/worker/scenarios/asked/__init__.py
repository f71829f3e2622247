"""asked: the asker's own situation, and the way from it to a fair number.

Five cases, each a *waterfall*: stages that lead from what people time to what they meant to time,
with one change from each to the next.  Written anew after the questions; not one line is theirs.
A new case is one file here and one line in `SCENARIOS`.
"""

from __future__ import annotations

from suite.cells.scenario import Scenario
from suite.worker.scenarios.asked import clones, dataset, fit, products, slices

SCENARIOS: tuple[Scenario, ...] = (
    *products.SCENARIOS,
    *clones.SCENARIOS,
    *slices.SCENARIOS,
    *dataset.SCENARIOS,
    *fit.SCENARIOS,
)
