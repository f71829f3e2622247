"""What the SDK raises, as errors of ours with what to do next."""

from __future__ import annotations

import re

import pytest
import requests
from docker.errors import DockerException

from suite.errors import EngineError, RightsError
from suite.host.docker import connection as connecting
from suite.host.docker.connection import Daemon, connect
from suite.host.machine.surroundings import Container
from tests.fakes.docker_api import HERE, FakeApi, api_error

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
