"""A person's script in a real engine: its folder, its data and its packages, and what it can't get at."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from suite.errors import EngineError
from suite.fingerprint import SUITE
from suite.host.campaign.options import Options
from suite.host.docker.engine import DockerEngine
from suite.host.engine import LABEL, Volume
from suite.host.why.script import bring, mount_data
from suite.model import Image
from tests.engine.conftest import Jobs, bare, hear

(LOCKED,) = re.findall(
    r"^tabulate==[^#]+", (SUITE.parent / "requirements" / "host.txt").read_text(), re.MULTILINE
)
"""A package that no arm has, with its hashes."""

LOOK = """
import json, os, pathlib, shutil, socket
place, data = (pathlib.Path(os.environ[name]) for name in ("CROSSOVER_SCRIPT", "DATA"))
def tries(path):
    try:
        (path / "evil").write_text("x")
    except OSError as error:
        return error.strerror
    return "written"
copied = shutil.copytree(place, "/tmp/copy", symlinks=True)
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
    network = "reached"
except OSError as error:
    network = error.strerror
print(json.dumps({
    "files": sorted(str(p.relative_to(place)) for p in place.rglob("*")),
    "text": (place / "train.py").read_text(),
    "by_name": pathlib.Path(copied, "data", "numbers.txt").read_text(),
    "by_place": (data / "numbers.txt").read_text(),
    "refused": sorted({tries(p) for p in (place, data, pathlib.Path(copied, "data"), pathlib.Path("/"))}),
    "own": tries(pathlib.Path(copied)),
    "network": network,
}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"train.py": "train()\n", "data/numbers.txt": "1 2 3\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def volume(engine: DockerEngine) -> Iterator[Volume]:
    made = Volume(
        name=f"crossover-test-{uuid.uuid4().hex[:16]}",
        target="/script",
        variable="CROSSOVER_SCRIPT",
        purpose="script",
        read_only=True,
    )
    yield made
    engine.remove_volume(made)


def test_a_script_sees_its_folder_and_data_and_can_change_neither(
    jobs: Jobs, api: Any, folder: Path, volume: Volume
) -> None:
    brought = bring(Options.parse({"script": folder / "train.py", "data": folder / "data"}))
    assert brought.data is not None
    before = {one["Id"] for one in api.containers(all=True)}
    jobs.engine.fill(volume, brought.archive, jobs.image)
    # What filled it was never started, and is gone.
    assert {one["Id"] for one in api.containers(all=True)} <= before
    (made,) = [v for v in api.volumes()["Volumes"] if v["Name"] == volume.name]
    assert made["Labels"][f"{LABEL}.purpose"] == "script"
    mounts = (volume, mount_data(brought.data, jobs.engine))
    lines, ending = jobs.run(LOOK, volumes=mounts)
    assert ending.code == 0, ending.diary
    assert json.loads(lines[0]) == {
        "files": ["data", "train.py"],
        "text": "train()\n",
        "by_name": "1 2 3\n",
        "by_place": "1 2 3\n",
        "refused": ["Read-only file system"],
        "own": "written",
        "network": "Network is unreachable",
    }
    assert not (folder / "data" / "evil").exists()


def test_a_script_that_takes_too_much_memory_is_ended_alone(jobs: Jobs) -> None:
    code = "kept = [bytearray(50_000_000) for _ in range(100)]"
    _, ending = jobs.run(code, memory_bytes=200 * 2**20)
    assert "out of memory" in ending.phrase


def test_packages_of_a_lock_come_in_by_their_hashes_and_once(
    engine: DockerEngine, base: str, cpu_image: Image, tmp_path: Path
) -> None:
    lock = tmp_path / "my lock.txt"
    lock.write_text(LOCKED + f"# {uuid.uuid4()}\n")
    said: list[str] = []
    with closing(DockerEngine(base_image=base)) as own:
        made, again = (own.provide("cpu", said.append, packages=lock) for _ in range(2))
    assert (again, made.base, made.lock) == (made, cpu_image.base, cpu_image.lock)
    assert "with the packages of my lock.txt@sha256:" in made.origin
    assert any("cpu-packages: reused" in line for line in said)
    code = "import numpy, tabulate, tensorflow; print(tabulate.__version__)"
    try:
        assert hear(engine, made, "-c", code)[-1] == "0.10.0"
    finally:
        engine._daemon.api.remove_image(made.id, force=True)


def test_a_package_with_another_hash_is_not_installed(
    api: Any, base: str, cpu_image: Image, tmp_path: Path
) -> None:
    before = {image["Id"] for image in api.images()}
    assert cpu_image.id in before
    lock = tmp_path / "lock.txt"
    lock.write_text(re.sub("sha256:.{8}", "sha256:00000000", LOCKED))
    with (
        closing(DockerEngine(base_image=base)) as own,
        pytest.raises(EngineError, match="DO NOT MATCH THE HASHES"),
    ):
        own.provide("cpu", lambda _line: None, packages=lock)
    # What the builder leaves of a failed build, as of any.
    for image in {image["Id"] for image in api.images()} - before:
        api.remove_image(image)


def test_what_fills_a_volume_is_removed_where_the_engine_refuses(
    engine: DockerEngine, api: Any, volume: Volume
) -> None:
    before = {one["Id"] for one in api.containers(all=True)}
    with pytest.raises(EngineError, match="filling the volume script"):
        engine.fill(volume, b"not an archive", bare("sha256:" + "0" * 64))
    assert {one["Id"] for one in api.containers(all=True)} == before
