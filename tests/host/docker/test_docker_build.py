"""Images looked up, reused, built, pulled and imported, against an API that answers from tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from suite.errors import EngineError
from suite.host.docker import build
from suite.host.docker.build import follow_pull, provide_image, reach_base, take_stock
from suite.host.docker.connection import Daemon, Description
from suite.host.docker.leftovers import LASTING
from suite.host.engine import LABEL, GpuSupport
from suite.host.provision import debian_base, image_table, images
from suite.host.provision.image_table import read_specs
from suite.host.provision.images import follow, plan_build
from suite.model import Image
from tests.fakes import docker_api
from tests.fakes.docker_api import HERE, FakeApi, api_error
from tests.fakes.pip_words import PIP_MEANS, PIP_SAYS


def provide(api: FakeApi, base: str | None = "mine:1", **disk: Any) -> tuple[Image, list[str]]:
    return docker_api.provide(api, images.follow(image_table.read_specs()["cpu"], base), **disk)


@pytest.fixture
def api() -> FakeApi:
    """An engine that has a base image."""
    return FakeApi(present={"mine:1": {"Id": "sha256:base"}})


def test_an_image_is_built_once_and_then_reused_and_says_why(api: FakeApi) -> None:
    built, said = provide(api)
    assert "none was built yet" in said[0]
    again, (told,) = provide(api)
    assert again == built
    assert "reused" in told
    assert api.asked.count("build") == 1
    assert built.base == "mine:1 (sha256:base)"
    assert "BASE_IMAGE" in built.origin


def test_a_base_that_cannot_be_pulled_names_the_ways_out() -> None:
    api = FakeApi()
    api.failures["pull"] = api_error(500, "dial tcp: lookup registry: no such host")
    with pytest.raises(EngineError, match="no such host") as caught:
        provide(api, None)
    for way in ("docker login", "BASE_IMAGE=", "make base"):
        assert way in caught.value.remedy
    api.present[debian_base.STAND_IN] = {"Id": "sha256:stand-in"}
    with pytest.raises(EngineError) as caught:
        provide(api, None)
    assert f"is here: BASE_IMAGE={debian_base.STAND_IN}" in caught.value.remedy
    assert "build" not in api.asked


def demand(api: FakeApi, *names: str, base: str | None = None, **disk: Any) -> list[str]:
    said: list[str] = []
    specs = [follow(read_specs()[name], base) for name in names]
    build.demand_images(Daemon(api, HERE), specs, said.append, disk.get("data_root"))
    return said


BOTH = ("cpu", "cpu@2.15")


def test_a_stand_in_that_is_not_here_is_never_pulled() -> None:
    api = FakeApi(present={debian_base.STAND_IN: {"Id": "sha256:trixie"}})
    with pytest.raises(EngineError, match=r"crossover/base:stand-in-3\.11 is not") as caught:
        demand(api, *BOTH, base=debian_base.STAND_IN)
    assert 'make base ARMS="cpu@2.15"' in caught.value.remedy
    with pytest.raises(EngineError, match="not in the engine"):
        reach_base(Daemon(api, HERE), f"{debian_base.STAND_IN}-3.11", laid=False)
    assert not {"pull", "build", "registry"} & set(api.asked)
    api.present[f"{debian_base.STAND_IN}-3.11"] = {
        "Id": "sha256:bookworm",
        "Config": {"Labels": {f"{LABEL}.release": "bookworm"}},
    }
    assert demand(api, *BOTH, base=debian_base.STAND_IN) == []


def test_a_base_of_another_python_is_refused_before_anything_is_built() -> None:
    official = {"Id": "sha256:base", "Config": {"Labels": None, "Env": ["PYTHON_VERSION=3.13.15"]}}
    api = FakeApi(present={"mirror/python:3": official})
    with pytest.raises(EngineError, match=r"mirror/python:3 has Python 3\.13"):
        demand(api, *BOTH, base="mirror/python:3")
    with pytest.raises(EngineError, match=r"has Python 3\.13"):
        take_stock(Daemon(api, HERE), follow(read_specs()["cpu@2.15"], "mirror/python:3"))
    with pytest.raises(EngineError, match=r"has Python 3\.13"):
        docker_api.provide(api, follow(read_specs()["cpu@2.15"], "mirror/python:3"))
    assert "build" not in api.asked
    assert demand(api, "cpu", base="mirror/python:3") == []


def test_a_base_that_has_to_be_fetched_is_looked_at_before_anything_is_built() -> None:
    class Registry(FakeApi):
        def pull(self, reference: str, **given: Any) -> Any:
            yield from super().pull(reference, **given)
            self.present[reference] = {
                "Id": "sha256:new",
                "Config": {"Env": ["PYTHON_VERSION=3.9.1"]},
            }

    api = Registry()
    with pytest.raises(EngineError, match=r"mine:1 has Python 3\.9"):
        demand(api, "cpu", base="mine:1")
    assert "build" not in api.asked


def test_a_base_that_does_not_say_its_python_is_asked_in_the_first_step(api: FakeApi) -> None:
    api.events = [
        # In red, as the engine has it, and between the step's own words.
        {"stream": "Step 5/15 : RUN … sys.exit(f'this base has Python {found}' if found …\n"},
        {"stream": "\x1b[91mthis base has Python 3.12\n\x1b[0m"},
        {"error": "The command '… this base has Python {found} …' returned a non-zero code: 1"},
    ]
    with pytest.raises(
        EngineError, match=r"mine:1 has Python 3\.12, .* for Python 3\.13"
    ) as caught:
        provide(api)
    assert "{python}" in caught.value.remedy
    assert api.built["buildargs"]["PYTHON"] == "3.13"


def test_room_is_asked_for_all_that_has_to_be_built(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    free = SimpleNamespace(free=7 * 10**9)
    monkeypatch.setattr(build.shutil, "disk_usage", lambda _: free)
    given = {"base": "mine:1", "data_root": str(tmp_path)}
    assert demand(api, "cpu", **given) == []
    free.free = 6 * 10**9
    with pytest.raises(EngineError, match=r"the cpu and cpu@2\.20 images need 7 GB of free disk"):
        demand(api, "cpu", "cpu@2.20", **given)
    assert "build" not in api.asked
    provide(api)
    assert demand(api, "cpu", "cpu@2.20", **given) == []


def test_a_failed_build_shows_all_that_was_said_before_it(api: FakeApi) -> None:
    said = [f"Collecting package-{number}" for number in range(20)]
    api.events = [*({"stream": f"{line}\n"} for line in said), {"error": "returned a code: 1"}]
    with pytest.raises(EngineError) as caught:
        provide(api)
    assert "\n".join([*said, "returned a code: 1"]) in caught.value.what


def test_a_full_disk_is_found_before_the_build(api: FakeApi, full: dict[str, str]) -> None:
    with pytest.raises(EngineError, match="5 GB of free disk") as caught:
        provide(api, **full)
    assert "20 GB" in caught.value.remedy
    assert "build" not in api.asked


def test_the_disk_is_not_asked_for_when_only_the_suite_changed(
    api: FakeApi, full: dict[str, str]
) -> None:
    provide(api)
    for seen in api.present.values():
        if "Labels" in seen:
            seen["RepoTags"] = ["crossover/cpu:old"]
            seen["Labels"][f"{LABEL}.suite"] = "old"
    _, said = provide(api, **full)
    assert "changed since the last one: suite" in said[0]


def test_a_build_says_in_our_words_what_takes_long_and_nothing_else(api: FakeApi) -> None:
    api.events = [{"stream": f"{line}\n"} for line in PIP_SAYS]
    _, said = provide(api)
    assert [line.removeprefix("image cpu: ") for line in said[1:]] == PIP_MEANS


def test_a_pull_is_told_by_its_layers() -> None:
    events = [
        {"status": "Pulling from library/python", "id": "3.13"},
        {"status": "Already exists", "id": "a"},
        {"status": "Pulling fs layer", "id": "b"},
        {"status": "Pulling fs layer", "id": "c"},
        {"status": "Downloading", "id": "b", "progress": "[=>  ]"},
        {"status": "Downloading", "id": "b", "progress": "[==> ]"},
        {"status": "Pull complete", "id": "b"},
        {"status": "Pull complete", "id": "c"},
        {"status": "Digest: sha256:0"},
    ]
    assert list(follow_pull(iter(events))) == ["2 of 3 layers", "3 of 3 layers"]


def test_a_stand_in_is_imported_once_with_its_labels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Importer(FakeApi):
        def import_image_from_stream(self, stream: Any, **given: Any) -> None:
            self.given = given
            sent = requests.Request("POST", "http://engine", data=stream).prepare()
            self.headers, self.body = sent.headers, b"".join(sent.body)
            self.present[f"{debian_base.STAND_IN}-3.11"] = {"Id": "sha256:new"}

    archive = tmp_path / "archive.tar"
    archive.write_bytes(bytes(range(256)) * 9000)
    made: list[tuple[str, str]] = []
    monkeypatch.setattr(
        build, "make_files", lambda *how: (made.append(how[:2]), archive.open("rb"))[1]
    )
    api, said = Importer(), []
    for _ in range(2):
        assert build.make_base(Daemon(api, HERE), "3.11", said.append) == "sha256:new"
    assert made == [(f"{debian_base.STAND_IN}-3.11", "bookworm")]
    assert ["ready" in said[0], "reused" in said[1]] == [True, True]
    assert api.given["repository"] == "crossover/base"
    assert api.given["tag"] == "stand-in-3.11"
    assert f"LABEL {LABEL}=base" in api.given["changes"]
    assert f"LABEL {LABEL}.release=bookworm" in api.given["changes"]
    with pytest.raises(EngineError, match=r"Python 3\.12: Debian's releases have 3\.13 and 3\.11"):
        build.make_base(Daemon(api, HERE), "3.12", said.append)
    # The SDK asks for chunks; an engine that is told a length besides refuses what it reads.
    assert "Content-Length" not in api.headers
    assert api.body == archive.read_bytes()


SPEC = read_specs()["cpu"]
BASE = {"Id": "sha256:base", "Labels": {}}


def built(base: str = SPEC.base, identity: str = SPEC.base, **changed: str) -> FakeApi:
    """An engine with an image from that base, whose labels are changed."""
    plan = plan_build(follow(SPEC, base), base_identity=identity, architecture="amd64")
    labels = {**plan.labels, **{f"{LABEL}.{name}": value for name, value in changed.items()}}
    image = {
        "Id": "sha256:cpu",
        "Labels": labels,
        "RepoTags": ["crossover/cpu:old" if changed else plan.tag],
    }
    return FakeApi(present={"image": image})


@pytest.mark.parametrize(
    ("api", "image", "room_bytes"),
    [
        (FakeApi(), None, SPEC.free_bytes),
        (built(), "sha256:cpu", 0),
        # Stale: of other files of the suite, and of another lock.
        (built(suite="0"), None, 0),
        (built(suite="0", lock="0"), None, SPEC.free_bytes),
    ],
)
def test_what_there_is_of_an_image(api: FakeApi, image: str | None, room_bytes: int) -> None:
    stock = take_stock(Daemon(api, HERE), SPEC)
    assert (stock.image, stock.room_bytes) == (image, room_bytes)
    assert (stock.base, stock.base_here) == (SPEC.base, False)
    assert not {"pull", "build", "create"} & set(api.asked)


def test_a_built_image_comes_with_its_record_and_the_caches_that_are_there() -> None:
    api = built()
    api.kept["mine"] = {"Name": "mine", "Labels": {LABEL: LASTING}}
    api.kept["scratch"] = {"Name": "scratch", "Labels": {LABEL: "volume"}}
    stock = take_stock(Daemon(api, HERE), SPEC)
    assert stock.caches == ("mine",)
    image = provide_image(Daemon(api, HERE), SPEC, print, data_root=None)
    assert stock.recorded == (image.base, image.lock)
    assert not {"pull", "build", "create"} & set(api.asked)


def test_a_base_without_a_digest_is_what_the_engine_has_of_it() -> None:
    api = built("mine", "sha256:base")
    stock = take_stock(Daemon(api, HERE), follow(SPEC, "mine"))
    assert (stock.image, stock.base_here) == (None, False)
    api.present["mine"] = BASE
    stock = take_stock(Daemon(api, HERE), follow(SPEC, "mine"))
    assert (stock.image, stock.base, stock.base_here) == ("sha256:cpu", "mine", True)


def test_a_registry_is_asked_and_nothing_is_fetched() -> None:
    api = FakeApi()
    assert reach_base(Daemon(api, HERE), "python:3.13", laid=False) is True
    assert api.asked == ["registry"]
    api.failures["registry"] = api_error(404, "page not found")
    assert reach_base(Daemon(api, HERE), "python:3.13", laid=False) is None
    api.failures["registry"] = api_error(429, "toomanyrequests")
    with pytest.raises(EngineError, match="toomanyrequests") as caught:
        reach_base(Daemon(api, HERE), "python:3.13", laid=False)
    assert "make base" in caught.value.remedy


def described(info: dict[str, object]) -> Description:
    return Description(endpoint=HERE, info=info, version={})


def test_what_an_engine_says_of_gpus() -> None:
    assert described({}).gpu_support == GpuSupport(devices=(), cdi_folders=(), runtimes=())
    info: dict[str, object] = {
        "DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}, {"ID": "intel.com/gpu=0"}],
        "CDISpecDirs": ["/etc/cdi"],
        "Runtimes": {"runc": {}, "nvidia": {}},
    }
    assert described(info).gpu_support == GpuSupport(
        devices=("nvidia.com/gpu=0",), cdi_folders=("/etc/cdi",), runtimes=("nvidia", "runc")
    )


ROOT = {"DockerRootDir": "/data/docker"}
CONTAINERD = {**ROOT, "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]]}
OWN = "/data/docker/containerd/daemon"


def at(address: str) -> dict[str, object]:
    return {**CONTAINERD, "Containerd": {"Address": address}}


@pytest.mark.parametrize(
    ("info", "store"),
    [
        ({}, None),
        ({**ROOT, "DriverStatus": [["Backing Filesystem", "extfs"]]}, "/data/docker"),
        (CONTAINERD, "/var/lib/containerd"),
        (at("/run/containerd/containerd.sock"), "/var/lib/containerd"),
        (at("/var/run/docker/containerd/containerd.sock"), OWN),
        ({**CONTAINERD, "SecurityOptions": ["name=rootless"]}, OWN),
    ],
)
def test_images_lie_where_their_store_is(info: dict[str, object], store: str | None) -> None:
    assert described(info).store == store
