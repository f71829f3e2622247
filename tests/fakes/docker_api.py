"""A docker API that answers from tables, for tests without an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import requests
from docker.errors import APIError, ImageNotFound

from suite.host.docker.build import provide_image
from suite.host.docker.connection import Daemon, Endpoint
from suite.host.docker.run import DockerRun, start_run
from suite.host.engine import LABEL, Job
from suite.host.provision.image_table import ImageSpec
from suite.model import Image

HERE = Endpoint(kind="unix", url="unix:///run/fake.sock", source="DOCKER_HOST")
IMAGE = Image(id="sha256:1", content=None, base="b", digests=[], lock="l", origin="o")


def api_error(status: int, text: str) -> APIError:
    response = requests.Response()
    response.status_code = status
    kind = ImageNotFound if status == 404 else APIError
    return kind("refused", response=response, explanation=text)


class FakeApi:
    """An engine's API that answers from tables and remembers what it was asked."""

    def __init__(self, *, present: dict[str, dict[str, Any]] | None = None) -> None:
        self.present = present or {}
        self.asked: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.failures: dict[str, Exception] = {}
        self.kept: dict[str, dict[str, Any]] = {}
        self.listed: list[dict[str, Any]] = []
        self.created: dict[str, Any] = {}
        self.built: dict[str, Any] = {}
        self.timeout = 60.0
        self.waited: dict[str, float] = {}
        """How long the newest answer of each kind would have been waited for."""
        self.state: dict[str, Any] = {"Running": False, "ExitCode": 0, "OOMKilled": False}

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        self.waited[what] = self.timeout
        if what in self.failures:
            raise self.failures[what]

    def close(self) -> None:
        """As the SDK's."""

    def version(self) -> dict[str, str]:
        return {"Arch": "amd64"}

    def images(self, filters: Mapping[str, str]) -> list[dict[str, Any]]:
        return [seen for seen in self.present.values() if LABEL in (seen.get("Labels") or {})]

    def inspect_image(self, reference: str) -> dict[str, Any]:
        self._ask(f"inspect {reference}")
        for name, seen in self.present.items():
            if reference in (name, seen["Id"]):
                return seen
        raise api_error(404, f"No such image: {reference}")

    def inspect_distribution(self, reference: str) -> dict[str, Any]:
        self._ask("registry")
        return {"Descriptor": {}}

    def pull(self, reference: str, **_: Any) -> Iterator[dict[str, Any]]:
        self._ask("pull")
        yield from self.events

    def build(
        self, *, tag: str, labels: Mapping[str, str], **asked: Any
    ) -> Iterator[dict[str, Any]]:
        self._ask("build")
        self.built = asked
        yield {"stream": "Step 1/2 : FROM x\n"}
        yield from self.events
        self.present[tag] = {
            "Id": "sha256:built",
            "Labels": dict(labels),
            "RepoTags": [tag],
            "Size": 7,
        }

    def create_host_config(self, **limits: Any) -> dict[str, Any]:
        return limits

    def create_container(self, image: str, **asked: Any) -> dict[str, str]:
        self._ask("create")
        self.created = asked
        return {"Id": "c1"}

    def start(self, container: str) -> None:
        self._ask("start")

    def logs(self, container: str, *, stream: bool = False, **_: Any) -> Iterator[bytes] | bytes:
        self._ask("follow" if stream else "logs")
        return iter([b"a line\n"]) if stream else b"a line\n"

    def inspect_container(self, container: str) -> dict[str, Any]:
        self._ask("inspect")
        return {"State": self.state}

    def wait(self, container: str, *, timeout: float) -> None:
        self._ask("wait")

    def kill(self, container: str) -> None:
        self._ask("kill")

    def remove_container(self, container: str, **_: Any) -> None:
        self._ask("remove")

    def create_volume(self, name: str, *, labels: Mapping[str, str]) -> dict[str, Any]:
        self._ask("volume")
        made = {"Name": name, "Labels": dict(labels), "CreatedAt": "2026-11-21T08:00:00Z"}
        return self.kept.setdefault(name, made)

    def remove_volume(self, name: str) -> None:
        self._ask(f"remove volume {name}")
        if name not in self.kept:
            raise api_error(404, f"no such volume: {name}")
        del self.kept[name]

    def volumes(self, filters: Mapping[str, str]) -> dict[str, Any]:
        key, _, value = filters["label"].partition("=")
        every = self.kept.values()
        found = [v for v in every if key in v["Labels"] and value in ("", v["Labels"][key])]
        # As the engine answers where there are none.
        return {"Volumes": found or None}

    def containers(self, **_: Any) -> list[dict[str, Any]]:
        return self.listed

    def remove_image(self, image: str, **_: Any) -> None:
        self._ask(f"remove image {image}")


def make_job(**changes: Any) -> Job:
    """A run of that image's worker, with these changes."""
    return Job(**{"image": IMAGE, "arguments": ("describe",), "cpus": (), **changes})


def start(api: Any, job: Job | None = None, **how: Any) -> DockerRun:
    """A run in this engine, whose owner is ``me``."""
    return start_run(Daemon(api, HERE), job or make_job(), owner="me", **how)


def provide(api: FakeApi, spec: ImageSpec, **disk: Any) -> tuple[Image, list[str]]:
    """The image that this engine comes to have, and what was said of it."""
    said: list[str] = []
    given = {"data_root": None, **disk}
    return provide_image(Daemon(api, HERE), spec, said.append, **given), said
