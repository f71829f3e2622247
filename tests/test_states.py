"""Planted states of a machine without a GPU: what `make doctor` says of each, `make bench` then does."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from suite.errors import EngineError, GpuError, UsageError
from suite.host.campaign.store import only_campaign
from suite.host.gpu.visible_devices import machine_gpus, pci_gpus
from suite.host.machine.lock import MACHINE, Lock
from tests.agreement import compare
from tests.commands import Command
from tests.fakes import scripted_python
from tests.fakes.engine_server import WELL, Answer, EngineServer, info_here

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(bool(machine_gpus() or pci_gpus()), reason="this machine has a GPU"),
]

USAGE, ENGINE, GPU = UsageError.exit_status, EngineError.exit_status, GpuError.exit_status
FAILED, BUSY = 1, 6

NOT_FOUND = "dial tcp: lookup registry-1.docker.io: no such host"
NO_REGISTRY: Mapping[str, Answer] = {
    **WELL,
    "GET /distribution/.+/json": (500, {"message": NOT_FOUND}),
    "POST /images/create": (500, {"message": NOT_FOUND}),
}
HERE = {"Id": "sha256:base", "RepoDigests": []}
"""An image that is there."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What is planted, and how bench ends.

    ``words`` are both commands', ``variables`` their environment's; ``engine`` what an engine answers,
    ``python`` how the interpreter that LOCAL_PYTHON names works.  ``results`` makes their folder
    what it is.  ``unseen`` is why no look beforehand can see it.
    """

    status: int
    words: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    engine: Mapping[str, Answer] | None = None
    python: str = ""
    results: Callable[[Path], contextlib.AbstractContextManager[Path]] | None = None
    unseen: str = ""


def a_file(folder: Path) -> contextlib.AbstractContextManager[Path]:
    path = folder / "file"
    path.touch()
    return contextlib.nullcontext(path)


def nowhere(_folder: Path) -> contextlib.AbstractContextManager[Path]:
    return contextlib.nullcontext(Path("/proc/nowhere"))


@contextlib.contextmanager
def a_busy_one(folder: Path) -> Iterator[Path]:
    with only_campaign(folder / "busy"):
        yield folder / "busy"


@contextlib.contextmanager
def a_busy_machine(folder: Path) -> Iterator[Path]:
    with contextlib.ExitStack() as held:
        for command in ("doctor", "bench"):
            (folder / command).mkdir()
            lock = held.enter_context(
                contextlib.closing(Lock(folder / command, MACHINE, make=True))
            )
            assert lock.take() is None
        yield folder / "its own"


LOCAL = ("--engine", "local")
DOCKER = ("--engine", "docker")
FULL_DISK = {**info_here(), "DockerRootDir": "/proc"}
NOWHERE = {"DOCKER_CONTEXT": "nowhere"}
NOBODY = {"DOCKER_HOST": "tcp://127.0.0.1:1"}


def lost(**variables: str) -> State:
    """No engine is found by these variables."""
    return State(status=ENGINE, variables=variables)


def answered(engine: Mapping[str, Answer], *words: str) -> State:
    """What answers in the engine's place is of no use."""
    return State(status=ENGINE, engine=engine, words=words)


def refused(*words: str, **more: Any) -> State:
    """Words that make no sense together."""
    return State(status=USAGE, words=words, **more)


STATES: Mapping[str, State] = {
    "nobody at DOCKER_HOST": lost(**NOBODY),
    "no socket at DOCKER_HOST": lost(DOCKER_HOST="unix:///nowhere/docker.sock"),
    "a port that is none in DOCKER_HOST": lost(DOCKER_HOST="tcp://127.0.0.1:docker"),
    "an address of no kind in DOCKER_HOST": lost(DOCKER_HOST="smoke://signals"),
    "an unknown DOCKER_CONTEXT": lost(**NOWHERE),
    "a file that is not a folder as DOCKER_CONFIG": lost(DOCKER_CONFIG="/proc/version"),
    "an engine that hangs up": answered({"GET /.*": (0, None)}),
    "an engine that refuses this user": answered(
        {"GET /.*": (403, {"message": "authorization denied by plugin"})}
    ),
    "a page of HTML in the engine's place": answered({"GET /.*": (200, "<html>It works!</html>")}),
    "JSON of something else in the engine's place": answered(
        {"GET /.*": (200, {"hello": "world"})}
    ),
    "a list in the engine's place": answered({**WELL, "GET /info": (200, ["hello"])}),
    "lists alone in the engine's place": answered({"GET /.*": (200, ["hello"])}),
    "an engine whose containers may not be listed": answered(
        {**WELL, "GET /containers/json": (403, {"message": "not for you"})}
    ),
    "an engine without the base image, and no registry": answered(NO_REGISTRY),
    "a base image that does not exist": answered(
        {
            **NO_REGISTRY,
            "GET /distribution/.+/json": (401, {"message": "pull access denied"}),
            "POST /images/create": (404, {"message": "pull access denied"}),
        },
        *("--base-image", "nowhere/none:1"),
    ),
    "a full disk of the engine's": answered(
        {**WELL, "GET /images/.+/json": (200, HERE), "GET /info": (200, FULL_DISK)}
    ),
    "a CUDA_IMAGE that does not exist": answered(
        NO_REGISTRY, "--arms", "cuda-hidden", "--cuda-image", "nowhere/none:1"
    ),
    "the arm cuda without a GPU, in an engine": State(
        status=GPU, words=("--arms", "cuda"), engine=WELL
    ),
    "the arm cuda without a GPU, without an engine": State(
        status=GPU, words=("--arms", "cpu cuda", *LOCAL), python="well"
    ),
    "a GPU that is not there, for the arm cuda": State(
        status=GPU, words=("--arms", "cuda", "--gpu", "7", *LOCAL), python="well"
    ),
    "a GPU that is not there, for whatever there is": State(
        status=0, words=("--gpu", "7"), python="well"
    ),
    "an interpreter that has TensorFlow": State(status=0, python="well"),
    "a cell that fails": State(
        status=FAILED, python="failed", unseen="the cell fails when it is measured"
    ),
    "a TensorFlow that is too old": State(status=ENGINE, python="unfit"),
    "no interpreter at LOCAL_PYTHON": State(
        status=ENGINE, words=("--local-python", "/nowhere/python")
    ),
    "something else at LOCAL_PYTHON": State(status=ENGINE, words=("--local-python", "/bin/true")),
    "results in a file": refused(python="well", results=a_file),
    "results where no folder can be": refused(python="well", results=nowhere),
    "results where nothing can be, and no engine": refused(variables=NOBODY, results=nowhere),
    "another campaign in the results": State(status=BUSY, python="well", results=a_busy_one),
    "another campaign in the results, and no engine": State(
        status=BUSY, variables=NOWHERE, results=a_busy_one
    ),
    "another campaign on the machine": State(status=BUSY, python="well", results=a_busy_machine),
    "another campaign on the machine, beside docker": State(
        status=BUSY, engine=WELL, results=a_busy_machine
    ),
    "an unknown arm": refused("--arms", "cpu tpu", python="well"),
    "an unknown arm, and no engine": refused("--arms", "tpu", variables=NOWHERE),
    "an arm named three times": refused("--arms", "cpu cpu cpu", python="well"),
    "a GPU of no notation": refused("--gpu", "first", python="well"),
    "every GPU where there is none": State(status=GPU, words=("--gpu", "all"), python="well"),
    "every GPU for no arm": refused("--gpu", "all", "--arms", "cpu", variables=NOWHERE),
    "LOCAL_PYTHON for docker": refused(*DOCKER, "--local-python", "/bin/true", engine=WELL),
    "BASE_IMAGE for the local engine": refused("--base-image", "x", *LOCAL),
    "CUDA_IMAGE for the local engine": refused("--cuda-image", "x", python="well"),
    "CUDA_IMAGE for no arm": refused("--cuda-image", "x", "--arms", "cpu", engine=WELL),
}


@pytest.mark.parametrize("name", STATES)
def test_the_doctor_says_what_bench_does(name: str, tmp_path: Path) -> None:
    state = STATES[name]
    with contextlib.ExitStack() as stack:
        words, variables = list(state.words), {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        if state.engine is not None:
            server = EngineServer(state.engine)
            stack.callback(server.close)
            variables["DOCKER_HOST"] = server.url
        if state.python:
            python = scripted_python.write(tmp_path / "python", state.python)
            words += ["--local-python", str(python)]
        variables |= state.variables
        planted = state.results and stack.enter_context(state.results(tmp_path))
        # Each its own folder where nothing is planted in it: the one that measures locks it.
        both = [planted or tmp_path / name for name in ("doctor-results", "bench-results")]
        short = ("--profile", "smoke", "--blocks", "1", "--only", "overhead.fence")
        commands = (
            ["doctor", "--json", "--results", str(both[0]), *words],
            ["bench", *short, "--telemetry", "off", "--results", str(both[1]), *words],
        )
        under_way = [Command(one, variables, tmp_path / one[0]) for one in commands]
        doctor, bench = (one.wait() for one in under_way)
    found = compare(doctor, bench, unseen=state.unseen)
    assert (found, bench.returncode) == ([], state.status), bench.stderr
