"""The waterfalls as done: what each stage makes TensorFlow do, and that nothing else changes."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.cells.scenario import Ops
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, TensorProof, WrongResult
from suite.worker.scenarios.asked import clones, dataset, fit, products, slices
from suite.worker.scenarios.mlp.networks import A, B, weights
from suite.worker.scenarios.mlp.reference import demand_reference
from suite.worker.scenarios.mlp.training import CHECK_TOLERANCE, TRAINING_PROOF


@dataclass
class Scopes:
    """``tf.device``, and which one is named now."""

    scopes: list[str | None] = field(default_factory=lambda: [None])

    @contextmanager
    def device(self, name: str | None) -> Iterator[None]:
        self.scopes.append(name)
        yield
        self.scopes.pop()


def install(monkeypatch: pytest.MonkeyPatch, **names: Any) -> Any:
    """Puts these names where ``import tensorflow`` looks."""
    module = ModuleType("tensorflow")
    for name, value in names.items():
        setattr(module, name, value)
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    return module


@dataclass
class Script(Scopes):
    """A stand-in for TensorFlow, a network and its trainer, which writes down how a loop used them."""

    model: str | None = "nowhere"
    trainer: str | None = "nowhere"
    steps: list[dict[str, Any]] = field(default_factory=list)
    fetched: int = 0
    checked: list[str | None] = field(default_factory=list)

    def constant(self, array: Any) -> Any:
        return SimpleNamespace(
            array=array, dtype=array.dtype, shape=array.shape, device=self.scopes[-1]
        )

    def build(self, network: Any, device: str | None) -> str:
        assert network is B
        self.model = device
        return "the model"

    def train(self, network: Any, model: str, device: str | None) -> Any:
        assert (network, model) == (B, "the model")
        self.trainer = device
        self.optimizer = SimpleNamespace(
            iterations=SimpleNamespace(numpy=lambda: len(self.steps)),
        )
        return self

    def step(self, inputs: Any, labels: Any) -> Any:
        self.steps.append(
            {
                "scope": self.scopes[-1],
                "types": (str(inputs.dtype), str(labels.dtype)),
                "data": "host" if isinstance(inputs, np.ndarray) else inputs.device,
                "batch": (inputs.shape, labels.shape),
            }
        )
        return Loss(self)

    def check(self, inputs: Any, labels: Any) -> Check:
        self.checked.append(self.scopes[-1])
        return Check(what=f"{inputs.shape} and {labels.shape}")

    def traces(self) -> int:
        return 1


class Loss:
    """A loss that knows when Python asks for it."""

    def __init__(self, script: Script) -> None:
        self.script = script

    def numpy(self) -> float:
        self.script.fetched += 1
        return 0.5

    def __float__(self) -> float:
        return 0.5


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    made = Script()
    install(monkeypatch, device=made.device, constant=made.constant)
    for case in (slices, dataset):
        monkeypatch.setattr(case, "build", made.build)
        monkeypatch.setattr(case, "Trainer", made.train)
    return made


def observe(script: Script, stage: str, on: str) -> tuple[dict[str, Any], Prepared]:
    """What one call of a stage was seen to do, on a machine with a GPU."""
    script.steps.clear()
    script.fetched = 0
    prepared = slices.prepare(device="/GPU:0", stage=stage, on=on)
    result = prepared.step()
    assert script.scopes == [None]
    (how,) = {str(one): one for one in script.steps}.values()
    check = prepared.check(result)
    assert str(how["batch"][0]) in check.what
    # What is checked is the trace that is timed: traces are told apart by the device named.
    assert script.checked[-1] == how["scope"]
    assert script.model == script.trainer
    seen = {
        **how,
        "model": script.model,
        "fetches": script.fetched / len(script.steps),
        "steps": len(script.steps),
    }
    return seen, prepared


@pytest.mark.parametrize("on", ["arm", "cpu"])
def test_the_loop_over_slices_does_what_its_stages_say_and_changes_nothing_else(
    script: Script, on: str
) -> None:
    place = "/GPU:0" if on == "arm" else "/CPU:0"
    named = None if on == "arm" else "/CPU:0"
    seen = [observe(script, stage.name, on)[0] for stage in slices.STAGES]
    assert seen[0] == {
        "scope": named,
        "types": ("float64", "int64"),
        "data": "host",
        "batch": ((10, 100), (10, 1)),
        "model": None,
        "fetches": 1.0,
        "steps": 100,
    }
    changes = [
        {key: after[key] for key in after if after[key] != before[key]}
        for before, after in itertools.pairwise(seen)
    ]
    assert changes == [
        {},
        {"model": place},
        {"types": ("float32", "int64")},
        {"fetches": 0.0},
        {"data": place},
        {"batch": ((512, 100), (512, 1)), "steps": 1},
    ]


def test_updates_are_looked_for_where_the_model_is(script: Script) -> None:
    proofs = {
        (stage.name, on): observe(script, stage.name, on)[1]
        for stage in slices.STAGES
        for on in ("arm", "cpu")
    }
    assert all(prepared.on == on for (_, on), prepared in proofs.items())
    arithmetic = [key for key, prepared in proofs.items() if prepared.proof != TRAINING_PROOF]
    assert arithmetic == [("naive", "cpu"), ("traced", "cpu")]
    for key in arithmetic:
        proof = proofs[key].proof
        assert isinstance(proof, Ops)
        assert proof.groups == TRAINING_PROOF.groups[:1]
    waiting = [stage for (stage, _), prepared in proofs.items() if not prepared.enqueues]
    assert Counter(waiting) == dict.fromkeys(
        ("naive", "traced", "placed", "float32", "no-fetch"), 2
    )


@pytest.mark.parametrize(
    ("stage", "made", "losses", "complaint"),
    [
        ("naive", 99, [0.5] * 100, "no multiple of 100"),
        ("no-fetch", 99, [0.5] * 100, "no multiple of 100"),
        ("no-fetch", 0, [0.5] * 100, "0 steps were made"),
        ("naive", 100, [0.5] * 99, "99 losses were fetched"),
        ("naive", 100, [0.5] * 99 + [float("nan")], "nan"),
    ],
)
def test_steps_that_were_not_made_and_losses_that_are_none_are_a_wrong_result(
    script: Script, stage: str, made: int, losses: list[float], complaint: str
) -> None:
    _, prepared = observe(script, stage, "arm")
    del script.steps[made:]
    with pytest.raises(WrongResult, match=complaint):
        prepared.check(losses)


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
    assert prepared.on == on
    assert isinstance(prepared.proof, TensorProof)
    assert prepared.proof.tensors(made) == made
    assert {one.device for one in made} == {"/GPU:0" if on == "arm" else "/CPU:0"}
    assert "Freivalds" in prepared.check(made).what


def test_a_wrong_or_empty_product_is_caught(algebra: Algebra) -> None:
    prepared = products.prepare(device="/CPU:0", n=20, stage="naive", on="arm")
    algebra.off = 0.5
    with pytest.raises(WrongResult, match="relative error"):
        prepared.check(prepared.step())
    zeros = Matrix(np.zeros((20, 20), np.float32), None)
    with pytest.raises(WrongResult, match="constant"):
        prepared.check([zeros] * 3)
    # One by one has no spread to demand.
    algebra.off = 0.0
    single = products.prepare(device="/CPU:0", n=1, stage="naive", on="arm")
    assert single.check(single.step()).value is None


def test_the_first_clone_is_left_to_the_start_up(algebra: Algebra) -> None:
    with pytest.raises(ValueError, match="start-up"):
        clones.prepare(device="/CPU:0", stage="first", on="arm")


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


def test_a_clone_of_its_own_passes(clone: Callable[[Any], Prepared]) -> None:
    prepared = clone(Copy(weights(B)))
    made: Any = prepared.step()
    assert "of its own" in prepared.check(made).what
    assert isinstance(prepared.proof, TensorProof)
    assert len(prepared.proof.tensors(made)) == 4


@pytest.mark.parametrize(
    ("copy", "complaint"),
    [
        (None, "shares a weight"),
        (Copy(weights(B)[:2]), "shapes"),
        (Copy(weights(B), answer=0.2), "sum to 1"),
        (Copy(weights(B), answer=float("nan")), "sum to 1"),
    ],
    ids=["the source itself", "too few weights", "no probabilities", "no numbers"],
)
def test_a_clone_that_is_none_is_caught(
    clone: Callable[[Any], Prepared], copy: Any, complaint: str
) -> None:
    prepared = clone(copy)
    with pytest.raises(WrongResult, match=complaint):
        prepared.check(prepared.step())


class Pipeline:
    """A dataset that writes down what is done to it, and gives the same batch for ever."""

    def __init__(self, examples: Any) -> None:
        self.examples = examples
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Pipeline]:
        def add(*_: Any, **__: Any) -> Pipeline:
            self.done.append(name)
            return self

        return add

    def __iter__(self) -> Iterator[Any]:
        return itertools.repeat(tuple(part[:32] for part in self.examples))


@pytest.fixture
def pipelines(script: Script, monkeypatch: pytest.MonkeyPatch) -> list[Pipeline]:
    """Every dataset that is made."""
    made: list[Pipeline] = []

    def from_tensor_slices(examples: Any) -> Pipeline:
        made.append(Pipeline(examples))
        return made[-1]

    data = SimpleNamespace(
        Dataset=SimpleNamespace(from_tensor_slices=from_tensor_slices), AUTOTUNE=-1
    )
    monkeypatch.setattr(sys.modules["tensorflow"], "data", data, raising=False)
    return made


@pytest.mark.parametrize("on", ["arm", "cpu"])
@pytest.mark.parametrize(("stage", "fetches"), [("fetch", 3), ("no-fetch", 0)])
def test_the_loop_over_a_dataset_differs_in_fetching_only(
    script: Script, pipelines: list[Pipeline], stage: str, fetches: int, on: str
) -> None:
    prepared = dataset.prepare(device="/GPU:0", stage=stage, on=on)
    (pipeline,) = pipelines
    assert pipeline.done == ["repeat", "batch", "prefetch"]
    assert [len(part) for part in pipeline.examples] == [100_000] * 2
    for _ in range(3):
        last = prepared.step()
    assert script.fetched == fetches
    assert {str(one["batch"]) for one in script.steps} == {"((32, 100), (32, 1))"}
    assert script.model == ("/GPU:0" if on == "arm" else "/CPU:0")
    assert {one["scope"] for one in script.steps} == {None if on == "arm" else "/CPU:0"}
    prepared.check(last)
    assert script.checked == [script.steps[0]["scope"]]
    assert not prepared.enqueues
    prepared.close()
    with pytest.raises(IndexError):
        prepared.step()


@dataclass
class Model(Scopes):
    """A stand-in for network A and for Keras: counts epochs, and learns a little in each."""

    steps: int = 20
    epochs: int = 0
    made: int = 0
    learns: float = 0.1
    fits: list[str | None] = field(default_factory=list)
    compiled: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.optimizer = SimpleNamespace(iterations=SimpleNamespace(numpy=lambda: self.made))

    def compile(self, **words: Any) -> None:
        self.compiled = words

    def fit(self, dataset: Any, *, epochs: int, verbose: int) -> Any:
        assert (epochs, verbose) == (1, 0)
        self.fits.append(self.scopes[-1])
        self.epochs += 1
        self.made += self.steps
        return SimpleNamespace(history={"loss": [0.7 - self.learns * self.epochs]})

    def evaluate(self, *_: Any, **__: Any) -> float:
        return 0.7 - self.learns * self.epochs

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
        keras=SimpleNamespace(optimizers=SimpleNamespace(Adam=lambda rate: rate)),
    )
    monkeypatch.setattr(fit, "build", lambda *_: made)
    monkeypatch.setattr(fit, "loss_of", lambda _: "a loss")
    monkeypatch.setattr(fit, "demand_reference", lambda *_, **__: None)
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
    assert (prepared.run_up is None) == (untimed == 0)
    if prepared.run_up is not None:
        prepared.run_up()
    assert model.epochs == untimed
    last = prepared.step()
    assert model.epochs == untimed + 1
    # The CPU is named in every epoch, and only there.
    assert model.fits == [scope] * model.epochs
    assert prepared.on == on
    assert model.compiled["jit_compile"] is False
    assert prepared.check(last).value == 0.7


def test_the_loss_of_the_seeded_weights_is_held_against_numpys(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any step, on all examples: what this made-up model gives is not it."""
    asked: list[dict[str, Any]] = []

    def demand(network: Any, inputs: Any, labels: Any, **more: Any) -> None:
        asked.append(more)
        assert network is A
        demand_reference(network, inputs, labels, **more)

    monkeypatch.setattr(fit, "demand_reference", demand)
    prepared = prepare_fit("steady")
    with pytest.raises(WrongResult, match=r"loss is 0\.7 where NumPy's reference is 0\.727073"):
        prepared.check(prepared.step())
    assert asked == [{"steps": 1, "loss": 0.7, "tolerance": CHECK_TOLERANCE}]


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
    with pytest.raises(WrongResult, match=complaint):
        prepared.check(prepared.step())
