"""A script in this process: run first and once, then proven, and what becomes of its cells."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from suite.cells.scenario import Ops
from suite.model import AT_END, CellResult, Check
from suite.worker.proof import facts, gpu, libraries
from suite.worker.scenario.scenario import Printed, WrongResult
from suite.worker.scenarios.scripts.waterfall import placed
from suite.worker.session import script, startup
from suite.worker.session.cell import Request
from tests.fakes.scenarios import make_up

PRODUCT = Ops(groups=(("MatMul",),))


@dataclass
class Scene:
    """What happened, in order; and what a script printed of each half."""

    log: list[Any] = field(default_factory=list)
    printed: dict[str, Any] = field(default_factory=dict)
    results: dict[str, CellResult] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)

    def send(self, record: str, **fields: Any) -> None:
        self.log.append((record, fields.get("id")))
        if record == "cell":
            self.results[fields["cell"].params["on"]] = fields["cell"]
        if record == "facts":
            self.facts = fields["facts"]

    def script(self, *, device: str, asked: Sequence[Mapping[str, Any]]) -> list[Printed]:
        self.log.append("script")
        if "raises" in self.printed:
            raise RuntimeError("a script that fails")
        return [self.print_half(device, one["on"]) for one in asked]

    def print_half(self, device: str, on: Any) -> Printed:
        place = placed(device, on).lstrip("/")
        return Printed(
            **{
                "seconds": 0.25 if on == "cpu" else 0.125,
                "check": lambda: Check(what="fine"),
                "again": lambda: [("MatMul", place, "product"), ("Mul", "CPU:0", "other")],
                **{name: value for name, value in self.printed.items() if name != "proof"},
            }
        )

    def run(self, *ons: str, on_gpu: bool = True) -> None:
        made = make_up(
            [{"on": on} for on in ons],
            script=self.script,
            process="made.up",
            one_shot=True,
            device=lambda on: on,
            proof=self.printed.get("proof", PRODUCT),
        )
        requests = [Request(scenario=made, cell=cell, calls=None) for cell in made.cells()]
        script.measure(self.send, requests, {"cache.start": 1}, on_gpu=on_gpu)


@pytest.fixture
def scene(tensorflow: Any, monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene()

    def note(what: str, value: Any) -> Callable[..., Any]:
        def look(*_: Any) -> Any:
            made.log.append(what)
            return value

        return look

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    keras = SimpleNamespace(Model=None)
    monkeypatch.setattr(sys.modules["tensorflow"], "keras", keras, raising=False)
    monkeypatch.setattr(facts, "tensorflow_facts", note("look", {"tensorflow.version": "0"}))
    monkeypatch.setattr(facts, "content_hash", lambda: "c")
    monkeypatch.setattr(libraries, "cache_facts", lambda when: {f"cache.{when}": 1})
    monkeypatch.setattr(startup, "demand_gpu", note("demand", None))
    monkeypatch.setattr(gpu, "find_trouble", note("prove", None))
    monkeypatch.setattr(gpu, "loaded_versions", dict)
    return made


def test_a_script_is_run_before_anything_is_looked_at(scene: Scene) -> None:
    scene.run("cpu", "arm")
    assert scene.log == [
        ("startup", None),
        ("cell_started", "made.up/on=cpu"),
        "script",
        *("look", "demand", "prove"),
        ("facts", None),
        ("cell", None),
        ("cell_started", "made.up/on=arm"),
        ("cell", None),
    ]
    assert scene.facts[AT_END] == "fine"
    assert scene.facts["cache.start"] == scene.facts["cache.end"] == 1
    by_half = scene.results
    assert {on: one.samples_s for on, one in by_half.items()} == {"cpu": [0.25], "arm": [0.125]}
    for on, place in (("cpu", "CPU:0"), ("arm", "GPU:0")):
        one = by_half[on]
        assert (one.outcome, one.calls_per_sample, one.warmup_status) == ("measured", 1, "cold")
        assert one.placement[place] >= 1
        assert one.started is not None
        assert one.ended is not None
    assert by_half["cpu"].elsewhere == []
    assert by_half["arm"].elsewhere == ["Mul on CPU:0 ×1"]
    assert by_half["arm"].evidence == {}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_without_a_gpu_none_is_touched(scene: Scene) -> None:
    scene.printed = {"traces": 2}
    scene.run("arm", on_gpu=False)
    assert scene.results["arm"].evidence == {"traces": 2.0}
    assert [one for one in scene.log if one in {"demand", "prove"}] == []
    assert scene.results["arm"].placement == {"CPU:0": 2}
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "-1"
    assert AT_END not in scene.facts


def fail() -> Any:
    raise WrongResult("no good")


def raise_value() -> Any:
    raise ValueError("broken")


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ({"raises": True}, "RuntimeError: a script that fails"),
        ({"check": fail}, "wrong result: no good"),
        ({"check": raise_value}, "ValueError: broken"),
        ({"again": raise_value}, "ValueError: broken"),
        ({"again": list}, "placement not proven: no MatMul node was executed in a graph"),
        ({"again": lambda: [("MatMul", "CPU:0", "soft")]}, "ran elsewhere: MatMul soft on CPU:0"),
        (
            {
                "proof": "results",
                "tensors": lambda: [SimpleNamespace(device="CPU:0")],
            },
            "eager work that belongs on GPU:0 ran on CPU:0",
        ),
    ],
)
def test_what_a_script_does_wrong_costs_its_numbers(
    scene: Scene, printed: dict[str, Any], reason: str
) -> None:
    scene.printed = printed
    scene.run("arm")
    result = scene.results["arm"]
    assert (result.outcome, result.samples_s) == ("failed", [])
    assert reason in str(result.reason)


def test_an_arm_without_its_gpu_is_refused_when_the_script_is_over(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Any) -> None:
        raise startup.Refused("TensorFlow sees no GPU here")

    monkeypatch.setattr(startup, "demand_gpu", refuse)
    with pytest.raises(startup.Refused):
        scene.run("cpu", "arm")
    assert not scene.results
