"""The committed losses are NumPy's, but for those of the widest networks, which take it minutes."""

from __future__ import annotations

import pytest

from suite.worker.scenarios.mlp.references import LOSSES
from tests.bench.references import FILE, list_runs

pytestmark = pytest.mark.method


def test_the_committed_losses_are_numpys() -> None:
    assert FILE.is_file()
    runs = [run for run in list_runs() if run.weights <= 40_000 and len(run.inputs) <= 512]
    assert len(runs) >= 8
    for run in runs:
        assert run.loss == pytest.approx(LOSSES[run.name], rel=1e-9)
