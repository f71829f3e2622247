"""Engines that are not there, refuse, or vanish in the middle of a run."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.docker import connection
from suite.host.docker.connection import docker_endpoint
from suite.host.docker.engine import DockerEngine
from tests.engine.conftest import Jobs
from tests.fakes.proxy import Proxy

# The SDK does not close a socket whose connection failed; it goes with the exception.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture(autouse=True)
def sockets_gone() -> Iterator[None]:
    yield
    gc.collect()


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_socket_without_engine(tmp_path: Path, no_settings: pytest.MonkeyPatch) -> None:
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    no_settings.setenv("DOCKER_HOST", f"unix://{path}")
    with pytest.raises(EngineError, match="no engine is running there") as caught:
        DockerEngine()
    assert "ENGINE=local" in caught.value.remedy
    assert "DOCKER_HOST" in caught.value.what


@pytest.mark.parametrize("host", ["tcp://127.0.0.1", "ssh://nobody@127.0.0.1"])
def test_nobody_listens_on_that_port(
    host: str, no_settings: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    no_settings.setenv("HOME", str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        no_settings.setenv("DOCKER_HOST", f"{host}:{taken.getsockname()[1]}")
        with pytest.raises(EngineError) as caught:
            DockerEngine()
    assert caught.value.remedy


@pytest.fixture
def proxied(
    jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[DockerEngine, Proxy]]:
    endpoint = docker_endpoint()
    assert endpoint is not None
    if endpoint.kind != "unix":
        pytest.skip("the proxy stands in front of a local socket only")
    proxy = Proxy(tmp_path / "proxy.sock", endpoint.url.partition("://")[2])
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/proxy.sock")
    engine = DockerEngine()
    yield engine, proxy
    engine.close()
    proxy.vanish()


def test_an_engine_that_vanishes_in_the_middle_of_a_run(
    jobs: Jobs, proxied: tuple[DockerEngine, Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, proxy = proxied
    monkeypatch.setattr(connection, "AWAY_S", 2.0)
    run = jobs.begin(engine)
    proxy.vanish()
    with pytest.raises(EngineError):
        run.next_line(60)
    run.stop()
    with pytest.raises(EngineError) as caught:
        run.close()
    assert caught.value.exit_status == 3
    # The engine itself lives on behind the proxy, and so does the container: its owner, this
    # process, is alive, so that only we may remove it.
    assert jobs.left() == [run.id]
    jobs.api.remove_container(run.id, force=True)
    assert os.environ["DOCKER_HOST"].endswith("proxy.sock")


def test_who_leaves_an_engine_that_hangs_is_out_soon_and_told_what_is_left(
    jobs: Jobs, proxied: tuple[DockerEngine, Proxy]
) -> None:
    engine, proxy = proxied
    run = jobs.begin(engine)
    proxy.hang()
    ending = run.abandon()
    engine.release()
    assert f"docker rm -f {run.id[:12]}" in ending.left
    assert jobs.left() == [run.id]
    jobs.api.remove_container(run.id, force=True)


def test_two_users_of_an_engine_meet_in_its_mark(base: str) -> None:
    engine, other = DockerEngine(base_image=base), DockerEngine(base_image=base)
    other._owner = "elsewhere|1@1"
    assert engine.claim() is None
    try:
        assert "docker volume rm crossover-campaign" in str(other.claim())
        other.release()
        assert engine.claim() is None
    finally:
        engine.release()
    assert other.claim() is None
    other.release()
    for one in (engine, other):
        one.close()
