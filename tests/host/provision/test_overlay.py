"""An image that brings its own TensorFlow: the recipe, its identity, its Dockerfile and its refusals."""

from __future__ import annotations

import io
import json
import re
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.errors import VENDOR_IMAGE, EngineError
from suite.host.campaign.arms import known_arms
from suite.host.docker import build
from suite.host.docker.stock import reach_base, take_stock
from suite.host.engine import LABEL
from suite.host.provision import images, overlay
from suite.host.provision.images import DOCKER, Recipe
from suite.host.provision.overlay import CUSTOM, add_digest, overlay_on
from suite.host.provision.volumes import CACHE_TARGET, SCRATCH_TARGET
from suite.model import NOT_FROM_LOCK, Image
from tests.fakes.docker_api import HERE, FakeApi, api_error

ARMS = known_arms()

DIGEST = "sha256:" + "d" * 64
SPEC = images.read_specs()[CUSTOM]
UNFIT = json.dumps(
    {"record": "unfit", "reason": "its python3 is Python 3.10.12 (/usr/bin/python3)"}
)


def recipe(reference: str = "vendor/tf:1") -> Recipe:
    return overlay_on(SPEC, reference)


def provide(api: FakeApi, said: list[str], made: Recipe | None = None, **changes: Any) -> Image:
    given: dict[str, Any] = {"data_root": None, **changes}
    return build.provide_image(api, HERE, made or recipe(), said.append, **given)


def test_it_takes_the_place_of_the_image_of_both_gpu_arms() -> None:
    assert SPEC.gpu
    assert {name for name, arm in ARMS.items() if arm.image == CUSTOM} == {"cuda", "cuda-hidden"}


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


def test_nothing_but_the_suite_goes_into_it() -> None:
    with tarfile.open(fileobj=io.BytesIO(images.build_context(recipe()))) as tar:
        names = tar.getnames()
    assert "Dockerfile" in names
    assert {name.partition("/")[0] for name in names} == {"Dockerfile", "suite"}
    commands = _commands("laid.Dockerfile")
    assert "pip" not in commands
    assert "apt" not in commands


def test_it_is_built_once_and_recorded_as_not_from_the_lock() -> None:
    api = FakeApi(present={"vendor/tf:1": {"Id": "sha256:vendor"}})
    said: list[str] = []
    built = provide(api, said)
    assert built.lock == NOT_FROM_LOCK
    assert built.origin == "the suite laid on vendor/tf:1 (CUDA_IMAGE): not from the lock"
    assert built.base == "vendor/tf:1 (sha256:vendor)"
    assert "none was built yet" in said[0]
    again: list[str] = []
    assert provide(api, again) == built
    assert "reused" in again[0]
    assert "lock" not in again[0]
    assert api.asked.count("build") == 1


def test_what_counts_is_the_image_and_not_its_name() -> None:
    def tag(made: Recipe, identity: str) -> str:
        return images.plan_build(made, base_identity=identity, architecture="amd64").tag

    assert tag(recipe("a:1"), "sha256:1") == tag(recipe("b:2"), "sha256:1")
    assert tag(recipe("a:1"), "sha256:1") != tag(recipe("a:1"), "sha256:2")
    mirrored = [images.identify_base(recipe(f"{name}@{DIGEST}")) for name in ("a:1", "mirror/a")]
    assert mirrored == [DIGEST, DIGEST]


def test_what_somebody_built_on_ours_is_not_taken_for_ours() -> None:
    api = FakeApi(present={"vendor/tf:1": {"Id": "sha256:vendor"}})
    ours = provide(api, [])
    (tag,) = [name for name in api.present if name.startswith("crossover/")]
    # It has our labels, all of them, and other packages.
    api.present = {
        "theirs": {**api.present[tag], "Id": "sha256:theirs", "RepoTags": ["theirs:latest"]},
        **api.present,
    }
    assert provide(api, []).id == ours.id
    del api.present[tag]
    said: list[str] = []
    provide(api, said)
    assert "building" in said[0]


def test_an_image_that_is_unfit_is_refused_with_what_was_found() -> None:
    api = FakeApi(present={"vendor/tf:1": {"Id": "sha256:vendor"}})
    api.events = [
        {"stream": UNFIT + "\n"},
        {"stream": "some last words of TensorFlow\n"},
        {"error": "The command '/bin/sh -c …' returned a non-zero code: 1"},
    ]
    with pytest.raises(EngineError, match=r"can't be laid on vendor/tf:1.*3\.10\.12") as caught:
        provide(api, [])
    assert caught.value.exit_status == 3
    assert f"CUDA_IMAGE={VENDOR_IMAGE}" in caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "/bin/sh: 1: python3: not found",
        "/bin/sh: python3: command not found",
        "sh: python3: Permission denied",
    ],
)
def test_an_image_without_a_python_of_its_own_is_told_so(text: str) -> None:
    error = overlay.explain_unfit("a:1", f"{text}\nreturned a non-zero code: 127")
    assert error is not None
    assert "no python3 on its PATH that any user may run" in error.what


def test_an_image_without_a_shell_is_told_so() -> None:
    text = 'OCI runtime create failed: exec: "/bin/sh": stat /bin/sh: no such file or directory'
    error = overlay.explain_unfit("a:1", text)
    assert error is not None
    assert "/bin/sh" in error.what


def test_other_failures_of_a_build_are_shown_whole() -> None:
    assert overlay.explain_unfit("a:1", "no space left on device") is None
    api = FakeApi(present={"vendor/tf:1": {"Id": "sha256:vendor"}})
    api.events = [{"error": "no space left on device"}]
    with pytest.raises(EngineError, match="the engine's disk is full"):
        provide(api, [])


def test_what_the_check_found_is_said_in_words() -> None:
    api = FakeApi(present={"vendor/tf:1": {"Id": "sha256:vendor"}})
    found = json.dumps({"record": "fit", "found": "TensorFlow 2.17.0 (CUDA 12.8)"})
    api.events = [{"stream": found + "\n"}, {"stream": "another line\n"}]
    said: list[str] = []
    provide(api, said)
    assert "image cuda-laid: it holds TensorFlow 2.17.0 (CUDA 12.8), and the worker's" in said[1]
    assert len(said) == 2


def test_one_that_is_not_here_is_pulled_and_else_names_the_ways_out() -> None:
    api = FakeApi()
    api.failures["pull"] = api_error(403, "denied: access forbidden")
    with pytest.raises(EngineError, match="access forbidden") as caught:
        provide(api, [], recipe(VENDOR_IMAGE))
    assert "CUDA_IMAGE" in caught.value.what
    for way in ("docker login nvcr.io", "docker load", "leave CUDA_IMAGE out"):
        assert way in caught.value.remedy
    assert "BASE_IMAGE" not in caught.value.remedy
    assert "build" not in api.asked


def test_room_is_asked_for_only_where_it_has_to_be_pulled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build.shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    api = FakeApi()
    with pytest.raises(EngineError, match="20 GB of free disk"):
        provide(api, [], data_root=str(tmp_path))
    assert "pull" not in api.asked
    api.present["vendor/tf:1"] = {"Id": "sha256:vendor"}
    assert provide(api, [], data_root=str(tmp_path)).id == "sha256:built"


def test_the_doctor_is_told_what_there_is_of_it() -> None:
    api = FakeApi()
    stock = take_stock(api, HERE, recipe())
    assert (stock.name, stock.image, stock.base) == ("cuda-laid", None, "vendor/tf:1")
    assert (stock.base_here, stock.from_lock) == (False, False)
    assert stock.room_bytes == SPEC.free_bytes
    api.present["vendor/tf:1"] = {"Id": "sha256:vendor"}
    assert take_stock(api, HERE, recipe()).room_bytes == 0
    provide(api, [])
    assert take_stock(api, HERE, recipe()).image == "sha256:built"
    api.failures["registry"] = api_error(401, "unauthorized")
    with pytest.raises(EngineError, match="CUDA_IMAGE"):
        reach_base(api, HERE, "vendor/tf:1", build.refuse_laid)


def test_digests_are_those_of_an_image_that_is_here() -> None:
    seen = {"Id": "sha256:vendor", "RepoDigests": [f"vendor/tf@{DIGEST}"]}
    api = FakeApi(present={"vendor/tf:1": seen})
    assert build.find_digests(api, HERE, "vendor/tf:1") == [f"vendor/tf@{DIGEST}"]
    assert build.find_digests(api, HERE, "vendor/tf:2") == []


def _commands(name: str) -> str:
    lines = (DOCKER / name).read_text(encoding="utf-8").splitlines()
    kept = "\n".join(line for line in lines if not line.startswith("#"))
    return re.sub(r"\s*\\\n\s*", " ", kept)


@pytest.mark.parametrize("name", ["Dockerfile", "laid.Dockerfile"])
def test_both_dockerfiles_make_the_folders_of_every_volume_for_the_same_user(name: str) -> None:
    text = _commands(name)
    made = re.search(r"mkdir -p ((?:/\S+ ?)+)&& chown 10001:10001 ((?:/\S+ ?)+)", text)
    assert made is not None
    assert made[1].split() == made[2].split()
    assert set(made[1].split()) == {"/home/crossover", SCRATCH_TARGET, CACHE_TARGET}
    assert text.count("USER 10001:10001") >= 1
    assert text.splitlines()[-1] == 'ENTRYPOINT ["python3", "-m", "suite.worker"]'
    for setting in ("TF_ENABLE_ONEDNN_OPTS=1", "HOME=/home/crossover", "PYTHONDONTWRITEBYTECODE=1"):
        assert setting in text


def test_the_laid_dockerfile_keeps_to_the_classic_builder_and_to_what_the_image_needs() -> None:
    text = _commands("laid.Dockerfile")
    for forbidden in ("--mount", "--chmod", "--link", "<<", "LD_LIBRARY_PATH", " PATH="):
        assert forbidden not in text
    assert "PYTHONPATH=/opt/crossover${PYTHONPATH:+:${PYTHONPATH}}" in text
    assert "HEALTHCHECK NONE" in text


def test_labels_say_what_it_was_built_from() -> None:
    plan = images.plan_build(recipe(), base_identity=DIGEST, architecture="amd64")
    assert plan.labels[LABEL] == "image"
    assert plan.labels["org.opencontainers.image.base.name"] == "vendor/tf:1"
    assert plan.arguments == {"BASE": "vendor/tf:1"}
    assert plan.lock == NOT_FROM_LOCK
