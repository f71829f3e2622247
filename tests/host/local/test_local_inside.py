"""The engine inside of what somebody else has started: what it sees there, and whose worker it takes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from suite.errors import EngineError, UsageError
from suite.fingerprint import SUITE
from suite.host.engine import Job
from suite.host.local.engine import DIGEST, InsideEngine, look_around
from tests.fakes.groups import first, unified
from tests.fakes.scripted_python import stand_in
from tests.fakes.tree import lay

pytestmark = pytest.mark.processes

HASH = "sha256:" + "ab" * 32
STATUS = "Name:\tpython3\nCapEff:\t{caps}\nNoNewPrivs:\t{new}\n"
TWO = {
    **unified(
        "/",
        {
            "cpu.max": "150000 100000",
            "cpuset.cpus.effective": "0-3",
            "memory.max": "2147483648",
        },
    ),
    "proc/self/status": STATUS.format(caps="0000000000000000", new=1),
    "run/.containerenv": "x",
}
ONE = {
    **first(
        "/slurm/job_7",
        {
            "cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us": "100000",
            "cpu,cpuacct/slurm/job_7/cpu.cfs_period_us": "100000",
            "cpuset/slurm/job_7/cpuset.cpus": "1",
            "memory/slurm/job_7/memory.limit_in_bytes": "9223372036854771712",
        },
    ),
    "proc/self/status": STATUS.format(caps="00000000a80425fb", new=0),
    "proc/1/cgroup": "x",
}


def lay_image(root: Path, lock: str = "cpu", folder: str = "crossover") -> None:
    """The suite's own worker in an image."""
    place = root / "opt" / folder
    (place / "venv" / "bin").mkdir(parents=True)
    shutil.copy(SUITE.parent / "docker" / f"{lock}.txt", place / "lock.txt")
    stand_in(place / "venv" / "bin" / "python", "echo worker")


@pytest.fixture(autouse=True)
def _no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DIGEST, raising=False)


@pytest.mark.parametrize(
    ("files", "variables", "seen"),
    [
        (TWO, {}, ("podman", 1.5, "0-3", 2**31, True, False)),
        (ONE, {"SLURM_JOB_ID": "7"}, ("slurm", 1.0, "1", None, False, True)),
        (unified("/", {"cpu.max": "max 100000"}), {}, (None, None, None, None, None, None)),
    ],
)
def test_what_can_be_seen_is_told_and_nothing_else(
    files: dict[str, str], variables: dict[str, str], seen: tuple[object, ...], tmp_path: Path
) -> None:
    found = look_around(variables, lay(tmp_path, files))
    names = ("marks", "cpu_quota", "cpuset", "memory_limit_bytes")
    names += ("no_new_privileges", "capabilities")
    assert tuple(found[f"seen.{name}"] for name in names) == seen


def test_the_images_own_worker_is_taken_by_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DIGEST, f"registry.internal/crossover@{HASH}")
    lay_image(tmp_path, "cuda")
    lay_image(tmp_path, "cpu", "crossover-cpu")
    engine = InsideEngine(home=tmp_path / "home", root=tmp_path)
    said: list[str] = []
    image = engine.provide("cpu", said.append)
    assert said == ["environment cpu: CPython 3.12.1 of the image that this runs in"]
    assert image.lock.startswith("cpu.txt@sha256:")
    assert image.digests == [HASH]
    assert engine.take_stock("cpu").image == "cpu-inside"
    assert engine.describe()["image_digest"] == HASH
    assert engine.describe()["product"] == "container, engine not seen"
    worker = engine.start(Job(image=image, arguments=("measure", "x"), cpus=()))
    assert worker.next_line(30) == "worker measure x"
    assert worker.close().code == 0
    assert not (tmp_path / "home").exists()


def test_a_worker_of_another_lock_is_left_alone(tmp_path: Path) -> None:
    lay_image(tmp_path, "cuda")
    engine = InsideEngine(home=tmp_path / "home", root=tmp_path)
    assert engine.take_stock("cpu").image is None
    assert engine.take_stock("cuda").image == "cuda-inside"


def test_an_interpreter_that_is_named_goes_before_the_images_own(tmp_path: Path) -> None:
    lay_image(tmp_path)
    named = stand_in(tmp_path / "python", "echo worker")
    engine = InsideEngine(python=str(named), home=tmp_path / "home", root=tmp_path)
    image = engine.provide("cpu", lambda _: None)
    assert (image.lock, image.digests) == ("not from the lock", [])


def test_a_worker_that_does_not_run_is_an_error(tmp_path: Path) -> None:
    lay_image(tmp_path)
    (tmp_path / "opt/crossover/venv/bin/python").unlink()
    with pytest.raises(EngineError, match="does not run"):
        InsideEngine(home=tmp_path / "home", root=tmp_path).provide("cpu", lambda _: None)


@pytest.mark.parametrize("text", ["latest", "sha256:abc", f"a b@{HASH}"])
def test_a_digest_that_is_none_is_a_usage_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIGEST, text)
    with pytest.raises(UsageError, match="is not a digest"):
        InsideEngine()
