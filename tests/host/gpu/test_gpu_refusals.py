"""What refusals of a GPU mean, as a table, without an engine."""

from __future__ import annotations

import re

import pytest

from suite.host.gpu.commands import INSTALL_DRIVER, TRY_TOOLKIT, EngineKind, reword
from suite.host.gpu.refusals import (
    REFUSALS,
    GpuRefusal,
    find_refusal,
    wants_cdi,
    wants_hook,
)
from suite.host.gpu.remedies import explain_refusal, explain_worker

HOOK = (
    "failed to create task for container: OCI runtime create failed: runc create failed: error "
    "running prestart hook #0: exit status 1, stderr: Auto-detected mode as 'legacy'\n"
    "nvidia-container-cli: "
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('could not select device driver "" with capabilities: [[gpu]]', "toolkit is missing"),
        ('could not select device driver "cdi" with capabilities: []', "CDI switched off"),
        ("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7", "stale"),
        (
            HOOK + "initialization error: load library failed: libnvidia-ml.so.1: cannot open "
            "shared object file: no such file or directory: unknown",
            "no NVIDIA driver",
        ),
        (HOOK + "initialization error: nvml error: driver/library version mismatch", "upgraded"),
        (HOOK + "initialization error: nvml error: driver not loaded: unknown", "not loaded"),
        (HOOK + "requirement error: unsatisfied condition: cuda>=12.5, please update", "older"),
        (HOOK + "mount error: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not", "rootless"),
        (
            HOOK + "invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the "
            "docker --gpus flag) is not supported",
            "CDI mode",
        ),
        ("unknown or invalid runtime name: nvidia", "not configured"),
        (HOOK + "something that nobody has seen", "hook failed"),
        ("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", "hidden"),
        ("failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)", "not passed"),
        ("Cannot dlopen some GPU libraries. Please make sure", "missing beside TensorFlow"),
        (
            "TensorFlow sees no GPU here: TensorFlow has not loaded libcudnn.so, libcufft.so",
            "missing beside TensorFlow",
        ),
        (
            "TensorFlow sees no GPU here: libnvidia-ml.so.1, which the driver brings, can't be opened",
            "(NVML) is not where TensorFlow runs",
        ),
        (
            "TensorFlow sees no GPU here: NVML does not start (nvmlInit gives 18)",
            "(NVML) does not start",
        ),
        ("LLVM ERROR: does not support target 'sm_120'", "newer than"),
    ],
)
def test_refusals_are_explained_and_kept_whole(text: str, cause: str) -> None:
    error = explain_refusal(text, "unix:///run/x.sock (DOCKER_HOST)")
    assert cause in error.what
    assert text in error.what
    assert "DOCKER_HOST" in error.what
    assert error.remedy


def test_an_unknown_refusal_is_shown_whole() -> None:
    error = explain_refusal("the moon is in the wrong house")
    assert "the moon is in the wrong house" in error.what
    assert error.remedy


def test_only_what_cdi_may_cure_leads_to_a_second_try() -> None:
    assert wants_cdi("invoking the NVIDIA Container Runtime Hook directly is not supported")
    assert wants_cdi(HOOK + "mount error: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not")
    assert not wants_cdi('could not select device driver ""')
    assert not wants_cdi("the moon is in the wrong house")


def test_only_what_the_hook_may_cure_leads_to_it() -> None:
    assert wants_hook("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0")
    assert wants_hook('could not select device driver "cdi" with capabilities: []')
    assert wants_hook("failed to stat CDI host device /dev/nvidia0")
    assert not wants_hook('could not select device driver "" with capabilities: [[gpu]]')
    assert not wants_hook(
        HOOK + "invoking the NVIDIA Container Runtime Hook directly (e.g. …) is not supported"
    )
    assert not wants_hook("the moon is in the wrong house")


NO_RUNTIME = "unknown or invalid runtime name: nvidia"
NO_TOOLKIT = 'could not select device driver "" with capabilities: [[gpu]]'


@pytest.mark.parametrize("text", [NO_RUNTIME, NO_TOOLKIT])
def test_remedies_are_those_of_the_engine_that_refused(text: str) -> None:
    of_root = explain_refusal(text).remedy
    assert "`sudo nvidia-ctk runtime configure --runtime=docker`" in of_root
    assert "`sudo systemctl restart docker`" in of_root
    of_user = explain_refusal(text, kind="rootless").remedy
    assert "--config=$HOME/.config/docker/daemon.json`" in of_user
    assert "`systemctl --user restart docker`" in of_user
    assert "no-cgroups=true" in of_user
    assert "sudo systemctl" not in of_user
    of_podman = explain_refusal(text, kind="podman").remedy
    assert "cdi generate" in of_podman
    assert "runtime configure" not in of_podman
    assert "systemctl" not in of_podman


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.cause[:40])
def test_no_remedy_for_a_user_or_podman_touches_roots_docker(row: GpuRefusal) -> None:
    kinds: tuple[EngineKind, ...] = ("rootless", "podman")
    for kind in kinds:
        words = reword(row.remedy, kind)
        assert "sudo systemctl restart docker" not in words
        assert "/etc/docker/" not in words


def test_packages_are_named_with_the_repository_that_has_them() -> None:
    for row in REFUSALS:
        if "nvidia-container-toolkit`" in row.remedy:
            assert "container-toolkit/latest/install-guide.html" in row.remedy
        if "install nvidia-driver`" in row.remedy:
            assert "non-free" in row.remedy
        if "older than" in row.cause and "driver" in row.cause:
            # Debian's own package leads back to the same refusal.
            assert "install nvidia-driver`" not in row.remedy
            assert "cuda-installation-guide-linux" in row.remedy


@pytest.mark.parametrize("row", REFUSALS, ids=lambda row: row.cause[:40])
def test_every_remedy_names_a_command_or_a_setting(row: GpuRefusal) -> None:
    assert re.search(r"`[a-z].+?`|\b[A-Z_]{3,}=|\{\"features\"", row.remedy)
    assert row.cause
    assert re.compile(row.pattern)


FIRST_OF_TENSORFLOW = next(n for n, row in enumerate(REFUSALS) if "UNSUPPORTED_PTX" in row.pattern)
"""Engines' and the hook's rows stand before it, and last of all."""

ALSO_PRINTED = (
    "Failed to initialize NVML: Driver/library version mismatch",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver",
    "WSL environment detected but no adapters were found",
    "CUDA_ERROR_SYSTEM_NOT_READY: system not yet initialized",
)
"""What the driver's own libraries say to a plain process, too, and rows of the engines' explain."""

LOCAL_ROWS = [
    *REFUSALS[FIRST_OF_TENSORFLOW:-1],
    *(row for text in ALSO_PRINTED if (row := find_refusal(text))),
]


@pytest.mark.parametrize("row", LOCAL_ROWS, ids=lambda row: row.cause[:60])
def test_without_a_container_nothing_speaks_of_one(row: GpuRefusal) -> None:
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
    assert FIRST_OF_TENSORFLOW + len(LOCAL_ROWS) - len(ALSO_PRINTED) == len(REFUSALS) - 1


def test_the_local_wording_keeps_what_mends_it() -> None:
    no_driver = find_refusal("failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)")
    no_nvml = find_refusal("sees no GPU here: libnvidia-ml.so.1, which the driver brings")
    assert no_driver
    assert no_nvml
    assert reword(no_driver.cause, "local") == (
        "CUDA's driver library (libcuda.so.1) is not where TensorFlow runs"
    )
    assert reword(no_driver.remedy, "local") == f"install the driver whole: {INSTALL_DRIVER}"
    assert reword(no_nvml.remedy, "local") == (
        f"`nvidia-smi` must work where TensorFlow runs: install the driver whole: {INSTALL_DRIVER}"
    )
    # In a container both still lead to the toolkit.
    for row in (no_driver, no_nvml):
        assert TRY_TOOLKIT in reword(row.remedy, "docker")


def test_a_worker_without_a_container_is_explained_without_one() -> None:
    what = "the arm cuda can't be had: TensorFlow sees no GPU here"
    diary = "failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)\n"
    local, docker = explain_worker(what, diary, "local"), explain_worker(what, diary)
    assert "container" not in f"{local.what} {local.remedy}"
    assert "docker" not in local.remedy
    assert local.what.startswith(f"{what}: CUDA's driver library (libcuda.so.1) is not where")
    # It is still quoted.
    assert "UNKNOWN ERROR (303)" in local.what
    assert "in a container, the GPU was not passed through" in docker.what
    assert "docker run" in docker.remedy


def test_what_wraps_stands_after_what_it_wraps() -> None:
    for said, cause in {
        "nvml error: driver/library version mismatch": "upgraded",
        "load library failed: libnvidia-ml.so.1: cannot open shared object file": "no NVIDIA driver",
        "device error: 7: unknown device": "no such GPU",
        "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=7": "no such device",
    }.items():
        row = find_refusal(HOOK + said + ": unknown")
        assert row is not None
        assert cause in row.cause
