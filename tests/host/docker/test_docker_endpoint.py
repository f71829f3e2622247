"""Which engine is meant: by variable, by context, by default."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.docker.connection import Endpoint, find_endpoint
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
