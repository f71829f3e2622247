"""What an engine has, looked up without making, fetching or starting anything."""

from __future__ import annotations

import pytest

from suite.errors import EngineError
from suite.host.docker.build import provide_image, reach_base, take_stock
from suite.host.docker.connection import Daemon, Description
from suite.host.docker.leftovers import LASTING
from suite.host.engine import LABEL, GpuSupport
from suite.host.provision.images import follow, plan_build, read_specs
from tests.fakes.docker_api import HERE, FakeApi, api_error

SPEC = read_specs()["cpu"]
BASE = {"Id": "sha256:base", "Labels": {}}


def built(base: str = SPEC.base, identity: str = SPEC.base, **changed: str) -> FakeApi:
    """An engine with an image from that base, whose labels are changed."""
    plan = plan_build(follow(SPEC, base), base_identity=identity, architecture="amd64")
    labels = {**plan.labels, **{f"{LABEL}.{name}": value for name, value in changed.items()}}
    image = {"Id": "sha256:cpu", "Labels": labels, "RepoTags": [plan.tag]}
    return FakeApi(present={"image": image})


@pytest.mark.parametrize(
    ("api", "image", "room_bytes"),
    [
        (FakeApi(), None, SPEC.free_bytes),
        (built(), "sha256:cpu", 0),
        # Stale: of other files of the suite, and of another lock.
        (built(inputs="0"), None, 0),
        (built(inputs="0", lock="0"), None, SPEC.free_bytes),
    ],
)
def test_what_there_is_of_an_image(api: FakeApi, image: str | None, room_bytes: int) -> None:
    stock = take_stock(Daemon(api, HERE), follow(SPEC))
    assert (stock.image, stock.room_bytes) == (image, room_bytes)
    assert (stock.base, stock.base_here) == (SPEC.base, False)
    assert not {"pull", "build", "create"} & set(api.asked)


def test_a_built_image_comes_with_its_record_and_the_caches_that_are_there() -> None:
    api = built()
    api.kept["mine"] = {"Name": "mine", "Labels": {LABEL: LASTING}}
    api.kept["scratch"] = {"Name": "scratch", "Labels": {LABEL: "volume"}}
    stock = take_stock(Daemon(api, HERE), follow(SPEC))
    assert stock.caches == ("mine",)
    image = provide_image(Daemon(api, HERE), follow(SPEC), print, data_root=None)
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
