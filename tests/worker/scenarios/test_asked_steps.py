"""The waterfalls as done: what each stage makes TensorFlow do, and that nothing else changes."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.cells.scenario import Ops
from suite.model import Check
from suite.worker.scenario.scenario import Prepared, WrongResult
from suite.worker.scenarios.mlp.networks import B
from suite.worker.scenarios.mlp.training import TRAINING_PROOF
from suite.worker.scenarios.scripts import loops
from tests.fakes.device import Scopes, install
from tests.worker.verdict import hear


@dataclass
class Script(Scopes):
    """A stand-in for TensorFlow, a network and its trainer, which writes down how a loop used them."""

    model: str | None = "nowhere"
    trainer: str | None = "nowhere"
    steps: list[dict[str, Any]] = field(default_factory=list)
    fetched: int = 0
    checked: list[str | None] = field(default_factory=list)
    made: dict[str, bool] = field(default_factory=dict)

    def constant(self, array: Any) -> Any:
        return SimpleNamespace(
            array=array, dtype=array.dtype, shape=array.shape, device=self.scopes[-1]
        )

    def build(self, network: Any, device: str | None) -> str:
        assert network is B
        self.model = device
        return "the model"

    def train(
        self, network: Any, model: str, device: str | None, *, handed: bool, built: bool
    ) -> Any:
        assert (network, model) == (B, "the model")
        self.trainer = device
        self.made = {"handed": handed, "built": built}
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

    def check(self, last: Any, inputs: Any, labels: Any, *, brief: bool) -> Check:
        assert not brief
        self.checked.append(self.scopes[-1])
        if not np.isfinite(float(last)):
            raise WrongResult(f"as a trainer does: {float(last)}")
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
    monkeypatch.setattr(loops, "build", made.build)
    monkeypatch.setattr(loops, "Trainer", made.train)
    return made


WARM_STAGES = loops.SLICES.stages[1:]
"""Those behind the script, which is no loop of ours."""


def observe(script: Script, stage: str, on: str) -> tuple[dict[str, Any], Prepared]:
    """What one call of a stage was seen to do, on a machine with a GPU."""
    script.steps.clear()
    script.fetched = 0
    prepared = loops.prepare_slices(device="/GPU:0", stage=stage, on=on)
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
        "enqueues": prepared.enqueues,
        **script.made,
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
    seen = [observe(script, stage.name, on)[0] for stage in WARM_STAGES]
    assert seen[0] == {
        "scope": named,
        "enqueues": False,
        "types": ("float64", "int64"),
        "data": "host",
        "batch": ((10, 100), (10,)),
        "handed": True,
        "built": False,
        "model": None,
        "fetches": 1.0,
        "steps": 100,
    }
    changes = [
        {key: after[key] for key in after if after[key] != before[key]}
        for before, after in itertools.pairwise(seen)
    ]
    assert changes == [
        {"built": True},
        {"handed": False},
        {"batch": ((10, 100), (10, 1))},
        {},
        {"model": place},
        {"types": ("float32", "int64")},
        {"fetches": 0.0},
        {"data": place, "enqueues": True},
        {"batch": ((512, 100), (512, 1)), "steps": 1},
    ]


EARLY = ("trained", "built", "closure", "naive", "traced")
"""The stages whose model is made outside of ``tf.device``."""


def test_updates_are_looked_for_where_the_model_is() -> None:
    for scenario in loops.SCENARIOS[: len(loops.SLICES.stages)]:
        for cell in scenario.cells():
            proof, away = scenario.proof_of(cell.params), cell.params["on"] == "cpu"
            assert isinstance(proof, Ops)
            if away and cell.params["stage"] in ("script", *EARLY):
                assert proof.groups == TRAINING_PROOF.groups[:1]
            else:
                assert proof == TRAINING_PROOF


@pytest.mark.parametrize(
    ("stage", "made", "losses", "complaint"),
    [
        ("no-fetch", 99, [0.5] * 100, "not a multiple of 100"),
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
    assert complaint in hear(WrongResult, prepared.check, losses)


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
    prepared = loops.prepare_dataset(device="/GPU:0", stage=stage, on=on)
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
