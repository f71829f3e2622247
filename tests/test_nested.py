"""The engines that the tests start: swept by label like a worker, and a failure where they must start."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from suite.host.engine import LABEL
from suite.host.machine.machine import own_token
from tests.engines import conftest, nested
from tests.engines.nested import Nested

ROOT = Path(__file__).parents[1]


class Api:
    """An engine's API that remembers the labels of what it is asked to make."""

    def __init__(self) -> None:
        self.labels: dict[str, dict[str, str]] = {}

    def build(self, *, labels: dict[str, str], **_: Any) -> Iterator[dict[str, Any]]:
        self.labels["image"] = labels
        yield {"aux": {"ID": "sha256:built"}}

    def create_volume(self, name: str, labels: dict[str, str]) -> None:
        self.labels["volume"] = labels

    def create_host_config(self, **_: Any) -> dict[str, Any]:
        return {}

    def create_container(self, image: str, *, labels: dict[str, str], **_: Any) -> dict[str, str]:
        self.labels[f"container of {image}"] = labels
        return {"Id": "c1"}

    def start(self, container: str) -> None:
        assert container == "c1"

    def stop(self, container: str, timeout: float) -> None:
        assert (container, timeout) == ("c1", 20)

    def remove_container(self, container: str, **_: Any) -> None:
        assert container == "c1"

    def volumes(self, **_: Any) -> dict[str, Any]:
        return {"Volumes": None}


def test_what_they_leave_is_found_by_label(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "wait_for", lambda *_words: None)
    api = Api()
    image = nested.build(api, "base")  # type: ignore[arg-type]
    one = Nested(api, image)  # type: ignore[arg-type]
    one.start("exec dockerd", "/var/lib/docker")
    one.remove()
    owner = {f"{LABEL}.owner": own_token()}
    assert api.labels == {
        # No image of the suite's: a GPU is looked for in those.
        "image": {LABEL: "other-engines"},
        "volume": {LABEL: "volume", **owner},
        "container of sha256:built": {LABEL: "run", **owner},
    }


class Unbuilding(Api):
    """One that builds nothing."""

    def build(self, **_: Any) -> Iterator[dict[str, Any]]:
        raise APIError("no mirror is reached")
        yield {}


@pytest.mark.parametrize(
    ("required", "outcome"), [("1", pytest.fail.Exception), ("", pytest.skip.Exception)]
)
def test_one_that_does_not_start_fails_where_it_is_required(
    required: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUIRE_ENGINE", required)

    class Machine:
        api = Unbuilding()

    def begin(_nested: Nested) -> None:
        raise RuntimeError("the engine does not answer")

    with pytest.raises(outcome, match="does not answer"):
        next(conftest.start(Machine(), "image", begin))  # type: ignore[arg-type]
    with pytest.raises(outcome, match="no mirror is reached"):
        conftest.make_debian(Machine(), "base")  # type: ignore[arg-type]


def test_their_session_requires_them() -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    (session,) = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "engines"
    ]
    given = [
        word for node in ast.walk(session) if isinstance(node, ast.Call) for word in node.keywords
    ]
    required = {word.arg: ast.literal_eval(word.value) for word in given}
    assert required == {"REQUIRE_ENGINE": "1", "REQUIRE_GPU_RUNTIME": "1"}
