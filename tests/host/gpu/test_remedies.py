"""What TensorFlow prints leads to the command that mends it, wherever it was printed."""

from __future__ import annotations

import pytest

from suite.host.gpu.refusals import REFUSALS, find_refusal
from suite.host.gpu.remedies import UNKNOWN, explain_failure, explain_worker

REFUSED = "the arm cuda can't be had: TensorFlow sees no GPU here"

DIARY = """\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795290142.785881       1 port.cc:153] oneDNN custom operations are on. You may see slightly \
different numerical results due to floating-point round-off errors from different computation orders.
E0000 00:00:1795290143.066641       1 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: \
Failed call to cuInit: {}
"""
"""As TensorFlow 2.21 printed it in the CUDA image: without a driver, and with a stub of libcuda
whose cuInit gives one error after the other."""


AT_START = [
    ("UNKNOWN ERROR (303)", "not passed through", "docker run --rm"),
    ("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "hidden", "nvidia-smi -L"),
    (
        (
            "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: system has unsupported display driver / cuda driver "
            "combination"
        ),
        "do not go together",
        "reboot",
    ),
    (
        (
            "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility was attempted on non "
            "supported HW"
        ),
        "do not go together",
        "compat libraries",
    ),
    ("CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized", "fabric", "fabricmanager"),
    (
        "CUDA_ERROR_DEVICE_UNAVAILABLE: CUDA-capable device(s) is/are busy or unavailable",
        "for itself",
        "nvidia-smi -c 0",
    ),
    ("CUDA_ERROR_UNKNOWN: unknown error", "does not answer CUDA", "modprobe nvidia_uvm"),
    ("CUDA_ERROR_UNKNOWN: unknown error", "does not answer CUDA", "must name /dev/nvidia-uvm"),
]
"""What `cuInit` can give: its error, a part of its cause and of its remedy."""


@pytest.mark.parametrize(("error", "cause", "remedy"), AT_START)
def test_why_cuda_does_not_start_is_told_with_its_remedy(
    error: str, cause: str, remedy: str
) -> None:
    found = explain_worker(REFUSED, DIARY.format(error))
    assert found.what.startswith(f"{REFUSED}: ")
    assert cause in found.what
    assert remedy in found.remedy
    # The line is quoted without the logger's time, and of the other lines nothing.
    assert (
        f"(cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: {error})"
        in found.what
    )
    assert "oneDNN" not in found.what


TOO_OLD_FOR_PTX = (
    "gpu_kernel_to_blob_pass: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an "
    "unsupported toolchain."
)

TEXTS = [
    (
        (
            "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned "
            "above are installed properly if you would like to use GPU."
        ),
        "missing beside TensorFlow",
    ),
    (
        f"{REFUSED}: TensorFlow has not loaded libcusolver.so, libcudnn.so",
        "missing beside TensorFlow",
    ),
    (
        f"{REFUSED}: libnvidia-ml.so.1, which the driver brings, can't be opened",
        "management (NVML) is not where TensorFlow runs",
    ),
    (f"{REFUSED}: NVML does not start (nvmlInit gives 18)", "(NVML) does not start"),
    (TOO_OLD_FOR_PTX, "wrong results"),
    ("the provided PTX was compiled with an unsupported toolchain", "wrong results"),
    (
        (
            "kernel version 550.90.7 does not match DSO version 550.54.15 -- cannot find working "
            "devices in this configuration"
        ),
        "not of the loaded kernel module's version",
    ),
    ("Possibly insufficient driver version: 470.57.2", "older than this TensorFlow's CUDA"),
    (
        (
            "Loaded runtime CuDNN library: 8.9.7 but source was compiled with: 9.3.0.  CuDNN "
            "library needs to have matching major version"
        ),
        "cuDNN can't be used",
    ),
    ("Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED", "cuDNN can't be used"),
    ("INTERNAL: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error", "defective"),
    ("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered", "broke down"),
    ("CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed", "newer than"),
    ("CUDA_ERROR_OUT_OF_MEMORY: out of memory", "memory does not hold it"),
    (
        (
            "gpu_device.cc:2043] Created device /job:localhost/replica:0/task:0/device:GPU:0 with 0 MB "
            "memory:  -> device: 0, name: NVIDIA A10G"
        ),
        "memory does not hold it",
    ),
    (
        "InternalError: Failed copying input tensor from CPU:0 to GPU:0: Dst tensor is not initialized.",
        "memory does not hold it",
    ),
    ("TensorFlow computes on another GPU than the one named", "in another way"),
    ("TensorFlow lists a GPU (its build is for CPU only)", "built without CUDA"),
    (f"{REFUSED} (its build is for CPU only)", "built without CUDA"),
    (
        (
            "the GPU has compute capability 12.0, which is newer than this TensorFlow's CUDA can "
            "compile for (built for sm_89)"
        ),
        "newer than that TensorFlow",
    ),
    (
        "the GPU has compute capability 5.0, which is older than this TensorFlow was built for (sm_60)",
        "older than that TensorFlow",
    ),
    ("Failed to initialize NVML: Unknown Error", "was taken away"),
]
"""What TensorFlow and the worker say beside that, and a part of its cause."""


@pytest.mark.parametrize(("text", "cause"), TEXTS)
def test_each_known_text_has_its_row(text: str, cause: str) -> None:
    row = find_refusal(text)
    assert row is not None
    assert cause in row.cause
    assert row.remedy


def test_every_row_of_tensorflows_is_tried() -> None:
    """Those of engines and of NVIDIA's hook, above them and last of all, are tried elsewhere."""
    first = next(n for n, row in enumerate(REFUSALS) if "UNSUPPORTED_PTX" in row.pattern)
    texts = [text for text, _ in TEXTS] + [DIARY.format(error) for error, _, _ in AT_START]
    found = {row.cause for text in texts if (row := find_refusal(text))}
    assert {row.cause for row in REFUSALS[first:-1]} <= found


@pytest.mark.parametrize(
    "later",
    [
        DIARY.format("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"),
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed",
        "Possibly insufficient driver version: 550.54.15",
    ],
)
def test_ptx_that_the_driver_refuses_explains_what_comes_of_it(later: str) -> None:
    """TensorFlow only warns of it, and goes on; what it prints then is not the cause."""
    what = "/GPU:0 gives a wrong result for a small sum by elements of whole numbers"
    for diary in (f"{TOO_OLD_FOR_PTX}\n{later}\n", f"{later}\n{TOO_OLD_FOR_PTX}\n"):
        found = explain_worker(what, diary)
        assert found.what == (
            f"{what}: the driver is older than the CUDA whose intermediate code (PTX) TensorFlow "
            "brings, and the kernels that it refuses leave wrong results behind "
            f"({TOO_OLD_FOR_PTX})"
        )
        assert "555 or later" in found.remedy


def test_which_library_is_missing_is_told_by_who_looked_for_it() -> None:
    """NVML's absence TensorFlow does not tell of: the worker does.  Its own is told before it."""
    lacks_nvml = f"{REFUSED}: libnvidia-ml.so.1, which the driver brings, can't be opened"
    found = explain_worker(lacks_nvml, "nothing of interest\n")
    assert found.what.startswith(f"{lacks_nvml}: the driver's library for management (NVML)")
    assert "capability utility" in found.remedy
    dead_nvml = f"{REFUSED}: NVML does not start (nvmlInit gives 18)"
    found = explain_worker(dead_nvml, "nothing of interest\n")
    assert found.what.startswith(f"{dead_nvml}: the driver's library for management (NVML)")
    assert "another version than the loaded module" in found.what
    assert "`sudo reboot`" in found.remedy
    lacks_both = (
        f"{REFUSED}: libcuda.so.1 and libnvidia-ml.so.1, which the driver brings, can't be opened"
    )
    found = explain_worker(lacks_both, DIARY.format("UNKNOWN ERROR (303)"))
    assert "CUDA's driver library (libcuda.so.1) is not where TensorFlow runs" in found.what
    lacks_cudnn = f"{REFUSED}: TensorFlow has not loaded libcudnn.so"
    found = explain_worker(lacks_cudnn, "Cannot dlopen some GPU libraries.\n")
    assert found.what == (
        f"{lacks_cudnn}: CUDA libraries are missing beside TensorFlow "
        "(Cannot dlopen some GPU libraries.)"
    )
    assert "tensorflow[and-cuda]" in found.remedy


def test_what_nobody_knows_is_said_as_it_is() -> None:
    found = explain_worker(REFUSED, "nothing of interest\n")
    assert (found.what, found.remedy) == (REFUSED, UNKNOWN)
    assert explain_failure("ValueError: 3 is not 4", "nothing of interest\n") == (
        "ValueError: 3 is not 4"
    )


@pytest.mark.parametrize(
    ("kind", "takes"), [("float", "6.4 GB"), ("half", "3.2 GB"), ("double", "12.8 GB")]
)
def test_a_tensor_without_room_is_told_with_its_size(kind: str, takes: str) -> None:
    reason = (
        f"ResourceExhaustedError: OOM when allocating tensor with shape[40000,40000] and type {kind} "
        "on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc"
    )
    found = explain_failure(reason)
    assert found.startswith(reason)
    assert f"this tensor alone takes {takes}" in found
    assert "what to do: `nvidia-smi`" in found


def test_the_cpus_memory_is_not_the_gpus() -> None:
    reason = (
        "ResourceExhaustedError: OOM when allocating tensor with shape[40000,40000] and type float "
        "on /job:localhost/replica:0/task:0/device:CPU:0 by allocator mklcpu"
    )
    assert explain_failure(reason) == reason


@pytest.mark.parametrize(
    "said",
    [
        "InternalError: CUDA_ERROR_OUT_OF_MEMORY: out of memory",
        (
            "InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 "
            "to /job:localhost/replica:0/task:0/device:GPU:0 in order to run _EagerConst: Dst tensor is not "
            "initialized. [Op:_EagerConst]"
        ),
    ],
)
def test_memory_without_a_shape_is_told_without_a_size(said: str) -> None:
    assert explain_failure(said).startswith(
        f"{said}; the GPU's memory does not hold it; what to do: `nvidia-smi`"
    )


def test_what_is_not_known_sends_nobody_into_a_container() -> None:
    """The local engine has none; both say it."""
    assert "`nvidia-smi` must work where TensorFlow runs" in UNKNOWN
    assert "logs/" in UNKNOWN
    assert "container" not in UNKNOWN


def test_of_a_death_only_the_diarys_end_counts() -> None:
    long_ago = "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n" + "a line\n" * 50
    assert explain_failure("its container died: exit code 3", long_ago) == (
        "its container died: exit code 3"
    )
    just_now = "a line\n" * 50 + "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error\n"
    assert "defective" in explain_failure("its container died: exit code 3", just_now)


def test_a_warning_that_says_it_is_no_failure_is_no_cause() -> None:
    warned = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB. The caller indicates "
        "that this is not a failure, but this may mean that there could be performance gains"
    )
    reason = "its container died: the deadline for the cell x has passed"
    assert explain_failure(reason, warned) == reason
