"""An image that brings its own TensorFlow, with the suite laid on it."""

from __future__ import annotations

import io
import json
import tarfile
from typing import Any

import pytest

from suite.errors import VENDOR_IMAGE, EngineError
from suite.host.docker.build import reach_base, take_stock
from suite.host.docker.connection import Daemon
from suite.host.provision import custom_image, image_table, images
from suite.host.provision.custom_image import CUSTOM, add_digest, overlay_on
from suite.host.provision.image_table import ImageSpec
from suite.model import NOT_FROM_LOCK, Image
from tests.fakes import docker_api
from tests.fakes.docker_api import HERE, FakeApi, api_error

DIGEST = "sha256:" + "d" * 64
SPEC = image_table.read_specs()[CUSTOM]


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
    error = custom_image.explain_unfit("a:1", text)
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
