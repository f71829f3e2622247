"""Which engine is meant, what its refusals mean, and what a container may use: without an engine."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import requests
from docker.errors import DockerException
from requests.exceptions import ReadTimeout

from suite.errors import EngineError, GpuError
from suite.host.docker import describe, run
from suite.host.docker.describe import Description
from suite.host.docker.endpoint import Endpoint, find_endpoint
from suite.host.docker.engine import DockerEngine
from suite.host.docker.errors import Refused, engine_errors, explain, sdk_calls
from suite.host.docker.limits import container_limits, job_labels
from suite.host.docker.run import start_run
from suite.host.engine import LABEL, GpuRequest, Job
from suite.host.machine.ending import phrase_ending
from tests.fakes.docker_api import HERE, IMAGE, FakeApi, api_error

GPU = GpuRequest(driver="nvidia", devices=("0",))


def test_the_engine_is_named_as_dockers_client_does(tmp_path: Path) -> None:
    socket = tmp_path / "docker.sock"
    home = {"HOME": str(tmp_path)}
    assert find_endpoint(home, socket) is None
    socket.touch()
    found = find_endpoint(home, socket)
    assert found is not None
    assert (found.kind, found.source) == ("unix", "the default socket")
    for url, kind in {
        "ssh://me@there": "ssh",
        "tcp://there:2376": "tcp",
        "https://there": "tcp",
        "there:2375": "tcp",
        "unix:///run/user/1000/docker.sock": "unix",
    }.items():
        found = find_endpoint({**home, "DOCKER_HOST": url, "DOCKER_CONTEXT": "x"}, socket)
        assert found == Endpoint(kind=kind, url=url, source="DOCKER_HOST")


def test_an_address_whose_port_is_none_is_refused_by_its_source(tmp_path: Path) -> None:
    for url in ("tcp://there:docker", "there:docker", "ssh://me@there:99999"):
        with pytest.raises(EngineError, match=r"\(DOCKER_HOST\) is no engine's address") as caught:
            find_endpoint({"HOME": str(tmp_path), "DOCKER_HOST": url})
        assert caught.value.remedy


def write_context(folder: Path, name: str, described: object) -> None:
    digest = hashlib.sha256(name.encode()).hexdigest()
    path = folder / "contexts" / "meta" / digest / "meta.json"
    path.parent.mkdir(parents=True)
    path.write_text(described if isinstance(described, str) else json.dumps(described))


def test_contexts_are_followed_and_unknown_ones_refused(tmp_path: Path) -> None:
    environment = {"DOCKER_CONFIG": str(tmp_path)}
    write_context(tmp_path, "far", {"Endpoints": {"docker": {"Host": "ssh://far"}}})
    write_context(tmp_path, "empty", {"Endpoints": {}})
    write_context(tmp_path, "broken", "{")
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "far"}))
    current = find_endpoint(environment)
    assert current is not None
    assert current.kind == "ssh"
    for name, said in {
        "nowhere": "no docker context",
        "empty": "no address",
        "broken": "read",
    }.items():
        with pytest.raises(EngineError, match=said) as caught:
            find_endpoint({**environment, "DOCKER_CONTEXT": name})
        assert caught.value.remedy


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (DockerException("Error: PermissionError(13, 'Permission denied')"), "usermod -aG docker"),
        (DockerException("FileNotFoundError(2, 'No such file or directory')"), "ENGINE=local"),
        (requests.ConnectionError("[Errno 111] Connection refused"), "ENGINE=local"),
        (api_error(500, "write /var/lib/docker/x: no space left on device"), "20 GB"),
        (api_error(500, "toomanyrequests: You have reached your pull rate limit"), "docker login"),
        (api_error(500, "nobody has seen this"), "engine's own log"),
        # An engine that answers is there, whatever it says of its own troubles.
        (
            api_error(
                500,
                "container create: container-init binary not found on the host: stat "
                "/usr/libexec/podman/catatonit: no such file or directory",
            ),
            "catatonit",
        ),
        (
            api_error(
                500,
                "crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied",
            ),
            "default_ulimits",
        ),
        (api_error(500, "crun: cgroups in hybrid mode not supported, drop all"), "runc"),
    ],
)
def test_what_the_sdk_raises_becomes_an_error_with_a_remedy(error: Exception, remedy: str) -> None:
    with pytest.raises(EngineError) as caught, engine_errors("trying", HERE):
        raise error
    assert remedy in caught.value.remedy
    assert "unix:///run/fake.sock (DOCKER_HOST)" in caught.value.what
    assert caught.value.__cause__ is not None


def test_a_no_is_told_from_silence() -> None:
    with pytest.raises(Refused) as caught, sdk_calls("trying", HERE):
        raise api_error(404, "No such image: x")
    assert caught.value.missing
    with pytest.raises(EngineError), sdk_calls("trying", HERE):
        raise requests.exceptions.ReadTimeout("Read timed out")
    assert explain("all is well") is None


def job(**changes: Any) -> Job:
    return Job(**{"image": IMAGE, "arguments": ("describe",), "cpus": (0, 2, 3), **changes})


def test_a_container_gets_what_it_needs_and_nothing_more() -> None:
    limits = container_limits(job(memory_bytes=5), memlock=True)
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
    assert "ulimits" not in limits
    assert "device_requests" not in limits
    assert "mem_limit" not in container_limits(job(), memlock=True)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            GpuRequest(driver="nvidia", devices=("1",)),
            {"DeviceIDs": ["1"], "Driver": "", "Capabilities": [["gpu", "compute", "utility"]]},
        ),
        (
            GpuRequest(driver="cdi", devices=("nvidia.com/gpu=1",)),
            {"DeviceIDs": ["nvidia.com/gpu=1"], "Driver": "cdi", "Capabilities": []},
        ),
    ],
)
def test_a_gpu_is_asked_for_by_name(request_: GpuRequest, expected: dict[str, Any]) -> None:
    limits = container_limits(job(gpu=request_), memlock=True)
    (asked,) = limits["device_requests"]
    assert {key: asked[key] for key in expected} == expected
    assert limits["ulimits"][0]["Name"] == "memlock"
    assert "ulimits" not in container_limits(job(gpu=request_), memlock=False)


@pytest.mark.parametrize(
    ("gpu", "told"),
    [
        (None, {}),
        (GpuRequest(driver="nvidia", devices=("0",)), {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}),
        (
            GpuRequest(driver="nvidia", devices=("1",), visible="1"),
            {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"},
        ),
    ],
)
def test_cuda_in_a_container_counts_as_nvidia_smi(
    gpu: GpuRequest | None, told: dict[str, str]
) -> None:
    api = FakeApi()
    api.failures["start"] = api_error(500, "no more than that is needed")
    with pytest.raises(EngineError if gpu is None else GpuError):
        start_run(api, HERE, job(gpu=gpu, environment={"A": "b"}), owner="me")
    assert api.created["environment"] == {"A": "b", **told}


def test_a_refusal_is_explained_for_the_engine_that_refused() -> None:
    api = FakeApi()
    api.failures["start"] = api_error(500, "unknown or invalid runtime name: nvidia")
    gpu = GpuRequest(driver="nvidia", devices=("0",))
    with pytest.raises(GpuError) as caught:
        start_run(api, HERE, job(gpu=gpu), owner="me", kind="rootless")
    assert "systemctl --user restart docker" in caught.value.remedy


@pytest.mark.parametrize(
    ("info", "component", "kind"),
    [
        ({}, "Engine", "docker"),
        ({"SecurityOptions": ["name=seccomp", "name=rootless"]}, "Engine", "rootless"),
        ({"SecurityOptions": ["name=rootless"]}, "Podman Engine", "podman"),
    ],
)
def test_an_engine_is_known_by_what_sets_it_up(
    info: dict[str, Any], component: str, kind: str
) -> None:
    version = {"Components": [{"Name": component, "Version": "5.4.2"}]}
    described = Description(endpoint=HERE, info=info, version=version)
    assert described.kind == engine_of(described)._gpu_search.kind == kind


def engine_of(described: Description) -> DockerEngine:
    engine = object.__new__(DockerEngine)
    engine._endpoint, engine._description = described.endpoint, described
    return engine


def test_the_disk_that_is_looked_at_holds_the_images(monkeypatch: pytest.MonkeyPatch) -> None:
    info = {
        "DockerRootDir": "/var/lib/docker",
        "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]],
    }
    engine = engine_of(Description(endpoint=HERE, info=info, version={}))
    monkeypatch.setattr(describe, "is_this_machine", lambda _info: True)
    assert engine.data_root == "/var/lib/containerd"
    monkeypatch.setattr(describe, "is_this_machine", lambda _info: None)
    assert engine.data_root is None


def test_our_labels_win_over_the_jobs() -> None:
    labels = job_labels(job(labels={"campaign": "c", LABEL: "forged"}), "me")
    assert labels == {"campaign": "c", LABEL: "run", f"{LABEL}.owner": "me"}


def test_a_refused_start_leaves_nothing_behind() -> None:
    for gpu, status, text, kind in (
        (None, 404, "No such image: sha256:1", EngineError),
        (None, 500, "Requested CPUs are not available", EngineError),
        (GpuRequest(driver="nvidia", devices=("0",)), 500, "could not select device", GpuError),
    ):
        api = FakeApi()
        api.failures["start"] = api_error(status, text)
        with pytest.raises(kind, match=text.split(":")[0][:12] if status != 404 else "no image"):
            start_run(api, HERE, job(gpu=gpu), owner="me")
        assert api.asked == ["create", "start", "remove"]


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
    monkeypatch: pytest.MonkeyPatch, call: str, gpu: GpuRequest | None, kind: type, said: str
) -> None:
    api, second = FakeApi(), FakeApi()
    waits = []
    monkeypatch.setattr(
        run, "connect", lambda _where, patience_s: waits.append(patience_s) or second
    )
    api.failures[call] = ReadTimeout("UnixHTTPConnectionPool(host='localhost'): Read timed out.")
    with pytest.raises(kind, match=said):
        start_run(api, HERE, job(gpu=gpu), owner="me")
    # What hangs can't be removed yet: nobody waits a minute for that.
    assert "remove" not in api.asked
    assert (second.asked, waits) == (["remove"], [5.0])


def test_a_refused_memlock_is_told_apart_so_that_it_can_be_left_out() -> None:
    api = FakeApi()
    api.failures["start"] = api_error(500, "error setting rlimit type 8: operation not permitted")
    request = GpuRequest(driver="nvidia", devices=("0",))
    with pytest.raises(Refused):
        start_run(api, HERE, job(gpu=request), owner="me", memlock=True)
    with pytest.raises(GpuError):
        start_run(api, HERE, job(gpu=request), owner="me", memlock=False)


@pytest.mark.parametrize(
    ("code", "oom", "phrase"),
    [
        (0, False, "exit code 0"),
        (3, False, "exit code 3"),
        (125, False, "exit code 125: the engine could not run it"),
        (132, False, "killed by SIGILL (an instruction that this CPU lacks"),
        (137, False, "killed by SIGKILL"),
        (137, True, "out of memory (limit 2.00 GiB)"),
        (139, False, "killed by SIGSEGV (a crash in native code)"),
        (227, False, "killed by signal 99"),
        (None, False, "ended without an exit code"),
    ],
)
def test_an_ending_is_put_into_words(code: int | None, oom: bool, phrase: str) -> None:
    said = phrase_ending(code, out_of_memory=oom, memory_bytes=2 * 2**30)
    assert said.startswith(phrase)
