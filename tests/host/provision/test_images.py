"""What an image is made from: base, context, hash."""

from __future__ import annotations

import io
import re
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.errors import EngineError
from suite.fingerprint import SUITE, worker_files
from suite.host.engine import LABEL
from suite.host.provision import debian_base, image_table, images
from suite.host.provision.image_table import DOCKER, ImageSpec
from suite.host.provision.images import BuildPlan
from suite.host.provision.resources import CACHE_TARGET, SCRATCH_TARGET

BASE = "python:3@sha256:" + "0" * 64


@pytest.fixture
def spec() -> ImageSpec:
    return image_table.read_specs()["cpu"]


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
    dockerfile = given.pop("dockerfile", image_table.DOCKER / "Dockerfile")
    recipe = replace(images.follow(spec, BASE), dockerfile=dockerfile)
    return images.plan_build(recipe, **given)


def test_each_arm_gets_the_base_with_its_python(spec: ImageSpec) -> None:
    older = image_table.read_specs()["cpu@2.15"]
    assert (spec.python, older.python) == ("3.13", "3.11")
    for asked, newer, other in (
        (debian_base.STAND_IN, debian_base.STAND_IN, f"{debian_base.STAND_IN}-3.11"),
        ("mirror/python:{python}-slim", "mirror/python:3.13-slim", "mirror/python:3.11-slim"),
        ("mine:1", "mine:1", "mine:1"),
    ):
        assert images.follow(spec, asked).base == newer
        assert images.follow(older, asked).base == other


@pytest.mark.parametrize(
    ("labels", "environment", "found"),
    [
        ({f"{LABEL}.release": "trixie"}, [], "3.13"),
        ({f"{LABEL}.release": "bookworm"}, [], None),
        ({}, ["PATH=/bin", "PYTHON_VERSION=3.12.4"], "3.12"),
        ({}, ["PYTHON_VERSION=3.11.15"], None),
        ({}, ["PYTHON_VERSION=3.13.0rc1"], "3.13"),
        # Nothing says it: the build's first step does.
        ({f"{LABEL}.release": "sid"}, ["PYTHONPATH"], None),
    ],
)
def test_a_base_of_another_python_is_refused(
    labels: dict[str, str], environment: list[str], found: str | None
) -> None:
    older = images.follow(image_table.read_specs()["cpu@2.15"], "mine:1")
    if found is None:
        images.demand_python(older, labels, environment)
        return
    with pytest.raises(EngineError, match=rf"mine:1 has Python {re.escape(found)},") as caught:
        images.demand_python(older, labels, environment)
    assert "the arm cpu@2.15 is for Python 3.11" in caught.value.what
    for way in ("{python}", f"BASE_IMAGE={debian_base.STAND_IN}", 'make base ARMS="cpu@2.15"'):
        assert way in caught.value.remedy


def test_a_version_has_a_name_that_engines_take_and_a_setting_keeps_the_packages(
    spec: ImageSpec,
) -> None:
    older = plan(image_table.read_specs()["cpu@2.15"])
    assert re.fullmatch(r"crossover/cpu-2\.15:[0-9a-f]{12}", older.tag)
    assert older.labels[f"{LABEL}.image"] == "cpu@2.15"
    assert older.arguments["PYTHON"] == "3.11"
    plain, without = plan(spec), plan(image_table.read_specs()["cpu@onednn-off"])
    assert without.tag.rpartition(":")[2] != plain.tag.rpartition(":")[2]
    assert (plain.arguments["ONEDNN"], without.arguments["ONEDNN"]) == ("1", "0")
    # Its layer of packages is there already; that of another version is not.
    assert images.has_layers(without, [plain.labels])
    assert not images.has_layers(older, [plain.labels])


def test_several_images_take_more_room_than_the_largest() -> None:
    gb = 10**9
    assert images.count_room([]) == 0
    assert images.count_room([5 * gb, 20 * gb]) == 20 * gb
    assert images.count_room([20 * gb, 20 * gb]) > 26 * gb


def test_the_context_is_the_same_bytes_for_the_same_files(spec: ImageSpec, copy: Path) -> None:
    first = images.build_context(spec, suite=copy)
    for path in copy.rglob("*.py"):
        path.touch()
        path.chmod(0o600)
    assert images.build_context(spec, suite=copy) == first


def test_the_context_holds_what_the_worker_needs_and_nothing_else(spec: ImageSpec) -> None:
    with tarfile.open(fileobj=io.BytesIO(images.build_context(spec))) as tar:
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
        assert now.tag != before.tag
        said = images.explain_build(now, [before.labels])
        assert said == f"changed since the last one: {changed}"


def test_the_reason_to_build_looks_at_the_closest_image_of_that_name(spec: ImageSpec) -> None:
    now = plan(spec)
    other = plan(image_table.read_specs()["cuda"])
    far = {**now.labels, f"{LABEL}.lock": "x", f"{LABEL}.suite": "x"}
    near = {**now.labels, f"{LABEL}.suite": "y"}
    assert images.explain_build(now, []) == "none was built yet"
    assert images.explain_build(now, [other.labels]) == "none was built yet"
    assert images.explain_build(now, [far, near]) == "changed since the last one: suite"


LAID = ("pip", "apt", "LD_LIBRARY_PATH", " PATH=")


@pytest.mark.parametrize(
    ("name", "forbidden", "wanted"),
    [
        ("Dockerfile", (), ("--require-hashes", "--no-deps", "--only-binary=:all:")),
        (
            "laid.Dockerfile",
            LAID,
            ("PYTHONPATH=/opt/crossover${PYTHONPATH:+:${PYTHONPATH}}", "HEALTHCHECK NONE"),
        ),
    ],
)
def test_both_dockerfiles_suit_the_classic_builder_the_volumes_and_their_user(
    name: str, forbidden: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    lines = (DOCKER / name).read_text(encoding="utf-8").splitlines()
    kept = "\n".join(line for line in lines if not line.startswith("#"))
    text = re.sub(r"\s*\\\n\s*", " ", kept)
    for word in ("--mount", "--chmod", "--link", "<<", *forbidden):
        assert word not in text
    assert re.search(
        r"ARG ONEDNN=1\n.*TF_ENABLE_ONEDNN_OPTS=\$\{ONEDNN\}|_OPTS=1 ", text, re.DOTALL
    )
    settings = ("TF_ENABLE_ONEDNN_OPTS=", "HOME=/home/crossover", "PYTHONDONTWRITEBYTECODE=1")
    for word in ("USER 10001:10001", *settings, *wanted):
        assert word in text
    # A fresh volume takes its owner from the folder that it is mounted on.
    made = re.search(r"mkdir -p ((?:/\S+ ?)+)&& chown 10001:10001 ((?:/\S+ ?)+)", text)
    assert made is not None
    assert made[1].split() == made[2].split()
    assert set(made[1].split()) == {"/home/crossover", SCRATCH_TARGET, CACHE_TARGET}
    assert text.splitlines()[-1] == 'ENTRYPOINT ["python3", "-m", "suite.worker"]'
