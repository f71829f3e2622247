"""What an image is made from: specs, context, hash; or laid on one that brings its own TensorFlow."""

from __future__ import annotations

import io
import json
import re
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.errors import VENDOR_IMAGE, EngineError, UsageError
from suite.fingerprint import SUITE, worker_files
from suite.host.campaign.arms import known_arms
from suite.host.docker.build import reach_base, take_stock
from suite.host.docker.connection import Daemon
from suite.host.engine import LABEL
from suite.host.provision import images
from suite.host.provision.images import (
    CUSTOM,
    DOCKER,
    BuildPlan,
    ImageSpec,
    add_digest,
    overlay_on,
)
from suite.host.provision.resources import CACHE_TARGET, SCRATCH_TARGET
from suite.model import NOT_FROM_LOCK, Image
from suite.worker.session.preflight import OLDEST_TENSORFLOW
from tests.fakes import docker_api
from tests.fakes.docker_api import HERE, FakeApi, api_error

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


@pytest.mark.parametrize("architecture", ["aarch64", "arm64"])
def test_no_image_is_made_whose_tensorflow_could_not_run_or_use_the_gpu(
    spec: ImageSpec, architecture: str
) -> None:
    images.demand_wheels(SPEC, "x86_64")
    images.demand_wheels(spec, architecture)
    with pytest.raises(EngineError, match="built without CUDA for this processor") as caught:
        images.demand_wheels(SPEC, architecture)
    assert "CUDA_IMAGE=" in caught.value.remedy
    older = replace(spec, name="cpu@2.13", tensorflow="2.13.1", processors=("x86_64",))
    images.demand_wheels(older, "amd64")
    with pytest.raises(EngineError, match=rf"{architecture}: TensorFlow 2\.13\.1") as caught:
        images.demand_wheels(older, architecture)
    assert "x86_64" in caught.value.remedy


LAST_ROW = f"""
["cpu@2.19"]
base = "python:3.11.9-slim@sha256:{"0" * 64}"
python = "3.11"
lock = "cpu-2.19.txt"
gpu = false
free_gb = 5
"""


def write_table(tmp_path: Path, row: str) -> Path:
    """The committed table with another row, beside its locks."""
    docker = shutil.copytree(DOCKER, tmp_path / "docker")
    with (docker / "images.toml").open("a") as file:
        file.write(row)
    return docker / "images.toml"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("free_gb = 5", "free_gb = 5\nonedn = false", "onedn"),
        ('python = "3.11"', 'python = "3.12"', "says Python 3.12"),
        ("cpu@2.19", "cpu@RC", "'cpu@RC': its name can't be part"),
        ("cpu@2.19", "cpu-2.20", "'cpu-2.20' and of 'cpu@2.20' would have one name"),
        ("cpu@2.19", "tpu@2.19", "there is no row 'tpu'"),
        ("cpu@2.19", "tpu", "a row without a GPU says cpu"),
        ("cpu@2.19", f"cpu@{'x' * 300}", "has 304 characters; 60 are the most"),
        (f"@sha256:{'0' * 64}", "", "not pinned by digest"),
        (f"@sha256:{'0' * 64}", "@sha256:0", "not pinned by digest"),
        (f"python:3.11.9-slim@sha256:{'0' * 64}", "", "its base '' is not pinned"),
        ("cpu-2.19.txt", "../cpu-2.19.txt", "is not the name of a .txt file in docker"),
        ("cpu-2.19.txt", "", "is not the name of a .txt file in docker"),
        ("cpu-2.19.txt", "/etc/hosts.txt", "is not the name of a .txt file in docker"),
        ("cpu-2.19.txt", f"{'x' * 300}.txt", "is not the name of a .txt file in docker"),
        ('python = "3.11"', 'python = "3.11.9"', "not a version such as 3.13"),
        ('python = "3.11"', 'python = "3.9"', "from 3.11 on"),
        ('python = "3.11"', 'python = ""', "not a version such as 3.13"),
        ('python = "3.11"\n', "", "python"),
        ("cpu@2.19", "cpu@twin", "'cpu@twin': its name ends as the documents"),
        ("cpu@2.19", "cpu@2.19-01", "ends as the documents"),
        ("gpu = false", "gpu = true", "differ in having a GPU"),
        ("free_gb = 5", "free_gb = -5", "free_gb is above 0"),
        ("free_gb = 5", 'free_gb = 5\nprocessors = ["vax"]', "processors are some of"),
        ("free_gb = 5", "free_gb = 5\nprocessors = []", "processors are some of"),
    ],
)
def test_a_row_that_contradicts_itself_is_an_error(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    path = write_table(tmp_path, LAST_ROW.replace(old, new))
    with pytest.raises(EngineError, match=said):
        images.read_specs(path)


def test_a_lock_that_is_not_there_is_missed_by_its_own_arm_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = images.read_specs(write_table(tmp_path, LAST_ROW))
    monkeypatch.setattr(images, "read_specs", lambda: specs)
    assert images.find_spec("cpu").tensorflow
    with pytest.raises(UsageError, match=r"docker/cpu-2\.19\.txt") as caught:
        images.find_spec("cpu@2.19")
    assert "`make lock TENSORFLOW=2.19`" in caught.value.remedy


X86, BOTH = (("3.11", "x86_64"),), (("3.11", "x86_64"), ("3.11", "aarch64"), ("3.12", "x86_64"))


@pytest.mark.parametrize(
    ("row", "head", "pin", "said"),
    [
        # As it was made by hand.
        (LAST_ROW, "", "tensorflow-cpu==2.19.1", None),
        (LAST_ROW, "# Has wheels for everybody\n", "tensorflow==2.19.0", None),
        (LAST_ROW, images.write_places(BOTH), "tensorflow-cpu==2.19.1", None),
        (
            f'{LAST_ROW}processors = ["x86_64"]\n',
            images.write_places(X86),
            "tensorflow==2.19.1",
            None,
        ),
        (
            LAST_ROW,
            images.write_places(X86),
            "tensorflow==2.19.1",
            "no wheels for Python 3.11 on aarch64",
        ),
        (
            LAST_ROW.replace("3.11", "3.12"),
            f"# somebody's\n{images.write_places(BOTH)}",
            "tensorflow==2.19.1",
            "no wheels for Python 3.12 on aarch64",
        ),
        (
            LAST_ROW.replace("3.11", "3.13"),
            images.write_places(BOTH),
            "tensorflow==2.19.1",
            "no wheels for Python 3.13 on x86_64 and Python 3.13 on aarch64",
        ),
        (LAST_ROW, "", "tensorflow-cpu==2.18.1", "pins tensorflow 2.18.1, and its name says 2.19"),
        (LAST_ROW, "", "tensorflow-cpu==2.191", "its name says 2.19"),
        (
            LAST_ROW.replace("cpu@2.19", "cpu@keras-3.5"),
            "",
            "tensorflow-cpu==2.19.1",
            "its name says 3.5",
        ),
        (LAST_ROW.replace("cpu@2.19", "cpu@2.14"), "", "tensorflow==2.14.1", "oldest .* is 2.15"),
        (LAST_ROW.replace("cpu@2.19", "cpu@old"), "", "tensorflow==1.15.5", "oldest .* is 2.15"),
        (
            LAST_ROW.replace("cpu@2.19", "cuda@2.19").replace("gpu = false", "gpu = true"),
            "",
            "tensorflow-cpu==2.19.1",
            "without CUDA",
        ),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_lock_that_cannot_be_its_rows_is_missed_by_its_own_arm_alone(
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    row: str,
    head: str,
    pin: str,
    said: str | None,
    ending: str,
) -> None:
    path = write_table(tmp_path, row)
    text = f"{head}{pin} \\\n    --hash=sha256:0\nkeras==3.12.0\n".replace("\n", ending)
    (path.parent / "cpu-2.19.txt").write_bytes(text.encode())
    specs = images.read_specs(path)
    monkeypatch.setattr(images, "read_specs", lambda: specs)
    name = list(specs)[-1]
    assert images.find_spec("cpu").tensorflow
    if said is None:
        assert images.find_spec(name).tensorflow == pin.partition("==")[2]
        return
    with pytest.raises(UsageError, match=said) as caught:
        images.find_spec(name)
    assert "docker/cpu-2.19.txt" in caught.value.what
    assert "make lock" in caught.value.remedy


def test_the_oldest_tensorflow_is_the_workers() -> None:
    assert images.OLDEST_TENSORFLOW == OLDEST_TENSORFLOW


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("cpu@2.18", "make lock TENSORFLOW=2.18"),
        ("cpu@2.15", "make lock TENSORFLOW=2.15"),
        ("cpu@2.14", None),
        ("cpu@keras-2.14", "make lock KERAS=2.14"),
        ("cuda@2.18.1-hidden", "make lock TENSORFLOW=2.18.1"),
        ("cpu@keras-3.5", "make lock KERAS=3.5"),
        ("rocm@2.18", None),
        ("cpu@nightly", None),
        ("cpu@2", None),
        ("cpu@2.18; reboot", None),
    ],
)
def test_a_version_that_nobody_locked_names_the_command_that_does(
    name: str, command: str | None
) -> None:
    assert images.name_lock_command(name) == command


def test_each_arm_gets_the_base_with_its_python(spec: ImageSpec) -> None:
    older = images.read_specs()["cpu@2.15"]
    assert (spec.python, older.python) == ("3.13", "3.11")
    for asked, newer, other in (
        (images.STAND_IN, images.STAND_IN, f"{images.STAND_IN}-3.11"),
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
    older = images.follow(images.read_specs()["cpu@2.15"], "mine:1")
    if found is None:
        images.demand_python(older, labels, environment)
        return
    with pytest.raises(EngineError, match=rf"mine:1 has Python {re.escape(found)},") as caught:
        images.demand_python(older, labels, environment)
    assert "the arm cpu@2.15 is for Python 3.11" in caught.value.what
    for way in ("{python}", f"BASE_IMAGE={images.STAND_IN}", 'make base ARMS="cpu@2.15"'):
        assert way in caught.value.remedy


def test_a_version_has_a_name_that_engines_take_and_a_setting_keeps_the_packages(
    spec: ImageSpec,
) -> None:
    older = plan(images.read_specs()["cpu@2.15"])
    assert re.fullmatch(r"crossover/cpu-2\.15:[0-9a-f]{12}", older.tag)
    assert older.labels[f"{LABEL}.image"] == "cpu@2.15"
    assert older.arguments["PYTHON"] == "3.11"
    plain, without = plan(spec), plan(images.read_specs()["cpu@onednn-off"])
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
    other = plan(images.read_specs()["cuda"])
    far = {**now.labels, f"{LABEL}.lock": "x", f"{LABEL}.suite": "x"}
    near = {**now.labels, f"{LABEL}.suite": "y"}
    assert images.explain_build(now, []) == "none was built yet"
    assert images.explain_build(now, [other.labels]) == "none was built yet"
    assert images.explain_build(now, [far, near]) == "changed since the last one: suite"


DIGEST = "sha256:" + "d" * 64
SPEC = images.read_specs()[CUSTOM]


def recipe(reference: str = "vendor/tf:1") -> ImageSpec:
    return overlay_on(SPEC, reference)


def provide(api: FakeApi, made: ImageSpec | None = None, **disk: Any) -> tuple[Image, list[str]]:
    return docker_api.provide(api, made or recipe(), **disk)


@pytest.fixture
def api() -> FakeApi:
    """An engine that has the image that the suite is laid on."""
    return FakeApi(present={"vendor/tf:1": {"Id": "sha256:vendor"}})


@pytest.mark.parametrize(
    ("reference", "digests", "pinned"),
    [
        ("a/b:1", [f"a/b@{DIGEST}"], f"a/b:1@{DIGEST}"),
        ("a/b", [f"other@{DIGEST}", f"a/b@{DIGEST}"], f"a/b@{DIGEST}"),
        ("host:5000/b", [f"host:5000/b@{DIGEST}"], f"host:5000/b@{DIGEST}"),
        ("docker.io/library/b:1", [f"b@{DIGEST}"], f"docker.io/library/b:1@{DIGEST}"),
        ("a/b:1", [f"mirror/b@{DIGEST}"], "a/b:1"),
        ("a/b:1", [], "a/b:1"),
        ("sha256:abc", [f"a/b@{DIGEST}"], "sha256:abc"),
        (f"a/b:1@{DIGEST}", ["a/b@sha256:0"], f"a/b:1@{DIGEST}"),
    ],
)
def test_a_reference_is_pinned_by_what_its_own_registry_calls_it(
    reference: str, digests: list[str], pinned: str
) -> None:
    assert add_digest(reference, digests) == pinned


def test_what_counts_is_the_image_and_not_its_name() -> None:
    def tag(made: ImageSpec, identity: str) -> str:
        return images.plan_build(made, base_identity=identity, architecture="amd64").tag

    assert tag(recipe("a:1"), "sha256:1") == tag(recipe("b:2"), "sha256:1")
    assert tag(recipe("a:1"), "sha256:1") != tag(recipe("a:1"), "sha256:2")
    mirrored = [images.identify_base(recipe(f"{name}@{DIGEST}")) for name in ("a:1", "mirror/a")]
    assert mirrored == [DIGEST, DIGEST]


def test_it_is_built_once_and_recorded_as_not_from_the_lock(api: FakeApi) -> None:
    built, said = provide(api)
    assert built.lock == NOT_FROM_LOCK
    assert built.origin == "the suite laid on vendor/tf:1 (CUDA_IMAGE): not from the lock"
    assert built.base == "vendor/tf:1 (sha256:vendor)"
    assert "none was built yet" in said[0]
    again, said = provide(api)
    assert again == built
    assert "reused" in said[0]
    assert "lock" not in said[0]
    assert api.asked.count("build") == 1


def test_what_somebody_built_on_ours_is_not_taken_for_ours(api: FakeApi) -> None:
    ours, _ = provide(api)
    (tag,) = [name for name in api.present if name.startswith("crossover/")]
    # It has our labels, all of them, and other packages.
    theirs = {**api.present[tag], "Id": "sha256:theirs", "RepoTags": ["theirs:latest"]}
    api.present = {"theirs": theirs, **api.present}
    assert provide(api)[0].id == ours.id
    del api.present[tag]
    assert "building" in provide(api)[1][0]


def report(name: str, **fields: str) -> dict[str, str]:
    return {"stream": json.dumps({"record": name, **fields}) + "\n"}


def test_what_the_check_found_is_said_in_words(api: FakeApi) -> None:
    found = report("fit", found="TensorFlow 2.17.0 (CUDA 12.8)")
    api.events = [found, {"stream": "another line\n"}]
    _, (_, said) = provide(api)
    assert "it holds TensorFlow 2.17.0 (CUDA 12.8)" in said


def test_an_image_that_is_unfit_is_refused_with_what_was_found(api: FakeApi) -> None:
    api.events = [
        report("unfit", reason="its python3 is Python 3.10.12 (/usr/bin/python3)"),
        {"stream": "some last words of TensorFlow\n"},
        {"error": "The command '/bin/sh -c …' returned a non-zero code: 1"},
    ]
    with pytest.raises(EngineError, match=r"can't be laid on vendor/tf:1.*3\.10\.12") as caught:
        provide(api)
    assert caught.value.exit_status == 3
    assert f"CUDA_IMAGE={VENDOR_IMAGE}" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/bin/sh: 1: python3: not found\ncode: 127", "no python3 on its PATH that any user"),
        ("/bin/sh: python3: command not found\ncode: 127", "no python3 on its PATH"),
        ("sh: python3: Permission denied\ncode: 127", "no python3 on its PATH"),
        (
            'OCI runtime create failed: exec: "/bin/sh": stat /bin/sh: no such file or directory',
            "/bin/sh",
        ),
        ("no space left on device", None),
    ],
)
def test_what_an_image_lacks_is_told(text: str, said: str | None) -> None:
    error = images.explain_unfit("a:1", text)
    assert (error is None) is (said is None)
    assert error is None or (said or "") in error.what


def test_one_that_is_not_here_is_pulled_and_else_names_the_ways_out() -> None:
    api = FakeApi()
    api.failures["pull"] = api_error(403, "denied: access forbidden")
    with pytest.raises(EngineError, match="access forbidden") as caught:
        provide(api, recipe(VENDOR_IMAGE))
    assert "CUDA_IMAGE" in caught.value.what
    for way in ("docker login nvcr.io", "docker load", "leave CUDA_IMAGE out"):
        assert way in caught.value.remedy
    assert "BASE_IMAGE" not in caught.value.remedy
    assert "build" not in api.asked


def test_room_is_asked_for_only_where_it_has_to_be_pulled(
    api: FakeApi, full: dict[str, str]
) -> None:
    empty = FakeApi()
    with pytest.raises(EngineError, match="20 GB of free disk"):
        provide(empty, **full)
    assert "pull" not in empty.asked
    assert provide(api, **full)[0].id == "sha256:built"


def test_the_doctor_is_told_what_there_is_of_it(api: FakeApi) -> None:
    stock = take_stock(Daemon(FakeApi(), HERE), recipe())
    assert (stock.name, stock.image, stock.base) == ("cuda-laid", None, "vendor/tf:1")
    assert (stock.base_here, stock.from_lock) == (False, False)
    assert stock.room_bytes == SPEC.free_bytes
    assert take_stock(Daemon(api, HERE), recipe()).room_bytes == 0
    provide(api)
    assert take_stock(Daemon(api, HERE), recipe()).image == "sha256:built"
    api.failures["registry"] = api_error(401, "unauthorized")
    with pytest.raises(EngineError, match="CUDA_IMAGE"):
        reach_base(Daemon(api, HERE), "vendor/tf:1", laid=True)


def test_the_plan_says_what_it_is_built_from_and_nothing_but_the_suite_goes_in() -> None:
    plan = images.plan_build(recipe(), base_identity=DIGEST, architecture="amd64")
    assert plan.labels["org.opencontainers.image.base.name"] == "vendor/tf:1"
    assert plan.arguments == {"BASE": "vendor/tf:1"}
    assert plan.lock == NOT_FROM_LOCK
    with tarfile.open(fileobj=io.BytesIO(images.build_context(recipe()))) as tar:
        names = tar.getnames()
    assert "Dockerfile" in names
    assert {name.partition("/")[0] for name in names} == {"Dockerfile", "suite"}


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
