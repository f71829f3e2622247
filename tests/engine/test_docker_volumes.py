"""Volumes in a real engine: made, labelled, written to, kept between runs, and removed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from suite.host.docker_engine import DockerEngine
from suite.host.docker_run import USER, DockerRun
from suite.host.engine import LABEL, Job, Volume
from suite.host.volumes import SCRATCH_TARGET, SCRATCH_VARIABLE
from suite.model import Image

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
    left = [one for one in listed(api) if one["Name"] == made.name]
    for one in left:
        api.remove_volume(one["Name"], force=True)
    assert left == [], "a test's volume was left behind"


def listed(api: Any) -> list[dict[str, Any]]:
    return list(api.volumes(filters={"label": f"{LABEL}=volume"})["Volumes"] or [])


def start(engine: DockerEngine, image: Image, volume: Volume, *arguments: str) -> DockerRun:
    entrypoint = ("python3",) if arguments[0] == "-c" else ()
    job = Job(image=image, arguments=arguments, cpus=engine.cpus(), volumes=(volume,))
    return engine.start(job, entrypoint=entrypoint)


def test_a_volume_is_the_workers_own_and_still_there_for_the_next_run(
    engine: DockerEngine, api: Any, cpu_image: Image, volume: Volume, reader: Any
) -> None:
    for files in ([], ["file"]):
        run = start(engine, cpu_image, volume, "-c", WRITE)
        try:
            said = reader(run)
        finally:
            ending = run.close()
        assert ending.code == 0, ending.diary
        assert said == [f"{SCRATCH_TARGET} {USER}", str(files), "Read-only file system"]
    (made,) = [one for one in listed(api) if one["Name"] == volume.name]
    assert made["Labels"][f"{LABEL}.purpose"] == "scratch"
    engine.remove_volume(volume)
    assert volume.name not in [one["Name"] for one in listed(api)]
    engine.remove_volume(volume)


def test_a_volume_that_a_container_holds_stays_until_it_has_ended(
    engine: DockerEngine, api: Any, cpu_image: Image, volume: Volume
) -> None:
    run = start(
        engine, cpu_image, volume, "-c", "import time; print('up', flush=True); time.sleep(600)"
    )
    try:
        assert run.next_line(60) == "up"
        engine.remove_volume(volume)
        assert volume.name in [one["Name"] for one in listed(api)]
        engine.sweep_leftovers()
        assert volume.name in [one["Name"] for one in listed(api)]
    finally:
        run.close()
    engine.remove_volume(volume)


def test_volumes_of_the_dead_are_swept(engine: DockerEngine, api: Any, volume: Volume) -> None:
    living = engine._owner
    dead = living.rpartition("|")[0] + "|4194999@1"
    api.create_volume(volume.name, labels={LABEL: "volume", f"{LABEL}.owner": dead})
    assert engine.sweep_leftovers() >= 1
    assert volume.name not in [one["Name"] for one in listed(api)]


def test_a_cell_reads_the_files_that_it_has_made_there(
    engine: DockerEngine, cpu_image: Image, volume: Volume, reader: Any
) -> None:
    run = start(
        engine,
        cpu_image,
        volume,
        *("measure", "--warmup", "0.05", "--measure", "0.1"),
        "tfdata.read/source=interleave/batch=512",
    )
    try:
        records = [json.loads(line) for line in reader(run)]
    finally:
        ending = run.close()
        engine.remove_volume(volume)
    assert ending.code == 0, ending.diary
    (facts,) = [one["facts"] for one in records if one["record"] == "facts"]
    assert facts["scratch.filesystem"] not in {None, "tmpfs"}
    assert facts["scratch.free_bytes"] > 0
    (cell,) = [one["cell"] for one in records if one["record"] == "cell"]
    assert (cell["outcome"], cell["reason"]) == ("measured", None)
    assert cell["check"]["what"].startswith("10000 elements counted")
