"""CUDA_IMAGE in a real engine: the suite laid on images that bring their own TensorFlow, or none.

The heavy case stands on the CUDA image from the lock, where one is here; the light ones on the CPU's,
whose TensorFlow is made to say that it was built with CUDA: what is tried is the laying, not the GPU.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from docker.errors import APIError

from suite.analysis.documents.read import load_campaign
from suite.errors import EngineError
from suite.fingerprint import suite_content
from suite.host.docker.engine import DockerEngine
from suite.host.engine import LABEL
from suite.model import NOT_FROM_LOCK, Image
from tests.commands import run_python
from tests.engine.conftest import describe
from tests.fakes.daemons import build_image

Make = Callable[..., str]

CLAIM = (
    "RUN cd /opt/crossover/venv/lib/python3*/site-packages/tensorflow/python/platform"
    " && rm -f __pycache__/build_info.*"
    " && sed -i -E 's/(.is_cuda_build.,?:? *)False/\\1True/' build_info.py"
    " && grep -E 'is_cuda_build.*True' build_info.py"
)
"""Makes a TensorFlow for the CPU say that it was built with CUDA."""

WRONG_SUITE = (
    "RUN rm -rf /opt/crossover/suite && mkdir -p /opt/vendor/suite"
    " && echo 'raise SystemExit(\"the wrong suite\")' > /opt/vendor/suite/__init__.py"
)

LIKE_A_VENDOR = (
    "USER 0:0",
    WRONG_SUITE,
    "ENV PYTHONPATH=/opt/vendor HOME=/root XLA_FLAGS=--xla_dump_max_hlo_modules=1",
    "WORKDIR /opt/vendor",
    "HEALTHCHECK --interval=1s CMD touch /opt/vendor/healthy",
    'ENTRYPOINT ["/bin/sh", "-c", "echo a banner; exec sh", "--"]',
)
"""What a vendor's image has that has to go, or to stay: a user, an entry point, a health check, a
folder, settings, and a package of our name in front of everything."""


@pytest.fixture(scope="module")
def make(api: Any) -> Iterator[Make]:
    """Builds images from a few lines; whatever was built on them goes with them."""
    label = f"{LABEL}.test"
    session = uuid.uuid4().hex

    def build(base: str, *lines: str) -> str:
        text = "\n".join([f"FROM {base}", f"LABEL {label}={session}", *lines])
        tag = f"crossover-test/vendor:{uuid.uuid4().hex[:12]}"
        # What stands on an image of ours is not ours.
        build_image(api, {"Dockerfile": text.encode()}, tag=tag, labels={LABEL: ""})
        return tag

    yield build
    wanted = {"label": f"{label}={session}"}
    while found := {image["Id"] for image in api.images(all=True, filters=wanted)}:
        for image in found:
            with suppress(APIError):  # it has children yet
                api.remove_image(image, force=True)
        if {image["Id"] for image in api.images(all=True, filters=wanted)} == found:
            pytest.fail(f"a test's images were left behind: {found}")


@pytest.fixture(scope="module", params=["light", "heavy"])
def vendor(request: pytest.FixtureRequest, api: Any, make: Make) -> str:
    """An image that brings a TensorFlow of its own."""
    if request.param == "light":
        cpu: Image = request.getfixturevalue("cpu_image")
        return make(cpu.id, *LIKE_A_VENDOR, CLAIM)
    tags = [
        tag
        for image in api.images(filters={"label": f"{LABEL}.image=cuda"})
        for tag in image["RepoTags"] or []
        if tag.startswith("crossover/cuda:")
    ]
    if not tags:
        pytest.skip("no crossover/cuda image is here (5.8 GB): `make images` makes one")
    return make(tags[0], *LIKE_A_VENDOR)


@pytest.fixture(scope="module")
def laid(vendor: str, base: str) -> Iterator[tuple[DockerEngine, Image]]:
    with closing(DockerEngine(base_image=base, cuda_image=vendor)) as engine:
        yield engine, engine.provide("cuda", lambda _line: None)


def test_the_suite_is_laid_on_it_and_nothing_else_is_changed(
    laid: tuple[DockerEngine, Image], vendor: str, api: Any
) -> None:
    engine, image = laid
    theirs, ours = api.inspect_image(vendor), api.inspect_image(image.id)
    assert (
        ours["RootFS"]["Layers"][: len(theirs["RootFS"]["Layers"])] == (theirs["RootFS"]["Layers"])
    )
    config = ours["Config"]
    assert config["Entrypoint"] == ["python3", "-m", "suite.worker"]
    assert config["User"] == "10001:10001"
    assert config["Healthcheck"]["Test"] == ["NONE"]
    kept = dict(entry.split("=", 1) for entry in theirs["Config"]["Env"])
    now = dict(entry.split("=", 1) for entry in config["Env"])
    assert now["PATH"] == kept["PATH"]
    assert now["PYTHONPATH"] == "/opt/crossover:/opt/vendor"
    assert now["TF_ENABLE_ONEDNN_OPTS"] == "1"
    assert (image.lock, image.base.partition(" ")[0]) == (NOT_FROM_LOCK, vendor)
    assert engine.settle_custom(lambda _line: None) == vendor
    assert engine.take_stock("cuda").image == image.id
    assert engine.take_stock("cpu").from_lock
    said: list[str] = []
    assert engine.provide("cuda", said.append) == image
    assert len(said) == 1
    assert "reused" in said[0]


def test_its_own_tensorflow_runs_our_worker_and_is_described(
    laid: tuple[DockerEngine, Image],
) -> None:
    facts = describe(*laid)
    assert facts["suite.fingerprint"] == suite_content()
    assert facts["tensorflow.build.cuda"] is True
    assert facts["environment.XLA_FLAGS"] == "--xla_dump_max_hlo_modules=1"
    assert facts["content.hash"]


@pytest.mark.usefixtures("laid")
def test_a_campaign_runs_in_it_and_says_that_it_is_not_from_the_lock(
    vendor: str, tmp_path: Path
) -> None:
    words = ["bench", "--arms", "cuda-hidden", "--cuda-image", vendor, "--profile", "smoke"]
    words += ["--only", "overhead.fence matmul.square/n=10/*", "--telemetry", "off"]
    words += ["--blocks", "1", "--results", str(tmp_path), "--engine", "docker"]
    done = run_python("-m", "suite", *words)
    assert done.returncode == 0, done.stderr
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    loaded = load_campaign(folder)
    assert loaded.campaign.settings["cuda_image"] == vendor
    assert f"CUDA_IMAGE={vendor}" in loaded.campaign.command
    document = loaded.documents[-1]
    assert {cell.outcome for cell in document.cells} == {"measured"}
    assert document.invocation.image.lock == NOT_FROM_LOCK
    assert document.invocation.image.content == document.facts["content.hash"]
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "ran software not from the suite's locks: TensorFlow" in report
    assert f"the suite laid on {vendor} (CUDA_IMAGE): not from the lock" in report


def refused(reference: str, base: str) -> EngineError:
    with (
        closing(DockerEngine(base_image=base, cuda_image=reference)) as engine,
        pytest.raises(EngineError, match=r"can't be laid on") as caught,
    ):
        engine.provide("cuda", lambda _line: None)
    assert caught.value.exit_status == 3
    assert "CUDA_IMAGE=" in caught.value.remedy
    return caught.value


def test_an_image_without_tensorflow_is_refused(make: Make, base: str) -> None:
    error = refused(make(base), base)
    assert "can't import tensorflow and numpy: ModuleNotFoundError" in error.what
    assert "Python 3." in error.what


def test_an_image_without_python_is_refused(make: Make, base: str) -> None:
    error = refused(make(base, 'RUN rm -f "$(command -v python3)"'), base)
    assert "it has no python3 on its PATH" in error.what


def test_a_tensorflow_for_the_cpu_alone_is_refused(make: Make, base: str, cpu_image: Image) -> None:
    error = refused(make(cpu_image.id, *LIKE_A_VENDOR), base)
    assert "built for the CPU only (is_cuda_build: False)" in error.what
    assert "TensorFlow 2." in error.what
    assert "NumPy" in error.what
