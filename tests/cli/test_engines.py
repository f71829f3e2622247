"""Which engine is opened for which options, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from suite.cli import engines
from suite.errors import UsageError
from tests.fakes.engine import FakeEngine

Door = Callable[..., tuple[str, dict[str, Any], list[str]]]

GIVEN = {"engine": "auto", "local_python": None, "base_image": None, "cuda_image": None}
PYTHON = {"local_python": "/opt/python"}
BARE = {"base_image": None, "cuda_image": None}


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Door:
    """Opens the engine where docker is here or not: its name, its options, and what is said."""

    def open_(*, docker: bool, **given: Any) -> tuple[str, dict[str, Any], list[str]]:
        opened: list[tuple[str, dict[str, Any]]] = []
        said: list[str] = []

        def make(name: str) -> Callable[..., FakeEngine]:
            def engine(**options: Any) -> FakeEngine:
                opened.append((name, options))
                return FakeEngine()

            return engine

        monkeypatch.setattr(engines, "docker_endpoint", lambda: object() if docker else None)
        monkeypatch.setattr(engines, "DockerEngine", make("docker"))
        monkeypatch.setattr(engines, "LocalEngine", make("local"))
        monkeypatch.setattr(engines, "InsideEngine", make("inside"))
        engines.open_engine({**GIVEN, **given}, said.append)
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
