"""What an engine has, looked up without making, fetching or starting anything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.docker.build import provide_image
from suite.host.docker.errors import explain
from suite.host.docker.stock import find_store, gpu_support, reach_base, take_stock
from suite.host.docker.volumes import LASTING
from suite.host.engine import LABEL, GpuSupport
from suite.host.local.engine import LocalEngine
from suite.host.provision.images import ImageSpec, follow, plan_build, read_specs
from tests.fakes.docker_api import HERE, FakeApi, api_error

SPEC = read_specs()["cpu"]


def built(spec: ImageSpec, base: str, identity: str, **changed: str) -> dict[str, object]:
    plan = plan_build(follow(spec, base), base_identity=identity, architecture="amd64")
    labels = {**plan.labels, **{f"{LABEL}.{name}": value for name, value in changed.items()}}
    return {"Id": f"sha256:{spec.name}", "Labels": labels, "RepoTags": [plan.tag]}


def test_an_engine_with_nothing_in_it() -> None:
    api = FakeApi()
    stock = take_stock(api, HERE, follow(SPEC))
    assert (stock.image, stock.base_here) == (None, False)
    assert stock.base == SPEC.base
    assert stock.room_bytes == SPEC.free_bytes
    assert not {"pull", "build", "create"} & set(api.asked)


def test_an_image_that_is_built_and_one_that_is_stale() -> None:
    api = FakeApi(present={"image": built(SPEC, SPEC.base, SPEC.base)})
    stock = take_stock(api, HERE, follow(SPEC))
    assert (stock.image, stock.room_bytes, stock.base_here) == ("sha256:cpu", 0, False)
    stale = FakeApi(present={"image": built(SPEC, SPEC.base, SPEC.base, inputs="0")})
    stock = take_stock(stale, HERE, follow(SPEC))
    assert (stock.image, stock.room_bytes) == (None, 0)
    other = FakeApi(present={"image": built(SPEC, SPEC.base, SPEC.base, inputs="0", lock="0")})
    stock = take_stock(other, HERE, follow(SPEC))
    assert (stock.image, stock.room_bytes) == (None, SPEC.free_bytes)


def test_a_built_image_comes_with_its_record_and_the_caches_that_are_there() -> None:
    api = FakeApi(present={"image": built(SPEC, SPEC.base, SPEC.base)})
    api.kept["mine"] = {"Name": "mine", "Labels": {LABEL: LASTING}}
    api.kept["scratch"] = {"Name": "scratch", "Labels": {LABEL: "volume"}}
    stock = take_stock(api, HERE, follow(SPEC))
    assert stock.caches == ("mine",)
    image = provide_image(api, HERE, follow(SPEC), print, data_root=None)
    assert stock.recorded == (image.base, image.lock)
    assert not {"pull", "build", "create"} & set(api.asked)


def test_a_base_without_a_digest_is_what_the_engine_has_of_it() -> None:
    base = {"Id": "sha256:base", "Labels": {}}
    api = FakeApi(present={"mine": base, "image": built(SPEC, "mine", "sha256:base")})
    stock = take_stock(api, HERE, follow(SPEC, "mine"))
    assert (stock.image, stock.base, stock.base_here) == ("sha256:cpu", "mine", True)
    gone = FakeApi(present={"image": built(SPEC, "mine", "sha256:base")})
    stock = take_stock(gone, HERE, follow(SPEC, "mine"))
    assert (stock.image, stock.base_here) == (None, False)


def test_a_registry_is_asked_and_nothing_is_fetched() -> None:
    api = FakeApi()
    assert reach_base(api, HERE, "python:3.13") is True
    assert api.asked == ["registry"]
    api.failures["registry"] = api_error(404, "page not found")
    assert reach_base(api, HERE, "python:3.13") is None
    api.failures["registry"] = api_error(429, "toomanyrequests")
    with pytest.raises(EngineError, match="toomanyrequests") as caught:
        reach_base(api, HERE, "python:3.13")
    assert "make base" in caught.value.remedy


def test_what_an_engine_says_of_gpus() -> None:
    assert gpu_support({}) == GpuSupport(devices=(), cdi_folders=(), runtimes=())
    info = {
        "DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}, {"ID": "intel.com/gpu=0"}],
        "CDISpecDirs": ["/etc/cdi"],
        "Runtimes": {"runc": {}, "nvidia": {}},
    }
    found = gpu_support(info)
    assert found.devices == ("nvidia.com/gpu=0",)
    assert found.cdi_folders == ("/etc/cdi",)
    assert found.runtimes == ("nvidia", "runc")


CONTAINERD = {
    "DockerRootDir": "/data/docker",
    "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]],
}


@pytest.mark.parametrize(
    ("info", "store"),
    [
        ({}, None),
        (
            {"DockerRootDir": "/data/docker", "DriverStatus": [["Backing Filesystem", "extfs"]]},
            "/data/docker",
        ),
        (CONTAINERD, "/var/lib/containerd"),
        (
            {**CONTAINERD, "Containerd": {"Address": "/run/containerd/containerd.sock"}},
            "/var/lib/containerd",
        ),
        (
            {**CONTAINERD, "Containerd": {"Address": "/var/run/docker/containerd/containerd.sock"}},
            "/data/docker/containerd/daemon",
        ),
        ({**CONTAINERD, "SecurityOptions": ["name=rootless"]}, "/data/docker/containerd/daemon"),
    ],
)
def test_images_lie_where_their_store_is(info: dict[str, object], store: str | None) -> None:
    assert find_store(info) == store


def test_a_full_disk_names_both_stores() -> None:
    row = explain("write /var/lib/containerd/x: no space left on device")
    assert row is not None
    assert "/etc/containerd/config.toml" in row.remedy
    assert "`data-root`" in row.remedy


@pytest.mark.processes
def test_the_local_engine_says_what_it_would_make(tmp_path: Path) -> None:
    engine = LocalEngine(home=tmp_path / "arms")
    try:
        stock = engine.take_stock("cpu")
    except EngineError as error:
        assert "LOCAL_PYTHON" in error.remedy  # noqa: PT017 - either answer is right here
        return
    assert (stock.image, stock.base_here) == (None, True)
    assert "Python" in stock.base
    assert stock.room_bytes == SPEC.free_bytes
    assert not (tmp_path / "arms").exists()
    assert engine.data_root == str(tmp_path / "arms")
    assert engine.has_probe_image()
    assert engine.reach_base("") is True
    assert engine.gpu_support().devices == ()


@pytest.mark.processes
def test_the_local_engine_names_the_caches_that_are_there(tmp_path: Path) -> None:
    home = tmp_path / "arms"
    (tmp_path / "bin" / "tensorflow").mkdir(parents=True)
    (tmp_path / "bin" / "tensorflow" / "__init__.py").write_text("")
    (home / "crossover-0-compile-cache-570.1").mkdir(parents=True)
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/bin exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    engine = LocalEngine(str(python), home=home)
    stock = engine.take_stock("cuda")
    assert not stock.from_lock
    assert stock.caches == ("crossover-0-compile-cache-570.1",)
    image = engine.provide("cuda", print)
    assert stock.recorded == (image.base, image.lock)
