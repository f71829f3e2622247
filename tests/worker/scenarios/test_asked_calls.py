"""The waterfalls as done, by products, clones and Keras's own training."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.worker.scenario.scenario import Prepared, WrongResult
from suite.worker.scenarios.mlp import loop
from suite.worker.scenarios.mlp.networks import A, B, examples, weights
from suite.worker.scenarios.mlp.training import (
    CHECK_TOLERANCE,
    LOSSES,
    demand_reference,
    name_training,
)
from suite.worker.scenarios.scripts import clones, fit, products
from tests.fakes.device import Scopes, install
from tests.worker.scenarios.test_asked_steps import Pipeline
from tests.worker.verdict import hear


class Matrix:
    """A tensor by the letter: what it holds, and where it was made."""

    def __init__(self, array: Any, device: str | None) -> None:
        self.array, self.device = array, device or "/GPU:0"

    def numpy(self) -> Any:
        return self.array


@dataclass
class Algebra(Scopes):
    """A stand-in for TensorFlow's random numbers and products, which counts them."""

    drawn: int = 0
    off: float = 0.0

    def normal(self, shape: tuple[int, int]) -> Matrix:
        self.drawn += 1
        source = np.random.default_rng(self.drawn)
        return Matrix(source.standard_normal(shape, dtype=np.float32), self.scopes[-1])

    def matmul(self, left: Matrix, right: Matrix) -> Matrix:
        return Matrix(left.array @ right.array + np.float32(self.off), self.scopes[-1])


@pytest.fixture
def algebra(monkeypatch: pytest.MonkeyPatch) -> Algebra:
    made = Algebra()
    normal = SimpleNamespace(normal=made.normal)
    install(monkeypatch, device=made.device, matmul=made.matmul, random=normal)
    return made


@pytest.mark.parametrize("on", ["arm", "cpu"])
@pytest.mark.parametrize(
    ("stage", "before", "inside"),
    [("naive", 0, 2), ("first-call-apart", 0, 2), ("warm", 2, 0)],
)
def test_operands_are_created_where_the_stage_says(
    algebra: Algebra, stage: str, before: int, inside: int, on: str
) -> None:
    prepared = products.prepare(device="/GPU:0", n=20, stage=stage, on=on)
    assert algebra.drawn == before
    for call in (1, 2):
        made: Any = prepared.step()
        assert algebra.drawn == before + call * inside
    assert prepared.tensors(made) == made
    assert {one.device for one in made} == {"/GPU:0" if on == "arm" else "/CPU:0"}
    assert "Freivalds" in prepared.check(made).what


def test_a_wrong_or_empty_product_is_caught(algebra: Algebra) -> None:
    prepared = products.prepare(device="/CPU:0", n=20, stage="naive", on="arm")
    algebra.off = 0.5
    assert "fp32 allows" in hear(WrongResult, prepared.check, prepared.step())
    zeros = Matrix(np.zeros((20, 20), np.float32), None)
    assert "constant" in hear(WrongResult, prepared.check, [zeros] * 3)
    # One by one has no spread to demand.
    algebra.off = 0.0
    single = products.prepare(device="/CPU:0", n=1, stage="naive", on="arm")
    assert single.check(single.step()).value is None


class Copy:
    """A network of made-up weights, and what it answers."""

    def __init__(self, arrays: list[Any], answer: float = 0.1) -> None:
        self.arrays, self.answer = arrays, answer
        self.weights = [SimpleNamespace(value=Matrix(array, None)) for array in arrays]

    def get_weights(self) -> list[Any]:
        return self.arrays

    def __call__(self, inputs: Any) -> Matrix:
        return Matrix(np.full((len(inputs), 10), self.answer), None)


@pytest.fixture
def clone(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Prepared]:
    source = Copy(weights(B))
    monkeypatch.setattr(clones, "build", lambda *_: source)

    def prepare(copy: Any) -> Prepared:
        models = SimpleNamespace(clone_model=lambda given: given if copy is None else copy)
        install(monkeypatch, device=Scopes().device, keras=SimpleNamespace(models=models))
        return clones.prepare(device="/CPU:0", stage="again", on="arm")

    return prepare


@pytest.mark.parametrize(
    ("copy", "said"),
    [
        (Copy(weights(B)), "of its own"),
        (None, "shares a weight"),
        (Copy(weights(B)[:2]), "shapes"),
        (Copy(weights(B), answer=float("nan")), "do not sum to 1"),
    ],
    ids=["its own", "the source itself", "too few weights", "no probabilities"],
)
def test_a_clone_that_is_none_is_caught(
    clone: Callable[[Any], Prepared], copy: Any, said: str
) -> None:
    prepared = clone(copy)
    made: Any = prepared.step()
    assert said in hear(WrongResult, prepared.check, made)
    assert prepared.tensors(made) == [one.value for one in made.weights]


@dataclass(eq=False)
class Model(Scopes):
    """A stand-in for network A and for Keras: counts epochs, and learns a little in each."""

    steps: int = 20
    epochs: int = 0
    made: int = 0
    begins: float = 0.7
    learns: float = 0.1
    fits: list[str | None] = field(default_factory=list)
    compiled: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        iterations = SimpleNamespace(numpy=lambda: self.made)
        self.optimizer = SimpleNamespace(iterations=iterations, variables=[])

    def compile(self, **words: Any) -> None:
        self.compiled = words

    def fit(self, dataset: Any, *, verbose: int, epochs: int = 1, shuffle: bool = True) -> Any:
        assert (epochs, verbose) == (1, 0)
        assert shuffle or dataset.done == ["batch", "repeat"]
        self.fits.append(self.scopes[-1])
        self.epochs += 1
        self.made += self.steps
        return SimpleNamespace(history={"loss": [self.begins - self.learns * self.epochs]})

    def evaluate(self, dataset: Any, *, verbose: int) -> float:
        # As often as there are steps in an execution: a partial one has wrong losses in some versions.
        assert (dataset.done, verbose) == (["batch", "repeat"], 0)
        return self.begins - self.learns * self.epochs

    def set_weights(self, _: Any) -> None:
        self.epochs = 0


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Model:
    made = Model()
    pipeline = SimpleNamespace(from_tensor_slices=Pipeline)
    install(
        monkeypatch,
        device=made.device,
        data=SimpleNamespace(Dataset=pipeline, AUTOTUNE=-1),
        keras=SimpleNamespace(optimizers=SimpleNamespace(Adam=lambda rate, **_: rate)),
    )
    monkeypatch.setattr(fit, "build", lambda *_: made)
    monkeypatch.setattr(fit, "loss_of", lambda _: "a loss")
    monkeypatch.setattr(loop, "demand_reference", lambda *_, **__: None)
    return made


def prepare_fit(stage: str, batch: int = 512, prefetch: str = "on", on: str = "arm") -> Prepared:
    return fit.prepare(device="/GPU:0", stage=stage, batch=batch, prefetch=prefetch, on=on)


@pytest.mark.parametrize(
    ("stage", "untimed"), [("epoch-1", 0), ("epoch-2", 1), ("epoch-3", 2), ("steady", 0)]
)
@pytest.mark.parametrize(("on", "scope"), [("arm", None), ("cpu", "/CPU:0")])
def test_the_epochs_before_the_one_that_is_timed_are_a_run_up(
    model: Model, stage: str, untimed: int, on: str, scope: str | None
) -> None:
    prepared = prepare_fit(stage, on=on)
    assert (prepared.warm_start is None) == (untimed == 0)
    if prepared.warm_start is not None:
        prepared.warm_start()
    assert model.epochs == untimed
    last = prepared.step()
    assert model.epochs == untimed + 1
    # The CPU is named in every epoch, and only there.
    assert model.fits == [scope] * model.epochs
    assert model.compiled["jit_compile"] is False
    # The check's own fit comes after one epoch's worth of what this model learns.
    assert prepared.check(last).value == pytest.approx(0.6)
    assert model.fits[-1] == scope


@pytest.mark.parametrize("off", [0.0, 0.0009, -0.01])
def test_what_fit_trains_is_held_against_numpys(
    model: Model, monkeypatch: pytest.MonkeyPatch, off: float
) -> None:
    """By seeded steps on the first batch; Keras's own defaults show in them."""
    monkeypatch.setattr(loop, "demand_reference", demand_reference)
    first = [array[:512] for array in examples(A, A.examples)]
    before, after = (LOSSES[name_training(A, *first, steps)] for steps in (1, 33))
    # By this model's reckoning all of them are one epoch.
    model.begins, model.learns = before, before - after * (1 + off)
    prepared = prepare_fit("steady")
    said = hear(WrongResult, prepared.check, prepared.step())
    assert ("(step 33; 0.001 of it is allowed)" in said) == (abs(off) > CHECK_TOLERANCE)
    assert ("32 seeded steps is NumPy's" in said) == (abs(off) < CHECK_TOLERANCE)


def test_a_script_whose_keras_trains_otherwise_is_told(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "demand_reference", demand_reference)
    losses = {"/CPU:0": [0.7, 0.6, 0.5]}
    run = {"/CPU:0": [3.0, 2.0, 1.0]}, losses, model, "a dataset"
    printed = fit._bear_out(run, "/CPU:0", epoch=2)
    assert printed.seconds == 2.0
    assert "where NumPy's reference is" in hear(WrongResult, printed.check)
    losses["/CPU:0"].pop()
    assert "2 epochs were made, not 3" in hear(WrongResult, printed.check)


def test_a_brief_check_counts_steps_and_looks_at_losses_alone(model: Model) -> None:
    prepared = prepare_fit("steady")
    last = prepared.step()
    assert prepared.brief is not None
    assert prepared.brief(last).what == "20 steps an epoch; losses finite, the last in range"
    model.steps = 21
    prepared = prepare_fit("steady")
    assert prepared.brief is not None
    prepared.step()
    assert "41 steps in 1 epochs, expected 20 each" in hear(WrongResult, prepared.brief, last)


def test_a_last_partial_batch_counts_as_a_step(model: Model) -> None:
    model.steps = 1250
    prepared = prepare_fit("steady", batch=8)
    assert prepared.check(prepared.step()).what.startswith("1250 steps an epoch")


@pytest.mark.parametrize(
    ("stage", "fields", "complaint"),
    [
        ("epoch-1", {"learns": 0.0}, "did not lower"),
        ("epoch-1", {"learns": float("nan")}, "not finite"),
        ("steady", {"steps": 19}, "expected 20 each"),
        ("epoch-2", {}, "1 epochs were made"),
    ],
)
def test_a_fit_that_is_not_what_it_says_is_a_wrong_result(
    model: Model, stage: str, fields: dict[str, Any], complaint: str
) -> None:
    prepared = prepare_fit(stage)
    for name, value in fields.items():
        setattr(model, name, value)
    assert complaint in hear(WrongResult, prepared.check, prepared.step())
