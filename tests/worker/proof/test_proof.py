"""What proves a GPU: a capability that the build covers, a right product, versions as loaded."""

from __future__ import annotations

import contextlib
import ctypes
import uuid
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite import codec
from suite.model import SIMULATED
from suite.worker.proof.gpu import (
    STAND_IN,
    device_identity,
    find_trouble,
    judge_capability,
    loaded_versions,
    simulation_facts,
)
from tests.fakes.device import install
from tests.fakes.tree import lay

DRIVER_FILE = "proc/driver/nvidia/version"
BUILT = ["sm_60", "sm_70", "sm_80", "sm_89", "compute_90"]


@pytest.mark.parametrize(
    ("device", "built", "refused"),
    [
        *((capable, BUILT, None) for capable in [(6, 0), (6, 1), (7, 5), (8, 6), (8, 9), (9, 0)]),
        ((10, 0), BUILT, "newer than this TensorFlow's CUDA"),
        ((5, 2), BUILT, "older than this TensorFlow was built for"),
        # Another build may know newer devices.
        ((12, 0), ["sm_90", "sm_120"], None),
        ((12, 1), ["sm_90", "compute_100"], None),
        ((12, 0), [], None),
        # Code for one device or one family runs on no other.
        ((10, 0), ["sm_100a"], None),
        ((10, 3), ["sm_90a", "sm_100a"], "compute capability 10.3"),
        ((10, 3), ["sm_100f"], None),
        ((12, 0), ["sm_100f", "compute_100f"], "compute capability 12.0"),
        # A refusal names what may do, and for what is too old nothing but another GPU.
        ((12, 0), BUILT, "`make bench CUDA_IMAGE=nvcr.io/nvidia/tensorflow:"),
        (
            (10, 0),
            ["sm_120"],
            "not among those that this TensorFlow was built for (built for sm_120); name",
        ),
        ((5, 2), BUILT, "(built for sm_60, sm_70, sm_80, sm_89, compute_90); rent a GPU of"),
        (
            (6, 1),
            ["sm_75", "compute_90"],
            "without CUDA_IMAGE and LOCAL_PYTHON: the locked TensorFlow has",
        ),
    ],
)
def test_what_a_build_runs_on(
    device: tuple[int, int], built: list[str], refused: str | None
) -> None:
    why = judge_capability(device, built)
    assert why is None if refused is None else refused in (why or "")


class _OpError(Exception):
    pass


@dataclass
class Device:
    """As much of TensorFlow as makes a product and a sum on a device, off by so much."""

    place: str = "GPU:0"
    wrong: float = 0.0
    sum_wrong: float = 0.0
    graph: Exception | None = None
    error: Exception | None = None

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(
            monkeypatch,
            device=contextlib.nullcontext,
            constant=lambda value: value,
            matmul=lambda left, right: self.give(left @ right + self.wrong),
            add=lambda left, right: self.give(left + right + self.sum_wrong),
            function=lambda work, jit_compile: lambda *given: self.run(work, *given),
            errors=SimpleNamespace(OpError=_OpError),
        )

    def run(self, work: Any, *given: Any) -> Any:
        if self.graph is not None:
            raise self.graph
        return work(*given)

    def give(self, result: Any) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(
            backing_device=f"/job:localhost/replica:0/task:0/device:{self.place}",
            numpy=lambda: result.astype(np.float32),
        )


@pytest.mark.parametrize(
    ("device", "trouble"),
    [
        (Device(), None),
        (Device(place="CPU:0"), "was made on CPU:0"),
        (Device(wrong=1.0), "wrong result for a small product"),
        # What a driver before 555 does to the kernels that a wheel brings as PTX: no exception.
        (Device(sum_wrong=1.0), "wrong result for a small sum by elements"),
        # What some GPUs do that are newer than the build: products are right, and every graph fails.
        (
            Device(graph=_OpError("cuLaunchKernel failed with 'CUDA_ERROR_INVALID_HANDLE'")),
            "/GPU:0 refuses a small graph: cuLaunchKernel failed with 'CUDA_ERROR_INVALID_HANDLE'",
        ),
        (Device(error=_OpError("CUDA_ERROR_ILLEGAL_ADDRESS")), "CUDA_ERROR_ILLEGAL_ADDRESS"),
        (Device(error=RuntimeError("device unknown")), "device unknown"),
    ],
)
def test_trouble_is_said(
    monkeypatch: pytest.MonkeyPatch, device: Device, trouble: str | None
) -> None:
    device.install(monkeypatch)
    found = find_trouble("/GPU:0")
    assert found is None if trouble is None else trouble in (found or "")


MAPS = """\
7f00-7f01 r--p 00000000 00:1f 1 /usr/lib/libcuda.so.550.54.15
7f02-7f03 r-xp 00000000 00:1f 2 /opt/nvidia/cuda_runtime/lib/libcudart.so.12
7f04-7f05 r-xp 00000000 00:1f 3 /opt/nvidia/cudnn/lib/libcudnn.so.9
7f06-7f07 rw-p 00000000 00:00 0 [heap]
"""


def version_of(value: int, status: int = 0) -> Any:
    def function(pointer: Any) -> int:
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int))[0] = value
        return status

    return function


class Sized:
    """A function that gives its result, of a type that the caller sets."""

    restype: Any = ctypes.c_int

    def __call__(self) -> int:
        assert self.restype is ctypes.c_size_t
        return 91002


def test_versions_are_those_of_the_libraries_in_the_process(tmp_path: Path) -> None:
    told = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\nGCC version: 12"
    lay(tmp_path, {"proc/self/maps": MAPS, DRIVER_FILE: told})
    libraries: dict[str, Any] = {
        "/usr/lib/libcuda.so.550.54.15": SimpleNamespace(cuDriverGetVersion=version_of(12040)),
        "/opt/nvidia/cuda_runtime/lib/libcudart.so.12": SimpleNamespace(
            cudaRuntimeGetVersion=version_of(12050)
        ),
        "/opt/nvidia/cudnn/lib/libcudnn.so.9": SimpleNamespace(cudnnGetVersion=Sized()),
    }
    assert loaded_versions(tmp_path, libraries.__getitem__) == {
        "gpu.driver": "550.54.15",
        "cuda.driver_api": 12040,
        "cuda.runtime": 12050,
        "cuda.nccl": None,
        "cuda.cudnn": 91002,
    }


def test_what_is_not_loaded_or_refuses_is_unknown(tmp_path: Path) -> None:
    assert set(loaded_versions(tmp_path).values()) == {None}
    assert set(device_identity(tmp_path).values()) == {None}
    lay(tmp_path, {"proc/self/maps": MAPS})

    def broken(path: str) -> Any:
        if "cudart" in path:
            return SimpleNamespace(cudaRuntimeGetVersion=version_of(0, status=35))
        if "cudnn" in path:
            return SimpleNamespace()
        raise OSError(path)

    assert set(loaded_versions(tmp_path, broken).values()) == {None}


UUID = uuid.UUID("11111111-2222-3333-4444-555555555555")


def driver(*, device: int = 0, address: int = 0, identity: int = 0) -> Any:
    """The driver's library as of one device; a status that is not 0 is a refusal."""

    def get(pointer: Any, ordinal: int) -> int:
        assert ordinal == 0
        ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int))[0] = 5
        return device

    def place(text: Any, size: int, of: ctypes.c_int) -> int:
        assert of.value == 5
        assert size >= 13  # as many as the driver writes, with the final zero
        text.value = b"0000:C1:00.0"
        return address

    def name(digits: Any, of: ctypes.c_int) -> int:
        assert of.value == 5
        digits[:] = UUID.bytes
        return identity

    return SimpleNamespace(cuDeviceGet=get, cuDeviceGetPCIBusId=place, cuDeviceGetUuid_v2=name)


@pytest.mark.parametrize(
    ("library", "known"),
    [
        (driver(), {"gpu.0.pci", "gpu.0.uuid"}),
        (driver(device=100), set()),
        (driver(identity=1), {"gpu.0.pci"}),
        (driver(address=1), {"gpu.0.uuid"}),
        (SimpleNamespace(), set()),
    ],
)
def test_cuda_says_where_its_device_sits_and_which_it_is_or_it_is_unknown(
    library: Any, known: set[str], tmp_path: Path
) -> None:
    told = {"gpu.0.pci": "0000:c1:00.0", "gpu.0.uuid": codec.hash_uuid(f"GPU-{UUID}")}
    lay(tmp_path, {"proc/self/maps": MAPS})
    found = device_identity(tmp_path, lambda _path: library)
    assert found == {name: told[name] if name in known else None for name in told}
    assert str(UUID) not in str(found)


def test_a_driver_of_the_tests_says_so_by_its_name(tmp_path: Path) -> None:
    lay(tmp_path, {"proc/self/maps": MAPS})
    stand_in = SimpleNamespace(**{STAND_IN: 1})
    assert simulation_facts(tmp_path, lambda _path: stand_in) == {SIMULATED: True}
    assert simulation_facts(tmp_path, lambda _path: driver()) == {SIMULATED: False}
