"""The sixth script as done: what each stage hands to TensorFlow, and what its checks take for wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.worker import scenarios
from suite.worker.scenario.scenario import Prepared, Printed, WrongResult
from suite.worker.scenarios.mlp.networks import C
from suite.worker.scenarios.scripts import dropout
from suite.worker.scenarios.scripts.posted import dropout as script
from tests.bench.references import find_run
from tests.fakes.device import Scopes, install
from tests.worker.verdict import hear

OWN = dropout.WATERFALL.stages[len(dropout.WATERFALL.printed) :]
CELLS = {cell.params["stage"]: cell for cell in scenarios.cells() if cell.case == "dropout"}


@dataclass
class Loop(Scopes):
    """A stand-in for TensorFlow, network C and its trainer, which learns by the step and writes down what it
    is given; ``masks`` are what dropout adds to a loss, one after the other."""

    metric: Any = None
    metrics_on: list[str | None] = field(default_factory=list)
    given: list[tuple[Any, Any]] = field(default_factory=list)
    steps: int = 0
    learns: float = 0.02
    forgets: float = 0.0
    answer: float | None = None
    masks: Iterator[float] = field(
        default_factory=lambda: itertools.cycle((1e-4, 2e-4, 3e-4, 4e-4))
    )

    def constant(self, array: Any) -> Any:
        return SimpleNamespace(array=array, shape=array.shape, device=self.scopes[-1])

    def make_metric(self, name: str) -> str:
        self.metrics_on.append(self.scopes[-1])
        return name

    def make_entropy(self, *, label_smoothing: float, reduction: str) -> Any:
        assert (label_smoothing, reduction) == (0.0, "sum_over_batch_size")
        return lambda _, loss: loss

    def build(self, network: Any, device: str | None) -> Any:
        assert (network, device) == (C, "/GPU:0")
        return self.evaluate

    def train(self, network: Any, model: Any, device: str, *, execution: str, metric: Any) -> Any:
        assert (network, device, execution) == (C, "/GPU:0", "xla")
        self.metric, self.model = metric, model
        return self

    def evaluate(self, inputs: Any, *, training: bool) -> float:
        assert training is False
        run = find_run(CELLS[f"{'own-loop' if len(inputs) == 500 else 'batch-5000'}"])
        far = run is not None and float(np.std(inputs)) > 100
        if far:
            assert run is not None
            assert np.array_equal(inputs, run.inputs)
            return run.loss if self.answer is None else self.answer
        return 0.69 - (self.learns - self.forgets) * self.steps

    def reset(self) -> None:
        self.steps = 0

    def step(self, inputs: Any, labels: Any) -> float:
        self.given.append((inputs, labels))
        self.steps += 1
        return 0.71 - self.learns * self.steps + next(self.masks)

    def tensors(self, loss: float, batch: Any) -> list[Any]:
        return [loss, *batch]

    def traces(self) -> int:
        return 1


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()
    keras = SimpleNamespace(
        metrics=SimpleNamespace(AUC=made.make_metric),
        losses=SimpleNamespace(BinaryCrossentropy=made.make_entropy),
    )
    install(monkeypatch, device=made.device, constant=made.constant, keras=keras)
    monkeypatch.setattr(dropout, "build", made.build)
    monkeypatch.setattr(dropout, "Trainer", made.train)
    return made


def prepare(stage: str) -> Prepared:
    return dropout.prepare(device="/GPU:0", stage=stage, on="arm")


def observe(loop: Loop, stage: str) -> dict[str, Any]:
    """What two calls of a stage were seen to do."""
    loop.given.clear()
    loop.metrics_on.clear()
    prepared = prepare(stage)
    prepared.step()
    last: Any = prepared.step()
    first, second = loop.given
    lies = not isinstance(first[0], np.ndarray)
    assert (first is second or first == second) if lies else not np.array_equal(first[0], second[0])
    assert "falling" in prepared.check(last).what
    return {
        "metric": loop.metric,
        "on": tuple(loop.metrics_on),
        "data": first[0].device if lies else str(first[0].dtype),
        "batch": (first[0].shape, first[1].shape),
        "enqueues": prepared.enqueues,
        "resident": prepared.resident is not None,
    }


def test_each_stage_takes_one_thing_away(loop: Loop) -> None:
    seen = [observe(loop, stage.name) for stage in OWN]
    assert seen[0] == {
        "metric": "auc",
        "on": ("/GPU:0",),
        "data": "float32",
        "batch": ((500, 4), (500, 1)),
        "enqueues": False,
        "resident": False,
    }
    changes = [
        {key: after[key] for key in after if after[key] != before[key]}
        for before, after in itertools.pairwise(seen)
    ]
    assert changes == [
        {"metric": None, "on": ()},
        {"data": "/GPU:0", "enqueues": True, "resident": True},
        {"batch": ((5000, 4), (5000, 1))},
    ]


def test_an_epoch_has_every_example_once_in_an_order_of_its_own() -> None:
    inputs = np.arange(20.0)[:, None]
    batches = dropout.shuffle(inputs, inputs, 5)
    epochs = [[next(batches) for _ in range(4)] for _ in range(2)]
    rows = [np.concatenate([batch for batch, _ in epoch])[:, 0] for epoch in epochs]
    assert all(sorted(order) == list(range(20)) for order in rows)
    assert list(rows[0]) != list(rows[1])
    assert all(np.array_equal(batch, labels) for epoch in epochs for batch, labels in epoch)


@pytest.mark.parametrize(
    ("fields", "last", "complaint"),
    [
        ({}, math.nan, "the loss of the last timed step is nan"),
        ({"answer": math.log(2)}, 0.5, "where NumPy's reference is"),
        ({"learns": 0.0, "masks": itertools.count(0.0, 1e-4)}, 0.5, "did not fall"),
        ({"learns": math.nan}, 0.5, "not finite"),
        ({"masks": itertools.repeat(0.0)}, 0.5, "no dropout"),
        ({"forgets": 0.03}, 0.5, "did not lower the loss"),
    ],
    ids=["a bad step", "other weights", "no step", "a bad loss", "no dropout", "not by its masks"],
)
def test_a_step_that_does_not_train_network_c_is_a_wrong_result(
    loop: Loop, fields: dict[str, Any], last: float, complaint: str
) -> None:
    prepared = prepare("own-loop")
    for name, value in fields.items():
        setattr(loop, name, value)
    assert complaint in hear(WrongResult, prepared.check, last)


def run_script(
    monkeypatch: pytest.MonkeyPatch,
    *,
    made: int = 1000,
    losses: tuple[float, ...] = (0.6935, 0.693),
) -> list[Printed]:
    model = SimpleNamespace(
        optimizer=SimpleNamespace(iterations=SimpleNamespace(numpy=lambda: made)),
        trainable_variables=[SimpleNamespace(value="a kernel")],
    )
    monkeypatch.setattr(script, "run", lambda: ([9.0, 3.0], list(losses), model))
    asked = [CELLS["epoch-2"].params, CELLS["script"].params]
    return dropout.post(device="/GPU:0", asked=asked)


def test_the_script_prints_its_first_epoch_and_its_second(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = run_script(monkeypatch)
    assert [stage.seconds for stage in printed] == [3.0, 9.0]
    assert all(stage.tensors() == ["a kernel"] for stage in printed)
    assert "1000 steps" in printed[0].check().what


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"made": 999}, "999 steps in 2 epochs, expected 500 each"),
        ({"losses": (0.693,)}, "1000 steps in 1 epochs"),
        ({"losses": (0.6935, 0.5)}, "where guessing has 0.693147"),
        ({"losses": (0.6935, 0.72)}, "where guessing has"),
        ({"losses": (math.nan, 0.693)}, "where guessing has"),
    ],
)
def test_a_script_whose_losses_can_not_be_is_a_wrong_result(
    monkeypatch: pytest.MonkeyPatch, words: dict[str, Any], complaint: str
) -> None:
    assert complaint in hear(WrongResult, run_script(monkeypatch, **words)[0].check)
