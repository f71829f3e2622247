"""Which precisions a device has, and TF32's switch, which never outlives its cell."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker.proof import precision
from suite.worker.proof.precision import demand, explain_lack, find_default, switch
from suite.worker.scenario.scenario import Inapplicable, Prepared, WrongResult
from suite.worker.scenarios import matmul
from suite.worker.scenarios.mlp import train, training
from tests.fakes.device import FakeTensorFlow, install
from tests.worker.session.test_session import Bench, raising
from tests.worker.verdict import hear

AMPERE, TURING, PASCAL = (8, 0), (7, 5), (6, 1)


@pytest.mark.parametrize(
    ("name", "capability", "flags", "lack"),
    [
        ("fp32", None, [], None),
        ("fp32", PASCAL, [], None),
        ("tf32", (12, 0), [], None),
        ("bf16", AMPERE, [], None),
        ("fp16", TURING, [], None),
        ("bf16", None, ["amx_bf16"], None),
        ("fp16", None, ["avx512_fp16"], None),
        ("tf32", TURING, [], "GPUs have tf32 from compute capability 8.0 on; this one has 7.5"),
        ("bf16", TURING, ["avx512_bf16"], "bf16 from compute capability 8.0 on"),
        ("fp16", PASCAL, [], "fp16 from compute capability 7.0 on; this one has 6.1"),
        ("tf32", (0, 0), [], "this one has unknown"),
        ("tf32", None, ["avx512_bf16", "amx_bf16"], "a CPU has no tf32"),
        ("bf16", None, ["avx2", "avx512f", "avx512_fp16"], "none of avx512_bf16, amx_bf16"),
        ("fp16", None, ["f16c", "avx512_bf16"], "TensorFlow would emulate it"),
    ],
)
def test_a_device_has_or_lacks(
    name: str, capability: tuple[int, int] | None, flags: list[str], lack: str | None
) -> None:
    found = explain_lack(name, capability=capability, flags=flags)
    assert found is None if lack is None else lack in (found or "")


def test_every_precision_of_a_cell_has_its_type_tolerance_and_needs() -> None:
    assert set(precision.STORED) == set(matmul.TOLERANCE) == {"fp32", *matmul.LOW}
    assert set(precision.CAPABILITIES) == set(matmul.LOW)
    assert set(training.TOLERANCES) == {"fp32", *train.LOW}
    assert set(matmul.LEAST_ERROR) == {"tf32"}, "the one that is stored as another"


@pytest.mark.parametrize(
    ("device", "details", "flags", "said"),
    [
        ("/GPU:0", {"compute_capability": AMPERE}, [], "None"),
        ("/GPU:0", {"compute_capability": TURING}, [], "compute capability 8.0"),
        ("/GPU:0", {}, ["amx_bf16"], "compute capability 8.0"),
        ("/CPU:0", {}, ["amx_bf16"], "None"),
        ("/CPU:0", {}, ["avx2"], "TensorFlow would emulate it"),
    ],
)
def test_a_cell_applies_where_its_device_has_the_precision(
    device: str,
    details: Any,
    flags: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Asking turns no switch, which this TensorFlow lacks.
    experimental = SimpleNamespace(get_device_details=lambda _: details)
    config = SimpleNamespace(get_visible_devices=lambda _: ["a GPU"], experimental=experimental)
    install(monkeypatch, config=config)
    monkeypatch.setattr(precision, "cpu_flags", lambda: flags)
    demand("fp32", device)
    assert said in hear(Inapplicable, demand, "bf16", device)


@pytest.mark.parametrize(
    ("device", "details", "switched_on", "default"),
    [
        ("/GPU:0", {"compute_capability": (9, 0)}, True, "tf32"),
        ("/GPU:0", {"compute_capability": AMPERE}, True, "tf32"),
        ("/GPU:0", {"compute_capability": AMPERE}, False, "fp32"),
        ("/GPU:0", {"compute_capability": TURING}, True, "fp32"),
        ("/GPU:0", {}, True, "fp32"),
        ("/CPU:0", {"compute_capability": AMPERE}, True, "fp32"),
    ],
)
def test_a_script_multiplies_in_tf32_where_its_gpu_has_it_and_nobody_switched_it_off(
    device: str, details: Any, switched_on: bool, default: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experimental = SimpleNamespace(
        get_device_details=lambda _: details,
        tensor_float_32_execution_enabled=lambda: switched_on,
    )
    config = SimpleNamespace(get_visible_devices=lambda _: ["a GPU"], experimental=experimental)
    install(monkeypatch, config=config)
    assert find_default(device) == default


def test_nothing_but_tf32_touches_its_switch(on_gpu: FakeTensorFlow) -> None:
    for name in ("fp32", "bf16", "fp16"):
        switch(name)()
    assert on_gpu.tf32 == []


@pytest.mark.parametrize(
    ("fields", "budget_s", "outcome"),
    [
        ({}, 2.0, "measured"),
        ({"check": raising(WrongResult("off by 7"))}, 2.0, "failed"),
        ({"warm_start": raising(RuntimeError("the device broke"))}, 2.0, "failed"),
        ({}, 1e-9, "skipped"),
    ],
)
def test_whatever_becomes_of_a_cell_tf32_is_off_behind_it(
    fields: dict[str, Any], budget_s: float, outcome: str, on_gpu: FakeTensorFlow
) -> None:
    class Switched(Bench):
        def prepare(self, *, device: str, n: int) -> Prepared:
            return replace(super().prepare(device=device, n=n), close=switch("tf32"))

    assert Switched(**fields).run(device="/GPU:0", budget_s=budget_s).outcome == outcome
    assert on_gpu.tf32 == [True, False]
