"""Which engine is meant, and what the SDK raises, as errors of ours with what to do next."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest
import requests
from docker.errors import DockerException

from suite.errors import EngineError, RightsError
from suite.host.docker import connection
from suite.host.docker.connection import Daemon, Endpoint, connect, docker_endpoint
from suite.host.machine.surroundings import Container
from tests.fakes.docker_api import HERE, FakeApi, api_error
from tests.fakes.tree import lay


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing names an engine, and no socket is here."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setattr(connection, "DEFAULT_SOCKET", tmp_path / "docker.sock")
    return monkeypatch


def test_the_default_socket_counts_where_nothing_is_named(tmp_path: Path) -> None:
    assert docker_endpoint() is None
    (tmp_path / "docker.sock").touch()
    endpoint = docker_endpoint()
    assert endpoint is not None
    assert (endpoint.kind, endpoint.source) == ("unix", "the default socket")


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("ssh://me@there", "ssh"),
        ("tcp://there:2376", "tcp"),
        ("https://there", "tcp"),
        ("unix:///run/user/1000/docker.sock", "unix"),
        ("tcp://there:docker", None),
        ("there:docker", None),
        ("ssh://me@there:99999", None),
    ],
)
def test_a_named_engine_is_known_by_its_address(
    url: str, kind: str | None, settings: pytest.MonkeyPatch
) -> None:
    settings.setenv("DOCKER_HOST", url)
    settings.setenv("DOCKER_CONTEXT", "x")
    if kind:
        assert docker_endpoint() == Endpoint(kind=kind, url=url, source="DOCKER_HOST")
        return
    with pytest.raises(
        EngineError, match=r"\(DOCKER_HOST\) is not a valid engine address"
    ) as caught:
        docker_endpoint()
    assert caught.value.remedy


def test_contexts_are_followed_and_unknown_ones_refused(
    tmp_path: Path, settings: pytest.MonkeyPatch
) -> None:
    far = '{"Name": "far", "Metadata": {}, "Endpoints": {"docker": {"Host": "ssh://far"}}}'
    unnamed = '{"Name": "unnamed", "Metadata": {}, "Endpoints": {"docker": {}}}'
    contexts = {"far": far, "broken": "{", "strange": "[]", "unnamed": unnamed}
    for name, described in contexts.items():
        digest = hashlib.sha256(name.encode()).hexdigest()
        lay(tmp_path, {f"contexts/meta/{digest}/meta.json": described})
    lay(tmp_path, {"config.json": '{"currentContext": "far"}'})
    current = docker_endpoint()
    assert current == Endpoint(
        kind="ssh", url="ssh://far", source="the current docker context 'far'"
    )
    refused = {
        "nowhere": ("no such", "`docker context ls`"),
        "strange": ("can't be read", "repair or remove"),
        "broken": ("can't be read", "repair or remove"),
        "unnamed": ("names no address", "`docker context ls`"),
    }
    for name, (said, remedy) in refused.items():
        settings.setenv("DOCKER_CONTEXT", name)
        with pytest.raises(EngineError, match=said) as caught:
            docker_endpoint()
        assert remedy in caught.value.remedy


@pytest.mark.parametrize("current", ['""', "null"])
def test_an_empty_current_context_is_the_default_one(current: str, tmp_path: Path) -> None:
    lay(tmp_path, {"config.json": f'{{"currentContext": {current}}}', "docker.sock": ""})
    endpoint = docker_endpoint()
    assert endpoint is not None
    assert endpoint.source == "the default socket"


@pytest.mark.parametrize("place", ["config.json", "config.json/a folder in its place"])
def test_a_broken_configuration_means_no_other_engine(place: str, tmp_path: Path) -> None:
    lay(tmp_path, {place: '{"currentContext": "far"', "docker.sock": ""})
    with pytest.raises(EngineError, match=r"configuration can't be read: .*config\.json"):
        docker_endpoint()


def test_the_connection_is_to_the_engine_that_was_named(
    tmp_path: Path, settings: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256(b"far").hexdigest()
    far = '{"Name": "far", "Endpoints": {"docker": {"Host": "tcp://far:2376"}}}'
    lay(tmp_path, {f"contexts/meta/{digest}/meta.json": far})
    lay(tmp_path / "home", {".docker/config.json": '{"currentContext": "another"}'})
    settings.setenv("HOME", str(tmp_path / "home"))
    settings.setenv("DOCKER_CONTEXT", "far")
    settings.setattr(connection, "_Client", dict)
    endpoint = docker_endpoint()
    assert endpoint is not None
    assert connection._connect(endpoint, 1.0) == {"timeout": 1.0, "base_url": "tcp://far:2376"}
    # One that the SDK can't read, where it finds it.
    lay(tmp_path, {"config.json": "{}"})
    with pytest.raises(EngineError, match="the certificates of DOCKER_CONTEXT 'far'"):
        connection._connect(endpoint, 1.0)


FULL = "write /var/lib/docker/x: no space left on device"
NO_INIT = "container-init binary not found on the host: stat /usr/libexec/podman/catatonit: "
NO_RIGHTS = DockerException("Error: PermissionError(13, 'Permission denied')")


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (NO_RIGHTS, "usermod -aG docker"),
        (PermissionError(13, "Permission denied"), "usermod -aG docker"),
        (DockerException("FileNotFoundError(2, 'No such file or directory')"), "ENGINE=local"),
        (requests.ConnectionError("[Errno 111] Connection refused"), "ENGINE=local"),
        # Of either store.
        (api_error(500, FULL), "`data-root`.*/etc/containerd/config.toml.*20 GB"),
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
    assert re.search(remedy, caught.value.remedy)
    assert isinstance(caught.value, RightsError) == remedy.startswith("usermod")
    assert "unix:///run/fake.sock (DOCKER_HOST)" in caught.value.what
    assert caught.value.__cause__ is not None


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
    monkeypatch.setattr(connection, "find_container", lambda _environment: container)
    with pytest.raises(EngineError, match="no docker engine") as caught:
        connect(None, None)
    assert re.search(remedy, caught.value.remedy)
    assert ("install" in caught.value.remedy) == (container is None)
