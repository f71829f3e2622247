"""Which engine is meant, and what the SDK raises, as errors of ours with what to do next."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
import requests
from docker.errors import DockerException

from suite.errors import EngineError, RightsError
from suite.host.docker import connection as connecting
from suite.host.docker.connection import Daemon, Endpoint, connect, find_endpoint
from suite.host.machine.surroundings import Container
from tests.fakes.docker_api import HERE, FakeApi, api_error
from tests.fakes.tree import lay


def test_the_default_socket_counts_where_nothing_is_named(tmp_path: Path) -> None:
    socket = tmp_path / "docker.sock"
    assert find_endpoint({"HOME": str(tmp_path)}, socket) is None
    socket.touch()
    found = find_endpoint({"HOME": str(tmp_path)}, socket)
    assert found is not None
    assert (found.kind, found.source) == ("unix", "the default socket")


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ssh://me@there", "ssh"),
        ("tcp://there:2376", "tcp"),
        ("https://there", "tcp"),
        ("there:2375", "tcp"),
        ("unix:///run/user/1000/docker.sock", "unix"),
        ("tcp://there:docker", None),
        ("there:docker", None),
        ("ssh://me@there:99999", None),
    ],
)
def test_a_named_engine_is_known_by_its_address(url: str, kind: str | None, tmp_path: Path) -> None:
    named = {"HOME": str(tmp_path), "DOCKER_HOST": url, "DOCKER_CONTEXT": "x"}
    if kind:
        assert find_endpoint(named) == Endpoint(kind=kind, url=url, source="DOCKER_HOST")
    else:
        with pytest.raises(
            EngineError, match=r"\(DOCKER_HOST\) is not a valid engine address"
        ) as caught:
            find_endpoint(named)
        assert caught.value.remedy


def test_contexts_are_followed_and_unknown_ones_refused(tmp_path: Path) -> None:
    for name, described in {
        "far": '{"Endpoints": {"docker": {"Host": "ssh://far"}}}',
        "empty": '{"Endpoints": {}}',
        "broken": "{",
    }.items():
        digest = hashlib.sha256(name.encode()).hexdigest()
        lay(tmp_path, {f"contexts/meta/{digest}/meta.json": described})
    lay(tmp_path, {"config.json": '{"currentContext": "far"}'})
    environment = {"DOCKER_CONFIG": str(tmp_path)}
    current = find_endpoint(environment)
    assert current is not None
    assert current.kind == "ssh"
    for name, said in {"nowhere": "context", "empty": "no address", "broken": "read"}.items():
        with pytest.raises(EngineError, match=said) as caught:
            find_endpoint({**environment, "DOCKER_CONTEXT": name})
        assert caught.value.remedy


FULL = "write /var/lib/docker/x: no space left on device"
NO_INIT = "container-init binary not found on the host: stat /usr/libexec/podman/catatonit: "


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (DockerException("Error: PermissionError(13, 'Permission denied')"), "usermod -aG docker"),
        (DockerException("FileNotFoundError(2, 'No such file or directory')"), "ENGINE=local"),
        (requests.ConnectionError("[Errno 111] Connection refused"), "ENGINE=local"),
        # Of either store.
        *(
            (api_error(500, FULL), said)
            for said in ("20 GB", "/etc/containerd/config.toml", "`data-root`")
        ),
        (api_error(500, "toomanyrequests: You have reached your pull rate limit"), "docker login"),
        (api_error(500, "nobody has seen this"), "engine's own log"),
        # An engine that answers is there, whatever it says of its own troubles.
        (api_error(500, NO_INIT + "no such file or directory"), "catatonit"),
        (
            api_error(500, "crun: setrlimit `RLIMIT_NOFILE`: OCI permission denied"),
            "default_ulimits",
        ),
        (api_error(500, "crun: cgroups in hybrid mode not supported, drop all"), "runc"),
    ],
)
def test_what_the_sdk_raises_becomes_an_error_with_a_remedy(error: Exception, remedy: str) -> None:
    with pytest.raises(EngineError) as caught, Daemon(FakeApi(), HERE).errors("trying"):
        raise error
    assert remedy in caught.value.remedy
    assert "unix:///run/fake.sock (DOCKER_HOST)" in caught.value.what
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("error", "barred"),
    [
        (PermissionError(13, "Permission denied"), True),
        (DockerException("Error: PermissionError(13, 'Permission denied')"), True),
        (ConnectionRefusedError(111, "Connection refused"), False),
    ],
)
def test_an_engine_that_lets_this_user_not_in_is_told_by_its_kind(
    error: Exception, barred: bool
) -> None:
    with pytest.raises(EngineError) as caught, Daemon(FakeApi(), HERE).errors("trying"):
        raise error
    assert isinstance(caught.value, RightsError) == barred


@pytest.mark.parametrize(
    ("container", "remedy"),
    [
        (None, "apt-get install docker.io"),
        (
            Container(engine="docker", provider="RunPod"),
            r"container itself \(RunPod, docker\).*ENGINE=inside",
        ),
    ],
)
def test_where_there_is_no_engine_one_is_only_installed_on_a_machine(
    container: Container | None, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "find_container", lambda _environment: container)
    with pytest.raises(EngineError, match="no docker engine") as caught:
        connect(None, None)
    assert re.search(remedy, caught.value.remedy)
    assert ("install" in caught.value.remedy) == (container is None)
