"""NumPy's reference of the training runs: against finite differences, the committed losses, and the
sample that a CPU measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite.worker import scenarios
from suite.worker.scenarios.mlp.networks import A, B, Network, examples, weights
from suite.worker.scenarios.mlp.training import LOSSES, demand_reference
from tests.bench.references import Run, differentiate, find_run, list_runs

SAMPLES = Path(__file__).parents[3] / "results" / "samples"
CELLS = {cell.id: cell for cell in scenarios.cells()}


@pytest.mark.parametrize("network", [A, B], ids=lambda network: network.name)
def test_the_gradient_is_that_of_finite_differences(network: Network) -> None:
    inputs, labels = examples(network, 7)
    parameters = [array.astype(np.float64) for array in weights(network)]
    _, gradients = differentiate(network, parameters, inputs.astype(np.float64), labels)
    draw = np.random.default_rng(1)
    for index, gradient in enumerate(gradients):
        for _ in range(4):
            at = tuple(draw.integers(0, size) for size in gradient.shape)

            def move(by: float, index: int = index, at: Any = at) -> float:
                moved = [one.copy() for one in parameters]
                moved[index][at] += by
                return differentiate(network, moved, inputs.astype(np.float64), labels)[0]

            slope = (move(1e-6) - move(-1e-6)) / 2e-6
            assert gradient[at] == pytest.approx(slope, rel=1e-4, abs=1e-8)


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """Every run that the check of a cell makes."""
    return list(list_runs())


def test_every_run_of_a_check_has_its_reference_and_no_other_is_there(runs: list[Run]) -> None:
    assert {run.name for run in runs} == set(LOSSES)
    for run in runs:
        # No name hangs on the last bits of an input: all are far from where the second digit turns.
        spread = float(np.std(np.asarray(run.inputs, np.float64)))
        assert abs(spread * 100 - np.floor(spread * 100) - 0.5) > 1e-3, run.name


@pytest.mark.parametrize("batch", [16, pytest.param(512, marks=pytest.mark.method)])
def test_the_committed_losses_are_numpys(runs: list[Run], batch: int) -> None:
    """But for those of the widest networks, which take NumPy minutes."""
    quick = [run for run in runs if run.weights <= 40_000 and len(run.inputs) <= batch]
    assert {run.network.name for run in quick} >= {"A", "B"}
    for run in quick:
        assert run.loss == pytest.approx(LOSSES[run.name], rel=1e-9)


def test_the_sample_that_a_cpu_measured_agrees() -> None:
    checked = 0
    for path in SAMPLES.glob("*/cpu-01.json"):
        for cell in json.loads(path.read_text())["cells"]:
            run = find_run(CELLS[cell["id"]]) if cell["id"] in CELLS and cell["check"] else None
            value = cell["check"]["value"] if run else None
            if run and value is not None:
                checked += 1
                assert value == pytest.approx(LOSSES[run.name], rel=1e-4), cell["id"]
    assert checked >= 20


def test_a_run_on_other_data_has_no_reference() -> None:
    inputs, labels = examples(A, 64)
    demand_reference(A, inputs * 2, labels, steps=20, loss=9.9, tolerance=1e-3)
