"""Volumes in a real engine: made, labelled, written to, kept between runs, and removed."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from suite.host.docker import leftovers
from suite.host.docker.engine import DockerEngine
from suite.host.docker.leftovers import LASTING, sweep
from suite.host.docker.run import USER
from suite.host.engine import LABEL, GpuRequest, Volume
from suite.host.provision.resources import (
    CACHE_SETTINGS,
    CACHE_TARGET,
    SCRATCH_TARGET,
    SCRATCH_VARIABLE,
    compile_cache,
)
from suite.model import Image
from tests.engine.conftest import Jobs, hear

WRITE = """
import os, pathlib
place = pathlib.Path(os.environ["CROSSOVER_SCRATCH"])
status = place.stat()
print(place, f"{status.st_uid}:{status.st_gid}")
print(sorted(path.name for path in place.iterdir()))
(place / "file").write_text("kept")
try:
    pathlib.Path("/elsewhere").write_text("x")
except OSError as error:
    print(error.strerror)
"""


@pytest.fixture
def volume(api: Any) -> Iterator[Volume]:
    made = Volume(
        name=f"crossover-test-{uuid.uuid4().hex[:16]}",
        target=SCRATCH_TARGET,
        variable=SCRATCH_VARIABLE,
        purpose="scratch",
    )
    yield made
    left = find(api, made)
    for one in left:
        api.remove_volume(one["Name"], force=True)
    assert left == [], "a test's volume was left behind"


def find(api: Any, volume: Volume, kind: str = "volume") -> list[dict[str, Any]]:
    """What the engine has of that kind and name."""
    listed = api.volumes(filters={"label": f"{LABEL}={kind}"})["Volumes"] or []
    return [one for one in listed if one["Name"] == volume.name]


def test_a_volume_is_the_workers_own_and_still_there_for_the_next_run(
    engine: DockerEngine, api: Any, cpu_image: Image, volume: Volume
) -> None:
    for files in ([], ["file"]):
        said = hear(engine, cpu_image, "-c", WRITE, volumes=(volume,))
        assert said == [f"{SCRATCH_TARGET} {USER}", str(files), "Read-only file system"]
    (made,) = find(api, volume)
    assert made["Labels"][f"{LABEL}.purpose"] == "scratch"
    engine.remove_volume(volume)
    assert not find(api, volume)
    engine.remove_volume(volume)


def test_a_volume_that_a_container_holds_stays_until_it_has_ended(
    engine: DockerEngine, api: Any, jobs: Jobs, cpu_image: Image, volume: Volume
) -> None:
    with closing(jobs.begin(image=cpu_image, volumes=(volume,))):
        engine.remove_volume(volume)
        assert find(api, volume)
        engine.sweep_leftovers()
        assert find(api, volume)
    engine.remove_volume(volume)


def test_a_cell_reads_the_files_that_it_has_made_there(
    engine: DockerEngine, cpu_image: Image, volume: Volume
) -> None:
    words = ("measure", "--warmup", "0.05", "--measure", "0.1")
    cell_id = "tfdata.read/source=interleave/batch=512"
    try:
        said = hear(engine, cpu_image, *words, cell_id, volumes=(volume,))
    finally:
        engine.remove_volume(volume)
    records = [json.loads(line) for line in said]
    (cell,) = [one["cell"] for one in records if one["record"] == "cell"]
    assert (cell["outcome"], cell["reason"]) == ("measured", None)
    assert cell["check"]["what"].startswith("10000 elements counted")


FILL = """
import os, pathlib
from suite.worker.proof import libraries
place = pathlib.Path(os.environ["CUDA_CACHE_PATH"])
print(place, *(os.environ[name] for name in ("CUDA_CACHE_MAXSIZE", "CUDA_CACHE_DISABLE")))
print(libraries.cache_facts("start")["cuda.cache.at_start.files"])
(place / "0" / "1").mkdir(parents=True, exist_ok=True)
(place / "0" / "1" / str(len(list(place.glob("0/1/*"))))).write_text("compiled")
print(libraries.cache_facts("end")["cuda.cache.at_end.bytes"])
"""


@pytest.fixture
def cache(api: Any, cpu_image: Image, monkeypatch: pytest.MonkeyPatch) -> Iterator[Volume]:
    """The cache of a driver that no machine has; any image has its folder."""
    # What others have in this engine is left alone by the sweeps.
    monkeypatch.setattr(leftovers, "is_alive", lambda _: True)
    gpu = GpuRequest(driver="nvidia", devices=("0",), kernel_driver=f"0.{uuid.uuid4().int}")
    made = compile_cache(cpu_image, gpu)
    yield made
    if find(api, made, LASTING):
        api.remove_volume(made.name, force=True)


def test_the_compile_cache_is_filled_by_one_run_and_found_by_the_next(
    engine: DockerEngine, api: Any, cpu_image: Image, cache: Volume
) -> None:
    for before in (0, 1):
        said = hear(*(engine, cpu_image, "-c", FILL), volumes=(cache,), environment=CACHE_SETTINGS)
        assert said == [f"{CACHE_TARGET} 4294967296 0", str(before), str(8 * (before + 1))]
        # Between two campaigns, and where nobody knows the machine's driver.
        assert sweep(engine._daemon, time.time() + 1e9) == 0
        assert find(api, cache, LASTING)
    (made,) = find(api, cache, LASTING)
    assert made["Labels"][f"{LABEL}.driver"] == cache.labels["driver"]
    assert f"{LABEL}.owner" not in made["Labels"]
