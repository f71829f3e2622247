"""What refusals of a GPU mean, as a table: of engines, of NVIDIA's hook, of TensorFlow."""

from __future__ import annotations

import re

import pytest

from suite.host.gpu.answers import ANSWERS
from suite.host.gpu.commands import INSTALL_DRIVER, TRY_TOOLKIT, EngineKind, reword
from suite.host.gpu.refusals import REFUSALS, find_refusal, wants_cdi, wants_hook
from suite.host.machine.refusal import Refusal

HOOK = (
    "failed to create task for container: OCI runtime create failed: runc create failed: error "
    "running prestart hook #0: exit status 1, stderr: Auto-detected mode as 'legacy'\n"
    "nvidia-container-cli: "
)
NVML = "initialization error: nvml error: "
DIRECTLY = "invoking the NVIDIA Container Runtime Hook directly (e.g. …) is not supported"
NO_TOOLKIT = 'could not select device driver "" with capabilities: [[gpu]]'
NO_CDI = 'could not select device driver "cdi" with capabilities: []'
UNRESOLVED = "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7"
CGROUPS = HOOK + "mount error: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted"
OF_SMI = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
NOBODY = "the moon is in the wrong house"
KINDS: tuple[EngineKind, ...] = ("rootless", "podman")

OF_ENGINES = {
    NO_TOOLKIT: "toolkit is missing",
    NO_CDI: "CDI switched off",
    UNRESOLVED: "stale",
    HOOK
    + "initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object "
    "file: no such file or directory: unknown": "no NVIDIA driver",
    # What wraps stands after what it wraps.
    HOOK + NVML + "driver/library version mismatch: unknown": "upgraded",
    HOOK + NVML + "driver not loaded: unknown": "not loaded",
    HOOK + "device error: 7: unknown device: unknown": "no such GPU",
    HOOK + UNRESOLVED + ": unknown": "no such device",
    HOOK + "requirement error: unsatisfied condition: cuda>=12.5, please update": "older",
    CGROUPS: "rootless",
    HOOK + DIRECTLY: "CDI mode",
    "unknown or invalid runtime name: nvidia": "not configured",
    HOOK + "something that nobody has seen": "hook failed",
    OF_SMI: "another kernel",
}
"""What engines, NVIDIA's hook and nvidia-smi print, and a part of its cause."""

CUINIT = "failed call to cuInit: INTERNAL: CUDA error: "
NO_DRIVER = CUINIT + "UNKNOWN ERROR (303)"
LACKS = "TensorFlow sees no GPU here: "
NO_NVML = LACKS + "libnvidia-ml.so.1, which the driver brings, can't be opened"
FIRST_OF_TENSORFLOW = next(n for n, row in enumerate(REFUSALS) if "UNSUPPORTED_PTX" in row.pattern)
"""Engines' and the hook's rows stand before it, and last of all."""

OF_TENSORFLOW = {
    NO_DRIVER: "not passed",
    CUINIT + "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected": "hidden",
    CUINIT + "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver": "together",
    CUINIT
    + "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility": "do not go together",
    CUINIT + "CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized": "fabric",
    CUINIT + "CUDA_ERROR_DEVICE_UNAVAILABLE: device(s) is/are busy or unavailable": "for itself",
    CUINIT + "CUDA_ERROR_UNKNOWN: unknown error": "does not answer CUDA",
    "Cannot dlopen some GPU libraries. Please make sure": "missing beside TensorFlow",
    LACKS + "TensorFlow has not loaded libcusolver.so, libcudnn.so": "missing beside TensorFlow",
    NO_NVML: "management (NVML) is not where TensorFlow runs",
    LACKS + "NVML does not start (nvmlInit gives 18)": "(NVML) does not start",
    "gpu_kernel_to_blob_pass: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided": "wrong results",
    "the provided PTX was compiled with an unsupported toolchain": "wrong results",
    "kernel version 550.90.7 does not match DSO version 550.54.15 -- cannot find working devices in "
    "this configuration": "not of the loaded kernel module's version",
    "Possibly insufficient driver version: 470.57.2": "older than this TensorFlow's CUDA",
    "Loaded runtime CuDNN library: 8.9.7 but source was compiled with: 9.3.0.  CuDNN library needs to "
    "have matching major version": "cuDNN can't be used",
    "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED": "cuDNN can't be used",
    "INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error": "defective",
    # As the worker says it.
    "the GPU is lost: CUDA_ERROR_ECC_UNCORRECTABLE": "defective",
    "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered": "broke down",
    "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed": "newer than",
    "LLVM ERROR: does not support target 'sm_120'": "newer than",
    "CUDA_ERROR_OUT_OF_MEMORY: out of memory": "memory does not hold it",
    "gpu_device.cc:2043] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 0 MB memory:  "
    "-> device: 0, name: NVIDIA A10G": "memory does not hold it",
    "InternalError: Failed copying input tensor from CPU:0 to GPU:0: Dst tensor is not initialized.": (
        "memory does not hold it"
    ),
    "TensorFlow computes on another GPU than the one named": "in another way",
    "TensorFlow lists a GPU (its build is for CPU only)": "built without CUDA",
    LACKS + "(its build is for CPU only)": "built without CUDA",
    "the GPU has compute capability 12.0, which is newer than this TensorFlow's CUDA can compile for "
    "(built for sm_89)": "newer than that TensorFlow",
    "the GPU has compute capability 5.0, which is older than this TensorFlow was built for (sm_60)": (
        "older than that TensorFlow"
    ),
    "the GPU has compute capability 6.1, which is not among those that this TensorFlow was built for "
    "(built for sm_75, compute_90)": "no code for this GPU",
    "tensorflow/core/framework/op_kernel.cc:1844] INTERNAL: 'cuLaunchKernel(function, gridX, gridY, gridZ, "
    "blockX, blockY, blockZ, 0, reinterpret_cast<CUstream>(stream), params, nullptr)' failed with "
    "'CUDA_ERROR_INVALID_HANDLE'": "every graph fails",
    "Failed to initialize NVML: Unknown Error": "was taken away",
}
"""What TensorFlow and the worker print, and a part of its cause."""


@pytest.mark.parametrize(("text", "cause"), {**OF_ENGINES, **OF_TENSORFLOW}.items())
def test_each_known_text_has_its_row(text: str, cause: str) -> None:
    row = find_refusal(text)
    assert row is not None
    assert cause in row.cause


def test_every_row_of_tensorflows_is_tried() -> None:
    found = {row.cause for text in OF_TENSORFLOW if (row := find_refusal(text))}
    assert {row.cause for row in REFUSALS[FIRST_OF_TENSORFLOW:-1]} <= found
    assert find_refusal(NOBODY) is None


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.cause[:40])
def test_every_remedy_names_a_command_or_a_setting_and_where_packages_are(row: Refusal) -> None:
    assert row.cause
    assert re.search(r"`[a-z].+?`|\b[A-Z_]{3,}=|\{\"features\"", row.remedy)
    if "nvidia-container-toolkit`" in row.remedy:
        assert "container-toolkit/latest/install-guide.html" in row.remedy
    if "install nvidia-driver`" in row.remedy:
        assert "non-free" in row.remedy
    if "older than" in row.cause and "driver" in row.cause:
        # Debian's own package leads back to the same refusal.
        assert "install nvidia-driver`" not in row.remedy
        assert "cuda-installation-guide-linux" in row.remedy
    for kind in KINDS:
        words = reword(row.remedy, kind)
        assert "sudo systemctl restart docker" not in words
        assert "/etc/docker/" not in words


@pytest.mark.parametrize(
    ("text", "by_cdi", "by_hook"),
    [
        (DIRECTLY, True, False),
        (CGROUPS, True, False),
        (UNRESOLVED, False, True),
        (NO_CDI, False, True),
        ("failed to stat CDI host device /dev/nvidia0", False, True),
        (NO_TOOLKIT, False, False),
        (NOBODY, False, False),
    ],
)
def test_only_what_the_other_way_may_cure_leads_to_it(
    text: str, by_cdi: bool, by_hook: bool
) -> None:
    assert (wants_cdi(text), wants_hook(text)) == (by_cdi, by_hook)


ALSO_PRINTED = ("WSL environment detected but no adapters were found",)
"""What the driver's own libraries say to a plain process, too, and rows of the engines' explain."""

LOCAL_ROWS = [
    *ANSWERS,
    *REFUSALS[FIRST_OF_TENSORFLOW:-1],
    *(row for text in ALSO_PRINTED if (row := find_refusal(text))),
]


@pytest.mark.parametrize("row", LOCAL_ROWS, ids=lambda row: row.cause[:60])
def test_without_a_container_nothing_speaks_of_one(row: Refusal) -> None:
    """The local engine's worker prints the same texts, where there is no container, and no docker."""
    for text in (row.cause, row.remedy):
        told = reword(text, "local")
        for words in ("container", "docker", "podman"):
            assert words not in told.lower()
        # What is left still says something, and ends where a sentence may.
        assert len(told) > 10
        assert not re.search(r"[:;,(] *$|^[ :;,)]|\(\)|``|  |; *;", told)


def test_the_rows_that_a_plain_process_can_meet_are_all_held_to_it() -> None:
    assert len({row.pattern for row in LOCAL_ROWS}) == len(LOCAL_ROWS)
    theirs = len(LOCAL_ROWS) - len(ALSO_PRINTED) - len(ANSWERS)
    assert FIRST_OF_TENSORFLOW + theirs == len(REFUSALS) - 1


@pytest.mark.parametrize("text", [NO_DRIVER, NO_NVML])
def test_the_local_wording_keeps_what_mends_it(text: str) -> None:
    row = find_refusal(text)
    assert row is not None
    assert reword(row.remedy, "local").endswith(f"install the driver whole: {INSTALL_DRIVER}")
    assert "is not where TensorFlow runs" in reword(row.cause, "local")
    # In a container it still leads to the toolkit.
    assert TRY_TOOLKIT in reword(row.remedy, "docker")
