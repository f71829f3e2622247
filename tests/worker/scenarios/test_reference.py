"""NumPy's reference of the training runs: against finite differences, the committed losses, and the
sample that a CPU measured.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suite.worker import scenarios
from suite.worker.scenario.scenario import WrongResult
from suite.worker.scenarios.mlp.networks import A, B, Network, examples, weights
from suite.worker.scenarios.mlp.training import LOSSES, check_training, demand_reference
from tests.bench.references import Run, differentiate, find_run, list_runs, train
from tests.worker.verdict import hear

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
            check = cell["check"] if cell["id"] in CELLS else None
            # The first samples' checks of ``fit`` trained nothing.
            run = find_run(CELLS[cell["id"]]) if check and "seeded steps" in check["what"] else None
            value = cell["check"]["value"] if run else None
            if run and value is not None:
                checked += 1
                assert value == pytest.approx(LOSSES[run.name], rel=1e-4), cell["id"]
    assert checked >= 20


PLANTS: dict[str, Callable[[Run], list[float]]] = {
    "a tenth more learning rate": lambda run: train_otherwise(run, rate=1.1),
    "ten times the learning rate": lambda run: train_otherwise(run, rate=10.0),
    "a sum for a mean": lambda run: [len(run.inputs) * loss for loss in train_otherwise(run)],
    "products off by a hundredth": lambda run: train_otherwise(run, products=1.01),
}


def train_otherwise(run: Run, *, rate: float = 1.0, products: float = 1.0) -> list[float]:
    """A run's losses with other learning rates and products, which are those of larger kernels."""
    network = replace(run.network, learning_rate=run.network.learning_rate * rate)
    kernels = [each * products if each.ndim == 2 else each for each in weights(network)]
    return train(network, run.inputs, run.labels, run.steps, kernels)


def judge(run: Run, losses: list[float], *, brief: bool = False) -> str:
    """What the check says of a training with these losses."""
    left, batch = iter(losses), (run.inputs, run.labels)

    def step(*_: Any) -> float:
        return next(left)

    words: dict[str, Any] = {"steps": run.steps, "brief": brief}
    return hear(WrongResult, check_training, run.network, step, *batch, **words)


@pytest.mark.parametrize("plant", PLANTS)
def test_what_computes_otherwise_is_told_by_the_checks(runs: list[Run], plant: str) -> None:
    quick = [run for run in runs if run.steps > 1 and len(run.inputs) <= 32]
    quick = [run for run in quick if run.weights <= 40_000]
    assert {(run.network.name, run.steps) for run in quick} >= {("A", 20), ("B", 20), ("A", 33)}
    for run in quick:
        assert "is finite and falls" in judge(run, train_otherwise(run)), run.name
        losses = PLANTS[plant](run)
        # Losses of two trainings can cross, so that of ``fit`` the first one is held as well.
        told = judge(run, losses, brief=run.steps == 33) + judge(run, losses)
        assert "where NumPy's reference is" in told, run.name


def test_a_run_on_other_data_has_no_reference() -> None:
    inputs, labels = examples(A, 64)
    demand_reference(A, inputs * 2, labels, steps=20, loss=9.9, tolerance=1e-3)
