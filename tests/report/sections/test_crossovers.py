"""What the table of crossovers says of how its cells are handed over."""

from __future__ import annotations

import pytest

from suite.worker import scenarios
from tests import synthetic
from tests.rendering import render_markdown, study

INFER = [one for one in scenarios.cells() if one.name == "mlp.infer"]


@pytest.mark.parametrize(
    ("call", "dispatch"),
    [("direct", "eager"), ("graph", "graph"), ("predict", "keras"), ("graph_numpy", "graph")],
)
def test_a_sweep_of_eager_calls_says_that_it_is_about_them(call: str, dispatch: str) -> None:
    campaign = synthetic.make_campaign(cells=[one for one in INFER if one.params["call"] == call])
    report = render_markdown(study(campaign, synthetic.make_documents(campaign)))
    (row,) = [line for line in report.splitlines() if line.startswith("| mlp.infer |")]
    assert row.split("|")[3].strip() == dispatch
    assert ("Eager starts every operation from Python" in report) == (dispatch == "eager")
