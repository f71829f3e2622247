"""Which engine is opened for which options, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from suite.cli import engines
from suite.errors import UsageError
from suite.host.campaign.options import Options
from suite.host.engine import GpuRequest
from suite.host.gpu.choice import VISIBLE
from suite.host.machine.surroundings import Container
from tests.fakes.engine import FakeEngine

Door = Callable[..., tuple[str, dict[str, Any], list[str]]]

PYTHON = {"local_python": "/opt/python"}
BARE = {"base_image": None, "cuda_image": None}


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    """Opens the engine where docker is here or not: its name, its options, and what is said."""

    def open_(
        *, docker: bool, container: Container | None = None, **given: Any
    ) -> tuple[str, dict[str, Any], list[str]]:
        opened: list[tuple[str, dict[str, Any]]] = []
        said: list[str] = []

        def make(name: str) -> Callable[..., FakeEngine]:
            def engine(**options: Any) -> FakeEngine:
                opened.append((name, options))
                return FakeEngine()

            return engine

        monkeypatch.setattr(engines, "docker_endpoint", lambda: object() if docker else None)
        monkeypatch.setattr(engines, "find_container", lambda _environment: container)
        monkeypatch.setattr(engines, "open_docker", make("docker"))
        monkeypatch.setattr(engines, "LocalEngine", make("local"))
        monkeypatch.setattr(engines, "InsideEngine", make("inside"))
        engines.open_engine(Options.parse(given), said.append)
        ((name, options),) = opened
        return name, options, said

    return open_


def test_where_docker_is_here_it_is_taken(door: Door) -> None:
    assert door(docker=True) == ("docker", BARE, [])
    images = {"base_image": "x", "cuda_image": "y"}
    assert door(docker=False, engine="docker", **images) == ("docker", images, [])


@pytest.mark.parametrize(
    ("docker", "given", "why"),
    [
        (False, {}, "no docker engine is here"),
        (True, {"engine": "local", **PYTHON}, "ENGINE=local was asked for"),
        (True, PYTHON, "LOCAL_PYTHON was given"),
    ],
)
def test_the_local_engine_stands_in_with_a_banner(
    docker: bool, given: dict[str, str], why: str, door: Door
) -> None:
    name, options, said = door(docker=docker, **given)
    assert (name, options) == ("local", {"python": given.get("local_python")})
    assert said[0].startswith(f"NOT CONTAINERIZED: {why}")


def test_who_asks_for_it_runs_inside_of_what_somebody_else_started(door: Door) -> None:
    for docker in (True, False):
        name, options, said = door(docker=docker, engine="inside", local_python="/opt/python")
        assert (name, options) == ("inside", {"python": "/opt/python"})
        assert said[0].startswith("CONTAINER, ENGINE NOT SEEN: ENGINE=inside was asked for")


RENTED = Container(engine="docker", provider="vast.ai")


def test_a_container_without_an_engine_is_run_as_what_it_is(door: Door) -> None:
    assert door(docker=False, container=RENTED, **PYTHON)[0] == "inside"
    name, _, said = door(docker=False, container=RENTED)
    assert name == "inside"
    (line,) = said
    assert line.startswith(
        "CONTAINER, ENGINE NOT SEEN: this is a container that the suite did not start (vast.ai, docker);"
    )
    assert "can't be seen from here" in line


def test_a_container_with_an_engine_of_its_own_takes_that(door: Door) -> None:
    assert door(docker=True, container=RENTED)[0] == "docker"
    assert door(docker=True, container=RENTED, **PYTHON)[0] == "local"
    assert door(docker=False, container=RENTED, engine="local")[0] == "local"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[str | None, list[str]]]:
    """Which GPU is named in the end, and what is said, for a CUDA_VISIBLE_DEVICES (None: not set)."""

    def settle(visible: str | None, gpu: str | None, **how: Any) -> tuple[str | None, list[str]]:
        monkeypatch.delenv(VISIBLE, raising=False)
        if visible is not None:
            monkeypatch.setenv(VISIBLE, visible)
        said: list[str] = []
        engine = FakeEngine(gpu=GpuRequest(driver="none", devices=("0",)), **how)
        return engines.settle_gpu(Options.parse({"gpu": gpu}), engine, said.append).gpu, said

    return settle


PLAIN = {"isolation": "none"}
UUID = "GPU-22222222-aaaa-4bbb-8ccc-000000000002"


@pytest.mark.parametrize(
    ("visible", "gpu", "how", "named", "says"),
    [
        # Where no engine stands between, it is what GPU means.
        ("2,3", None, PLAIN, "2", "GPU 2 is measured, the first of CUDA_VISIBLE_DEVICES=2,3"),
        (UUID, None, PLAIN, UUID, "the first of CUDA_VISIBLE_DEVICES=GPU-22222222,"),
        ("2,3", "0", PLAIN, "0", "GPU=0 takes precedence over CUDA_VISIBLE_DEVICES=2,3"),
        ("2,3", "all", PLAIN, "all", "GPU=all means those of CUDA_VISIBLE_DEVICES=2,3"),
        ("2,3", None, {"isolation": "unseen"}, "2", "GPU 2 is measured"),
        # Where one does, it is said before anything is measured.
        (
            "2,3",
            None,
            {},
            None,
            "does not reach containers, and GPU was not given: GPU 0 is measured",
        ),
        (UUID, None, {}, None, "GPU=GPU-22222222 measures that one"),
        (
            "",
            None,
            {},
            None,
            "GPU 0 is measured; ARMS=cpu measures without one",
        ),
        (
            "NoDevFiles",
            None,
            {},
            None,
            "CUDA_VISIBLE_DEVICES=NoDevFiles of this shell does not reach containers",
        ),
        ("2,3", "1", {}, "1", "GPU=1 takes precedence over CUDA_VISIBLE_DEVICES=2,3"),
        ("2,3", "2", {}, "2", ""),
        ("2,3", "all", {}, "all", "GPU=all measures every GPU"),
        ("0", None, {}, None, ""),
        (None, None, {}, None, ""),
        (None, None, PLAIN, None, ""),
        # Another machine's GPUs are not this shell's.
        ("2,3", None, {"here": False}, None, ""),
    ],
)
def test_what_the_callers_variable_means_is_settled_and_said(
    visible: str | None,
    gpu: str | None,
    how: dict[str, Any],
    named: str | None,
    says: str,
    *,
    told: Callable[..., tuple[str | None, list[str]]],
) -> None:
    found, said = told(visible, gpu, **how)
    assert found == named
    assert says in " ".join(said)
    assert bool(said) == bool(says)
    assert UUID not in " ".join(said)


@pytest.mark.parametrize(
    ("docker", "given", "what", "remedy"),
    [
        (True, {"engine": "docker", **PYTHON}, "LOCAL_PYTHON is for the engines local", ""),
        (True, {"engine": "local", "base_image": "x"}, "BASE_IMAGE is for the docker engine", ""),
        (True, {"engine": "inside", "cuda_image": "x"}, "and this is the inside one", ""),
        (False, {"cuda_image": "x"}, "CUDA_IMAGE is for the docker engine", "LOCAL_PYTHON"),
    ],
)
def test_options_that_do_not_go_with_the_engine_are_usage_errors(
    docker: bool, given: dict[str, str], what: str, remedy: str, door: Door
) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        door(docker=docker, **given)
    assert remedy in caught.value.remedy
