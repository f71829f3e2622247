"""Engines of other kinds and versions, started here and removed again.

Skipped where the machine can't have them by its nature (no root, no room, no podman); with
REQUIRE_ENGINE=1, as in their own session, whatever else does not start is a failure.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from docker.client import from_env

from suite.host.docker.engine import DockerEngine
from tests.commands import run
from tests.engine.conftest import base, engine
from tests.engines.nested import (
    DEBIAN_FREE_BYTES,
    Bench,
    Machine,
    Nested,
    build,
    start_docker,
    start_podman,
    start_rootless,
)
from tests.fakes.daemons import carry_image, on_gpu_machine

# The GPU that the stand-ins make, for the engine which passes it through.
from tests.gpu_runtime.conftest import environment, healthy, site, stand_ins
from tests.lacking import lack

__all__ = ["base", "engine", "environment", "healthy", "site", "stand_ins"]


@pytest.fixture(scope="session")
def machine(base: str) -> Iterator[Machine]:
    with closing(DockerEngine(base_image=base)) as own, closing(from_env(timeout=900)) as client:
        yield Machine(own, client.api, base)


@pytest.fixture(scope="session")
def debian(machine: Machine) -> Iterator[str]:
    """An image with all these engines in it."""
    if machine.engine.is_here is not True:
        lack("the machine's engine is elsewhere: its containers' sockets can't be reached")
    free = shutil.disk_usage(machine.engine.data_root or "/").free
    if free < DEBIAN_FREE_BYTES:
        pytest.skip(
            f"{free / 1e9:.0f} GB free, and other engines want {DEBIAN_FREE_BYTES / 1e9:.0f}"
        )
    image = make_debian(machine, machine.base)
    yield image
    machine.api.remove_image(image)


def make_debian(machine: Machine, base: str) -> str:
    try:
        return build(machine.api, base)
    except RuntimeError as error:
        lack(str(error))


def start(machine: Machine, image: str, begin: Callable[[Nested], None]) -> Iterator[Nested]:
    nested = Nested(machine.api, image)
    try:
        try:
            begin(nested)
        except RuntimeError as error:
            lack(str(error))
        carry_image(machine.api, machine.base, nested.url)
        yield nested
    finally:
        nested.remove()


@pytest.fixture(scope="module")
def docker26(machine: Machine, debian: str) -> Iterator[Nested]:
    yield from start(machine, debian, start_docker)


@pytest.fixture(scope="module")
def podman5(machine: Machine, debian: str) -> Iterator[Nested]:
    yield from start(machine, debian, start_podman)


@pytest.fixture(scope="module")
def rootless(machine: Machine, debian: str) -> Iterator[Nested]:
    yield from start(machine, debian, start_rootless)


@pytest.fixture
def reach(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], DockerEngine]]:
    """The suite's engine at an address; no container may be left there."""
    opened: list[DockerEngine] = []

    def connect(url: str) -> DockerEngine:
        monkeypatch.setenv("DOCKER_HOST", url)
        opened.append(DockerEngine(base_image=machine.base))
        return opened[-1]

    yield connect
    left = [one["Id"] for own in opened for one in own._daemon.api.containers(all=True)]
    for own in opened:
        own.close()
    assert left == [], "containers were left behind"


@pytest.fixture
def bench(machine: Machine, tmp_path: Path) -> Bench:
    """The whole command on an engine, where a GPU is to be seen or is not."""

    def begin(url: str, *words: str, gpu: bool = False) -> CompletedProcess[str]:
        command = [
            *(sys.executable, "-m", "suite", "bench", "--profile", "smoke"),
            *("--results", str(tmp_path / "results"), *words),
        ]
        if gpu:
            (tmp_path / "scratch").mkdir()
            command = on_gpu_machine(tmp_path / "scratch", command)
        env = {"DOCKER_HOST": url, "BASE_IMAGE": machine.base}
        return run(*command, env=env, limit_s=600)

    return begin
