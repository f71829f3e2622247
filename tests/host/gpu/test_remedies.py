"""What an engine or TensorFlow printed becomes an error that quotes it, with what to do next."""

from __future__ import annotations

import pytest

from suite.host.gpu.remedies import UNKNOWN, explain_failure, explain_refusal, explain_worker
from tests.host.gpu.test_gpu_refusals import NO_NVML, NO_TOOLKIT

REFUSED = "the arm cuda is unavailable: TensorFlow sees no GPU here"

DIARY = """\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795290142.785881       1 port.cc:153] oneDNN custom operations are on. You may see slightly \
different numerical results due to floating-point round-off errors from different computation orders.
E0000 00:00:1795290143.066641       1 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: \
Failed call to cuInit: {}
"""
"""As TensorFlow 2.21 printed it in the CUDA image: without a driver, and with a stub of libcuda
whose cuInit gives one error after the other."""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (NO_TOOLKIT, "toolkit is missing"),
        ("the moon is in the wrong house", "refused the GPU: the moon"),
    ],
)
def test_refusals_are_kept_whole_with_their_remedy(text: str, cause: str) -> None:
    error = explain_refusal(text, "unix:///run/x.sock (DOCKER_HOST)")
    assert cause in error.what
    assert text in error.what
    assert "DOCKER_HOST" in error.what
    assert error.remedy


@pytest.mark.parametrize("text", ["unknown or invalid runtime name: nvidia", NO_TOOLKIT])
def test_remedies_are_those_of_the_engine_that_refused(text: str) -> None:
    of_root = explain_refusal(text).remedy
    assert "`sudo nvidia-ctk runtime configure --runtime=docker`" in of_root
    assert "`sudo systemctl restart docker`" in of_root
    of_user = explain_refusal(text, kind="rootless").remedy
    assert "--config=$HOME/.config/docker/daemon.json`" in of_user
    assert "`systemctl --user restart docker`" in of_user
    assert "no-cgroups=true" in of_user
    of_podman = explain_refusal(text, kind="podman").remedy
    assert "cdi generate" in of_podman
    assert "runtime configure" not in of_podman
    assert "systemctl" not in of_podman


TOO_OLD_FOR_PTX = (
    "gpu_kernel_to_blob_pass: CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the provided PTX was compiled with an "
    "unsupported toolchain."
)


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
        assert found.what.startswith(
            f"{what}: the driver is older than the CUDA whose intermediate"
        )
        assert found.what.endswith(f" ({TOO_OLD_FOR_PTX})")
        assert "555 or later" in found.remedy


LINE = "cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit"


@pytest.mark.parametrize(
    ("what", "diary", "cause", "remedy"),
    [
        # The diary's line is quoted, without the logger's time.
        (
            REFUSED,
            DIARY.format("UNKNOWN ERROR (303)"),
            f" ({LINE}: UNKNOWN ERROR (303))",
            "docker run --rm",
        ),
        # NVML's absence TensorFlow does not tell of: the worker does.
        (NO_NVML, "", "the driver's library for management (NVML)", "capability utility"),
        # What TensorFlow tells itself counts before it.
        (
            f"{REFUSED}: libcuda.so.1 and libnvidia-ml.so.1, which the driver brings, can't be opened",
            DIARY.format("UNKNOWN ERROR (303)"),
            "CUDA's driver library (libcuda.so.1) is not where TensorFlow runs",
            "",
        ),
        (
            f"{REFUSED}: TensorFlow has not loaded libcudnn.so",
            "Cannot dlopen some GPU libraries.\n",
            "missing beside TensorFlow (Cannot dlopen some GPU libraries.)",
            "tensorflow[and-cuda]",
        ),
    ],
)
def test_what_is_missing_is_told_by_who_looked_for_it_with_its_remedy(
    what: str, diary: str, cause: str, remedy: str
) -> None:
    found = explain_worker(what, diary or "nothing of interest\n")
    assert found.what.startswith(f"{what}: ")
    assert cause in found.what
    assert remedy in found.remedy
    # Of the diary's other lines nothing is told.
    assert "oneDNN" not in found.what


def test_what_nobody_knows_is_said_as_it_is_and_sends_nobody_into_a_container() -> None:
    found = explain_worker(REFUSED, "nothing of interest\n")
    assert found.what == f"{REFUSED} (TensorFlow's last words: nothing of interest)"
    assert found.remedy == UNKNOWN
    assert explain_worker(REFUSED, "").what == REFUSED
    reason = "ValueError: 3 is not 4"
    assert explain_failure(reason, "nothing of interest\n") == reason
    assert "this error is not listed here" in UNKNOWN
    # It does, mostly.
    assert "`nvidia-smi` must work" not in UNKNOWN
    assert "logs/" in UNKNOWN
    # The local engine has none; both say it.
    assert "container" not in UNKNOWN


def test_of_what_nobody_knows_the_grave_line_is_quoted_and_no_harmless_one() -> None:
    grave = "E0000 00:00:1795290143.066641       1 new.cc:7] the frobnicator is inside out\n"
    numa = (
        "I0000 00:00:1795290144.1       1 cuda_executor.cc:1] successful NUMA node read from SysFS had "
        "negative value (-1), but there must be at least one NUMA node\n"
    )
    for diary in (grave + numa, numa + grave, grave + "Created device\n" + numa):
        told = explain_worker(REFUSED, diary).what
        assert told.endswith("(TensorFlow's last words: new.cc:7] the frobnicator is inside out)")
    assert explain_worker(REFUSED, numa).what == REFUSED


def test_a_failed_cells_remedy_is_in_its_engines_words() -> None:
    said = "failed call to cuInit: UNKNOWN ERROR (303)"
    assert "docker run" in explain_failure(DIED, said)
    assert "docker" not in explain_failure(DIED, said, "local")
    assert "podman run" in explain_failure(DIED, said, "podman")


OOM = (
    "ResourceExhaustedError: OOM when allocating tensor with shape[40000,40000] and type {} "
    "on /job:localhost/replica:0/task:0/device:{} by allocator {}"
)


@pytest.mark.parametrize(
    ("kind", "takes"), [("float", "6.4 GB"), ("half", "3.2 GB"), ("double", "12.8 GB")]
)
def test_a_tensor_without_room_is_told_with_its_size(kind: str, takes: str) -> None:
    reason = OOM.format(kind, "GPU:0", "GPU_0_bfc")
    found = explain_failure(reason)
    assert found.startswith(reason)
    assert f"this tensor alone takes {takes}" in found
    assert "what to do: `nvidia-smi`" in found
    # The CPU's memory is not the GPU's.
    reason = OOM.format(kind, "CPU:0", "mklcpu")
    assert explain_failure(reason) == reason


DIED = "its container died: exit code 3"


def test_of_a_death_only_the_diarys_end_counts() -> None:
    lines = "a line\n" * 50
    assert explain_failure(DIED, "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n" + lines) == DIED
    just_now = lines + "CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error\n"
    assert "defective" in explain_failure(DIED, just_now)


def test_a_warning_that_says_it_is_no_failure_is_no_cause() -> None:
    warned = (
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.00GiB. The caller indicates "
        "that this is not a failure, but this may mean that there could be performance gains"
    )
    assert explain_failure(DIED, warned) == DIED
