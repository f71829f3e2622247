"""The CPU image in a real engine: built, reused, labelled, and the same when built from nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from suite.host.docker.engine import DockerEngine
from suite.host.engine import LABEL
from suite.model import Image
from tests.engine.conftest import describe


@pytest.fixture
def builder(base: str) -> Iterator[DockerEngine]:
    with closing(DockerEngine(base_image=base)) as engine:
        yield engine


def test_a_second_build_reuses_the_first_and_says_why(
    builder: DockerEngine, cpu_image: Image
) -> None:
    said: list[str] = []
    again = builder.provide("cpu", said.append)
    assert again == cpu_image
    assert len(said) == 1
    assert "reused" in said[0]


def test_the_image_says_what_it_is_and_runs_as_nobody(cpu_image: Image, api: Any) -> None:
    seen = api.inspect_image(cpu_image.id)["Config"]
    assert seen["Labels"][LABEL] == "image"
    for name in ("title", "description", "version", "base.name"):
        assert seen["Labels"][f"org.opencontainers.image.{name}"]
    assert not seen["User"].startswith(("0", "root"))
    assert seen["Entrypoint"] == ["python3", "-m", "suite.worker"]
    assert cpu_image.size_bytes
    assert cpu_image.digests


def test_two_builds_from_nothing_have_the_same_content(
    builder: DockerEngine, cpu_image: Image, api: Any
) -> None:
    first = describe(builder, cpu_image)
    tags = api.inspect_image(cpu_image.id)["RepoTags"]
    said: list[str] = []
    fresh = builder.provide("cpu", said.append, fresh=True)
    try:
        assert fresh.id != cpu_image.id
        assert "asked to" in said[0]
        second = describe(builder, fresh)
    finally:
        # The tag goes back to where it was, and the second one is left to nobody.
        for tag in tags:
            api.tag(cpu_image.id, *tag.rsplit(":", 1), force=True)
        api.remove_image(fresh.id)
    assert first["content.hash"] == second["content.hash"]
    assert first["suite.fingerprint"] == second["suite.fingerprint"]


def test_one_process_alone_tests_the_engine(request: pytest.FixtureRequest) -> None:
    """Two would move each other's tags."""
    if hasattr(request.config, "workerinput"):
        assert request.node.nodeid.endswith("@engine")
