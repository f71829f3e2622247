"""Which precisions a device has, and TF32's switch, which never outlives its cell."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from suite.cells.cell import Work
from suite.cells.scenario import Point, Results, Scenario
from suite.model import Check
from suite.worker.loop import trace
from suite.worker.loop.measure import Loop
from suite.worker.proof import precision
from suite.worker.proof.precision import demand, explain_lack, switch
from suite.worker.scenario.scenario import Inapplicable, Prepared, WrongResult
from suite.worker.scenarios.matmul import square
from suite.worker.session.cell import Request, Times
from suite.worker.session.session import Runner
from tests.fakes.device import FakeDevice, FakeTensorFlow

AMPERE, TURING, PASCAL = (8, 0), (7, 5), (6, 1)


@pytest.mark.parametrize(
    ("name", "capability", "flags"),
    [
        ("fp32", None, []),
        ("fp32", PASCAL, []),
        ("tf32", AMPERE, []),
        ("tf32", (12, 0), []),
        ("bf16", AMPERE, []),
        ("fp16", AMPERE, []),
        ("fp16", TURING, []),
        ("bf16", None, ["avx512f", "avx512_bf16"]),
        ("bf16", None, ["amx_bf16"]),
        ("fp16", None, ["avx512_fp16"]),
    ],
)
def test_a_device_has(name: str, capability: tuple[int, int] | None, flags: list[str]) -> None:
    assert explain_lack(name, capability=capability, flags=flags) is None


@pytest.mark.parametrize(
    ("name", "capability", "flags", "reason"),
    [
        ("tf32", TURING, [], "GPUs have tf32 from compute capability 8.0 on; this one has 7.5"),
        ("bf16", TURING, ["avx512_bf16"], "bf16 from compute capability 8.0 on"),
        ("fp16", PASCAL, [], "fp16 from compute capability 7.0 on; this one has 6.1"),
        ("tf32", (0, 0), [], "this one has unknown"),
        ("tf32", None, ["avx512_bf16", "amx_bf16"], "a CPU has no tf32"),
        ("bf16", None, ["avx2", "avx512f", "avx512_fp16"], "none of avx512_bf16, amx_bf16"),
        ("fp16", None, ["f16c", "avx512_bf16"], "TensorFlow would emulate it"),
    ],
)
def test_a_device_lacks(
    name: str, capability: tuple[int, int] | None, flags: list[str], reason: str
) -> None:
    found = explain_lack(name, capability=capability, flags=flags)
    assert found is not None
    assert reason in found


def test_what_is_no_precision_is_no_device_s_lack() -> None:
    with pytest.raises(ValueError, match="no such precision: fp8"):
        explain_lack("fp8", capability=AMPERE, flags=[])


def test_every_precision_of_a_cell_has_its_type_tolerance_and_needs() -> None:
    assert set(precision.STORED) == set(square.TOLERANCE) == {"fp32", *square.LOW}
    assert set(precision.CAPABILITIES) == set(square.LOW)
    assert set(square.LEAST_ERROR) == {"tf32"}, "the one that is stored as another"


class Gpu:
    """As much of TensorFlow as tells a GPU's capability and turns TF32 on and off."""

    def __init__(self, capability: tuple[int, int] | None) -> None:
        self.switched: list[bool] = []
        self.module = cast(Any, ModuleType("tensorflow"))
        details = {} if capability is None else {"compute_capability": capability}
        self.module.config = SimpleNamespace(
            get_visible_devices=lambda kind: [f"the {kind}"],
            experimental=SimpleNamespace(
                get_device_details=lambda _: details,
                enable_tensor_float_32_execution=self.switched.append,
            ),
        )


@pytest.fixture
def ampere(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    gpu = Gpu(AMPERE)
    monkeypatch.setitem(sys.modules, "tensorflow", gpu.module)
    return gpu


def test_a_cell_goes_on_where_its_device_has_the_precision(ampere: Gpu) -> None:
    for name in precision.STORED:
        demand(name, "/GPU:0")
    assert ampere.switched == []


@pytest.mark.parametrize("capability", [TURING, None])
def test_a_cell_does_not_apply_where_its_device_lacks_the_precision(
    capability: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", Gpu(capability).module)
    with pytest.raises(Inapplicable, match=r"compute capability 8\.0"):
        demand("tf32", "/GPU:0")


def test_a_cpu_is_asked_by_its_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "cpu_flags", lambda: ["avx2"])
    demand("fp32", "/CPU:0")
    with pytest.raises(Inapplicable, match="TensorFlow would emulate it"):
        demand("bf16", "/CPU:0")
    monkeypatch.setattr(precision, "cpu_flags", lambda: ["amx_bf16"])
    demand("bf16", "/CPU:0")


def test_tf32_is_switched_on_and_off_again_and_nothing_else_touches_it(ampere: Gpu) -> None:
    for name in ("fp32", "bf16", "fp16"):
        switch(name)()
    assert ampere.switched == []
    switch_back = switch("tf32")
    assert ampere.switched == [True]
    switch_back()
    assert ampere.switched == [True, False]


@pytest.fixture
def tensorflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTensorFlow]:
    monkeypatch.setattr(trace, "trace", lambda _step, _fence, _call_s: {})
    yield FakeTensorFlow().install(monkeypatch)
    gc.unfreeze()


def fine(_: Any) -> Check:
    return Check(what="fine")


def wrong(_: Any) -> Check:
    raise WrongResult("off by 7")


def breaks() -> object:
    raise RuntimeError("the device broke")


@pytest.mark.parametrize(
    ("step", "check", "budget_s", "outcome"),
    [
        (None, fine, 2.0, "measured"),
        (None, wrong, 2.0, "failed"),
        (breaks, fine, 2.0, "failed"),
        (None, fine, 1e-9, "skipped"),
    ],
    ids=["measured", "wrong", "broken", "over budget"],
)
def test_whatever_becomes_of_a_cell_tf32_is_off_behind_it(
    step: Any, check: Any, budget_s: float, outcome: str, tensorflow: FakeTensorFlow
) -> None:
    device = FakeDevice()

    def prepare(*, device: str, precision: str) -> Prepared:
        assert device == "/GPU:0"
        return Prepared(step=step or made_step, check=check, proof=None, close=switch(precision))

    made_step = device.step
    scenario = Scenario(
        family="made",
        case="up",
        about="Made up.",
        question="{precision}?",
        axes=("precision",),
        points=(Point(params={"precision": "tf32"}, profiles=("full",)),),
        work=lambda **_: Work(amount=1.0, unit="call"),
        prepare=prepare,
        role="work",
        kin="made up",
        proof=Results(),
    )
    loop = Loop(clock=device.clock, fence=device.fence)
    times = Times(warmup_s=0.02, measure_s=0.02, budget_s=budget_s)
    runner = Runner(loop, "/GPU:0", times, {})
    result = runner.run(Request(scenario=scenario, cell=scenario.cells()[0], calls=None))
    assert result.outcome == outcome
    assert tensorflow.tf32 == [True, False]
