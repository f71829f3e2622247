"""What TensorFlow is told before it starts, and which GPUs are refused as the arm's device."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker.session import startup
from tests.worker.verdict import hear

CUDA = {"is_cuda_build": True, "cuda_compute_capabilities": ["sm_80", "compute_90"]}


class Config:
    """`tf.config` of a machine with one GPU, which remembers what it was told."""

    def __init__(self, **other: Any) -> None:
        self.told: dict[str, Any] = {}
        found = {"gpus": ["the GPU"], "logical": ["GPU:0"], "capability": (8, 0), "soft": False}
        self.found = {**found, **other}
        told = self.told.__setitem__
        self.threading = SimpleNamespace(
            set_intra_op_parallelism_threads=lambda number: told("intra", number),
            set_inter_op_parallelism_threads=lambda number: told("inter", number),
        )
        self.experimental = SimpleNamespace(
            enable_tensor_float_32_execution=lambda on: told("tf32", on),
            get_device_details=lambda _: {"compute_capability": self.found["capability"]},
            set_memory_growth=lambda _, on: told("growth", on),
        )
        self.list_physical_devices = lambda _: self.found["gpus"]
        self.list_logical_devices = lambda _kind="": self.found["logical"]
        self.set_visible_devices = lambda gpus, _: told("visible", gpus)
        self.set_soft_device_placement = lambda on: told("soft", on)
        self.get_soft_device_placement = lambda: self.found["soft"]


def configure(
    monkeypatch: pytest.MonkeyPatch,
    *,
    gpu: bool,
    build: Any = CUDA,
    loaded: bool = True,
    **other: Any,
) -> tuple[str, dict[str, Any]]:
    """The arm's device, and what TensorFlow was told."""
    monkeypatch.setattr(startup, "is_loaded", lambda _: loaded)
    monkeypatch.setattr(startup, "explain_absence", lambda: "no libcuda")
    config = Config(**other)
    tf = SimpleNamespace(config=config, sysconfig=SimpleNamespace(get_build_info=lambda: build))
    return startup._configure(tf, gpu=gpu), config.told


def test_every_arm_has_its_device_and_the_same_explicit_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device, told = configure(monkeypatch, gpu=True)
    assert (device, told["visible"], told["soft"]) == ("/GPU:0", ["the GPU"], False)
    hidden, other = configure(monkeypatch, gpu=False)
    assert (hidden, other["visible"]) == ("/CPU:0", [])
    assert {other[name] == told[name] for name in ("intra", "inter", "tf32")} == {True}
    assert told["tf32"] is False


@pytest.mark.parametrize(
    ("found", "refusal"),
    [
        ({"build": {}}, "TensorFlow lists a GPU (its build is for CPU only)"),
        ({"build": {}, "gpus": []}, "TensorFlow sees no GPU here (its build is for CPU only)"),
        ({"gpus": []}, "TensorFlow sees no GPU here: no libcuda"),
        ({"capability": (5, 2)}, "older than this TensorFlow was built for"),
        ({"soft": True}, "soft placement can't be switched off"),
        ({"logical": []}, "TensorFlow lists a GPU and can't initialise it"),
        ({"loaded": False}, "without having loaded CUDA's driver"),
    ],
)
def test_a_gpu_that_can_not_be_proven_to_compute_is_refused(
    found: dict[str, Any], refusal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refusal in hear(startup.Refused, configure, monkeypatch, gpu=True, **found)


@pytest.mark.parametrize(("told", "left"), [(None, "1"), ("0", "0")])
def test_onednn_is_on_unless_the_arms_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, told: str | None, left: str
) -> None:
    name = "TF_ENABLE_ONEDNN_OPTS"
    monkeypatch.setenv(name, told or "")
    if told is None:
        monkeypatch.delenv(name)
    seen: list[str | None] = []
    tf = SimpleNamespace(errors=SimpleNamespace(OpError=OSError))

    def begin() -> Any:
        # TensorFlow reads it when it is imported.
        seen.append(os.environ.get(name))
        return tf

    monkeypatch.setattr(startup, "_import", begin)
    monkeypatch.setattr(startup, "_run_stages", lambda *_, **__: "/CPU:0")
    assert startup.start(gpu=False)[1] == "/CPU:0"
    assert seen == [left]
