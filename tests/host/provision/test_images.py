"""What an image is made from: specs, context, hash and the reasons for building anew."""

from __future__ import annotations

import io
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.content import SUITE, worker_files
from suite.errors import EngineError, UsageError
from suite.host.campaign.arms import known_arms
from suite.host.engine import LABEL
from suite.host.provision import images
from suite.host.provision.images import BuildPlan, ImageSpec

BASE = "python:3@sha256:" + "0" * 64


@pytest.fixture
def spec() -> ImageSpec:
    return images.read_specs()["cpu"]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the suite's measured part, to be changed."""
    for path in worker_files():
        target = tmp_path / "suite" / path.relative_to(SUITE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return tmp_path / "suite"


def plan(spec: ImageSpec, **changes: Any) -> BuildPlan:
    given = {"base_identity": BASE, "architecture": "amd64", **changes}
    dockerfile = given.pop("dockerfile", images.DOCKER / "Dockerfile")
    recipe = replace(images.follow(spec, BASE), dockerfile=dockerfile)
    return images.plan_build(recipe, **given)


def test_every_arm_has_an_image() -> None:
    specs = images.read_specs()
    assert {arm.image for arm in known_arms().values()} == set(specs)
    assert specs["cuda"].gpu
    assert not specs["cpu"].gpu


def test_an_unknown_image_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="rocm") as caught:
        images.find_spec("rocm")
    assert "cpu, cuda" in caught.value.remedy


@pytest.mark.parametrize("text", ["[cpu]\nbase = 1", "nonsense", "cpu = 3"])
def test_a_broken_table_is_an_error_with_its_path(tmp_path: Path, text: str) -> None:
    path = tmp_path / "images.toml"
    path.write_text(text)
    with pytest.raises(EngineError, match=r"images\.toml"):
        images.read_specs(path)


@pytest.mark.parametrize(
    ("name", "architecture", "has"),
    [
        ("cuda", "x86_64", True),
        ("cpu", "aarch64", True),
        ("cuda", "aarch64", False),
        ("cuda", "arm64", False),
    ],
)
def test_no_image_is_made_whose_tensorflow_could_not_use_the_gpu(
    name: str, architecture: str, has: bool
) -> None:
    spec = images.find_spec(name)
    if has:
        images.demand_cuda(spec, architecture)
        return
    with pytest.raises(EngineError, match="built without CUDA for this processor") as caught:
        images.demand_cuda(spec, architecture)
    assert "CUDA_IMAGE=" in caught.value.remedy
    assert "update" not in caught.value.remedy


def test_the_context_is_the_same_bytes_for_the_same_files(spec: ImageSpec, copy: Path) -> None:
    first = images.build_context(images.follow(spec), suite=copy)
    for path in copy.rglob("*.py"):
        path.touch()
        path.chmod(0o600)
    assert images.build_context(images.follow(spec), suite=copy) == first


def test_the_context_holds_what_the_worker_needs_and_nothing_else(spec: ImageSpec) -> None:
    with tarfile.open(fileobj=io.BytesIO(images.build_context(images.follow(spec)))) as tar:
        entries = tar.getmembers()
    names = [entry.name for entry in entries]
    assert names == sorted(names)
    assert {
        "Dockerfile",
        "docker/cpu.txt",
        "suite/model/arm.py",
        "suite/worker/__main__.py",
    } <= set(names)
    assert not [name for name in names if "host" in name or "cuda.txt" in name]
    assert {(e.mtime, e.uid, e.gid, e.uname, e.mode) for e in entries} == {(0, 0, 0, "", 0o644)}


def test_the_hash_changes_with_each_ingredient_and_says_which(
    spec: ImageSpec, copy: Path, tmp_path: Path
) -> None:
    before = plan(spec, suite=copy)
    assert plan(spec, suite=copy) == before
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("FROM scratch\n")
    (copy / "model" / "arm.py").write_text("changed = True\n")
    for changed, now in [
        ("suite", plan(spec, suite=copy)),
        ("dockerfile, suite", plan(spec, suite=copy, dockerfile=dockerfile)),
        ("base, suite", plan(spec, suite=copy, base_identity="sha256:other")),
        # One digest is another base there.
        ("base, suite", plan(spec, suite=copy, architecture="arm64")),
    ]:
        assert now.hash != before.hash
        assert now.tag != before.tag
        said = images.explain_build(now, [before.labels])
        assert said == f"changed since the last one: {changed}"


def test_the_reason_to_build_looks_at_the_closest_image_of_that_name(spec: ImageSpec) -> None:
    now = plan(spec)
    other = plan(images.read_specs()["cuda"])
    far = {**now.labels, f"{LABEL}.lock": "x", f"{LABEL}.suite": "x"}
    near = {**now.labels, f"{LABEL}.suite": "y"}
    assert images.explain_build(now, []) == "none was built yet"
    assert images.explain_build(now, [other.labels]) == "none was built yet"
    assert images.explain_build(now, [far, near]) == "changed since the last one: suite"


def test_the_image_carries_the_labels_of_the_trade(spec: ImageSpec) -> None:
    built = plan(spec)
    assert built.labels[LABEL] == "image"
    assert built.labels["org.opencontainers.image.base.name"] == BASE
    assert built.labels[f"{LABEL}.inputs"] == built.hash
