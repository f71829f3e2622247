"""Which engine is meant, what its refusals mean, and what a container may use: without an engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from requests.exceptions import ReadTimeout

from suite.errors import EngineError, GpuError
from suite.host.docker.connection import Description, Refused
from suite.host.docker.run import container_limits
from suite.host.engine import LABEL, GpuRequest
from tests.fakes.docker_api import HERE, FakeApi, api_error, make_job, start

GPU = GpuRequest(driver="nvidia", devices=("0",))
NO_RUNTIME = "unknown or invalid runtime name: nvidia"


def test_a_container_gets_what_it_needs_and_nothing_more() -> None:
    limits = container_limits(make_job(cpus=(0, 2, 3), memory_bytes=5), memlock=True)
    assert limits["cpuset_cpus"] == "0,2,3"
    assert limits["mem_limit"] == limits["memswap_limit"] == 5
    assert limits["network_mode"] == "none"
    assert limits["read_only"] is True
    assert limits["init"] is True
    assert limits["cap_drop"] == ["ALL"]
    assert limits["security_opt"] == ["no-new-privileges"]
    assert limits["shm_size"] == 2**30
    assert set(limits["tmpfs"]) == {"/tmp", "/home/crossover"}  # noqa: S108 - inside
    for absent in ("privileged", "binds", "volumes", "nano_cpus", "cpu_quota", "auto_remove"):
        assert absent not in limits
    assert limits["ulimits"] is limits["device_requests"] is None
    assert container_limits(make_job(), memlock=True)["mem_limit"] is None


CDI = GpuRequest(driver="cdi", devices=("nvidia.com/gpu=1",))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (GPU, {"DeviceIDs": ["0"], "Driver": "", "Capabilities": [["gpu", "compute", "utility"]]}),
        (CDI, {"DeviceIDs": ["nvidia.com/gpu=1"], "Driver": "cdi", "Capabilities": []}),
    ],
)
def test_a_gpu_is_asked_for_by_name(request_: GpuRequest, expected: dict[str, Any]) -> None:
    limits = container_limits(make_job(gpu=request_), memlock=True)
    (asked,) = limits["device_requests"]
    assert {key: asked[key] for key in expected} == expected
    assert limits["ulimits"][0]["Name"] == "memlock"
    assert container_limits(make_job(gpu=request_), memlock=False)["ulimits"] is None


ORDER = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@pytest.mark.parametrize(
    ("gpu", "told"),
    [
        (None, {}),
        (GPU, ORDER),
        (replace(GPU, visible="1"), {**ORDER, "CUDA_VISIBLE_DEVICES": "1"}),
    ],
)
def test_cuda_in_a_container_counts_as_nvidia_smi(
    gpu: GpuRequest | None, told: dict[str, str]
) -> None:
    api = FakeApi()
    api.failures["start"] = api_error(500, "no more than that is needed")
    with pytest.raises(EngineError if gpu is None else GpuError):
        start(api, make_job(gpu=gpu, environment={"A": "b"}, labels={"c": "d", LABEL: "forged"}))
    assert api.created["environment"] == {"A": "b", **told}
    assert api.created["labels"] == {"c": "d", LABEL: "run", f"{LABEL}.owner": "me"}


@pytest.mark.parametrize(
    ("info", "component", "kind"),
    [
        ({}, "Engine", "docker"),
        ({"SecurityOptions": ["name=seccomp", "name=rootless"]}, "Engine", "rootless"),
        ({"SecurityOptions": ["name=rootless"]}, "Podman Engine", "podman"),
        ({"DockerRootDir": "/var/snap/docker/common/var-lib-docker"}, "Engine", "snap"),
        ({"OperatingSystem": "Docker Desktop"}, "Engine", "desktop"),
        # As root within a container of LXC's.
        ({"OperatingSystem": "Ubuntu 24.04 LTS (containerized)"}, "Engine", "docker"),
    ],
)
def test_an_engine_is_known_by_what_sets_it_up(
    info: dict[str, Any], component: str, kind: str
) -> None:
    version = {"Components": [{"Name": component, "Version": "5.4.2"}]}
    assert Description(endpoint=HERE, info=info, version=version).kind == kind


@pytest.mark.parametrize(
    ("call", "gpu", "kind", "said"),
    [
        ("start", None, EngineError, "timed out"),
        ("start", GPU, GpuError, "did not start a container with the GPU within 60 s"),
        # Only a start can hang for the GPU.
        ("create", GPU, EngineError, "timed out"),
    ],
)
def test_a_start_that_hangs_is_the_gpus_where_one_was_asked_for(
    call: str, gpu: GpuRequest | None, kind: type, said: str
) -> None:
    api = FakeApi()
    api.failures[call] = ReadTimeout("UnixHTTPConnectionPool(host='localhost'): Read timed out.")
    with pytest.raises(kind, match=said):
        start(api, make_job(gpu=gpu))
    # What hangs can't be removed yet: nobody waits a minute for that.
    assert api.waited["remove"] == 5.0


def test_a_refused_memlock_is_told_apart_so_that_it_can_be_left_out() -> None:
    api = FakeApi()
    api.failures["start"] = api_error(500, "error setting rlimit type 8: operation not permitted")
    with pytest.raises(Refused):
        start(api, make_job(gpu=GPU), memlock=True)
    with pytest.raises(GpuError):
        start(api, make_job(gpu=GPU), memlock=False)


@pytest.mark.parametrize(
    ("gpu", "status", "text", "kind", "said"),
    [
        (None, 404, "No such image: sha256:1", EngineError, "no image"),
        (None, 500, "Requested CPUs are not available", EngineError, "Requested CPUs"),
        (GPU, 500, "could not select device", GpuError, "could not se"),
        # As the engine that refused has it.
        (GPU, 500, NO_RUNTIME, GpuError, "systemctl --user restart docker"),
    ],
)
def test_a_refused_start_leaves_nothing_behind(
    gpu: GpuRequest | None, status: int, text: str, kind: type[EngineError], *, said: str
) -> None:
    api = FakeApi()
    api.failures["start"] = api_error(status, text)
    with pytest.raises(kind) as caught:
        start(api, make_job(gpu=gpu), kind="rootless")
    assert said in f"{caught.value.what} {caught.value.remedy}"
    assert api.asked == ["create", "start", "remove"]
