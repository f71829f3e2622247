"""A real engine for the tests in this folder: skipped without one, failed where it is required."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from docker.client import from_env

from suite.errors import EngineError
from suite.host.docker.engine import DockerEngine
from suite.host.docker.leftovers import find_image
from suite.host.docker.run import DockerRun
from suite.host.engine import LABEL, Ending, Job
from suite.host.provision.debian_base import STAND_IN
from suite.host.provision.image_table import read_specs
from suite.model import Image
from tests.lacking import lack

SLEEPS = "import time; print('up', flush=True); time.sleep(600)"


def bare(image: str) -> Image:
    """An image of the engine's by its id, whatever it holds."""
    return Image(id=image, content=None, base="", digests=[], lock="", origin="test")


@pytest.fixture(scope="session")
def engine() -> Iterator[DockerEngine]:
    try:
        found = DockerEngine(base_image=os.environ.get("BASE_IMAGE") or None)
    except EngineError as error:
        lack(f"no engine answers: {error.what}")
    with closing(found):
        yield found


@pytest.fixture(scope="session")
def api(engine: DockerEngine) -> Iterator[Any]:
    """The SDK beside the engine, to look at what it did and to disturb it."""
    with closing(from_env()) as client:
        yield client.api


@pytest.fixture(scope="session")
def base(engine: DockerEngine) -> str:
    """A base image that is here: the one asked for, the stand-in, or the pinned one."""
    names = (os.environ.get("BASE_IMAGE"), STAND_IN, read_specs()["cpu"].base)
    found = next((name for name in names if name and find_image(engine._daemon, name)), None)
    looked = ", ".join(filter(None, names))
    return found or lack(f"no base image is here (looked for {looked}): `make base`")


@pytest.fixture(scope="session")
def base_id(engine: DockerEngine, base: str) -> str:
    """The base by its id: a name with a digest does not travel."""
    found = find_image(engine._daemon, base)
    assert found is not None
    return found


@pytest.fixture(scope="session")
def cpu_image(engine: DockerEngine, base: str) -> Image:
    """The real CPU image, on whatever base is here."""
    with closing(DockerEngine(base_image=base)) as found:
        return found.provide("cpu", lambda _line: None)


def read(run: DockerRun) -> list[str]:
    """All that a container says until it ends."""
    return list(iter(lambda: run.next_line(300), None))


def hear(engine: DockerEngine, image: Image, *arguments: str, **changes: Any) -> list[str]:
    """All that a container said, which ended well; one of Python where it begins with ``-c``."""
    job = Job(image=image, arguments=arguments, **{"cpus": engine.cpus(), **changes})
    entrypoint = ("python3",) if arguments[0] == "-c" else ()
    with closing(engine.start(job, entrypoint=entrypoint)) as run:
        said, ending = read(run), run.close()
    assert ending.code == 0, ending.diary
    return said


def describe(engine: DockerEngine, image: Image) -> dict[str, Any]:
    """The facts that the image's own worker tells."""
    said = hear(engine, image, "describe", environment={"CUDA_VISIBLE_DEVICES": "-1"})
    (facts,) = [one["facts"] for one in map(json.loads, said) if one["record"] == "facts"]
    return dict(facts)


class Jobs:
    """Starts one-line Python programs under the worker's limits, and knows their containers."""

    def __init__(self, engine: DockerEngine, api: Any, image: Image) -> None:
        self.engine = engine
        self.api = api
        self.image = image
        self.label = f"{LABEL}.test"
        self.session = uuid.uuid4().hex

    def make(self, code: str, **changes: Any) -> Job:
        """The job of a program."""
        given = {"image": self.image, "cpus": self.engine.cpus()[:1], **changes}
        return Job(arguments=("-c", code), labels={self.label: self.session}, **given)

    def start(self, code: str, engine: DockerEngine | None = None, **changes: Any) -> DockerRun:
        """``engine`` is another way to the same one."""
        return (engine or self.engine).start(self.make(code, **changes), entrypoint=("python3",))

    def begin(self, engine: DockerEngine | None = None, **changes: Any) -> DockerRun:
        """A container that is up, and does not end by itself."""
        run = self.start(SLEEPS, engine, **changes)
        assert run.next_line(60) == "up"
        return run

    def run(self, code: str, **changes: Any) -> tuple[list[str], Ending]:
        with closing(self.start(code, **changes)) as run:
            return read(run), run.close()

    def left(self) -> list[str]:
        """The containers of these jobs that are still there, running or not."""
        found = self.api.containers(all=True, filters={"label": f"{self.label}={self.session}"})
        return [container["Id"] for container in found]


@pytest.fixture
def jobs(engine: DockerEngine, api: Any, base_id: str) -> Iterator[Jobs]:
    jobs = Jobs(engine, api, bare(base_id))
    yield jobs
    left = jobs.left()
    for container in left:
        api.remove_container(container, force=True, v=True)
    assert left == [], "a test's containers were left behind"
