"""The main job through containers, as on a rented GPU machine: an engine of the tests' own, with a stand-in
for NVIDIA's hook on its PATH that lays the stand-ins' GPU into every container which asks for one.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from docker.api.client import APIClient
from docker.client import from_env

from suite.content import SUITE
from suite.errors import EngineError
from suite.host.docker_engine import DockerEngine
from suite.host.images import STAND_IN
from tests.daemons import Daemon, carry_image, why_not
from tests.gpu_runtime import hook
from tests.gpu_runtime.build import build
from tests.gpu_runtime.conftest import give_up
from tests.gpu_runtime.machine import GpuMachine

ROOM_BYTES = 30e9
"""Both images in the machine's engine, and once more in the tests' own, beside what carries them."""

EAGER = "overhead.eager_op"
PRODUCT = "matmul.square/n=10/*"


@dataclass
class Rented:
    """A machine with an engine and a GPU, as one rents it."""

    machine: GpuMachine
    daemon: Daemon
    base: str

    @property
    def client(self) -> APIClient:
        return APIClient(base_url=self.daemon.url, version="1.41")

    def say(self, what: str = "") -> None:
        """What the hook does instead of its work."""
        path = self.machine.folder / "hook"
        path.unlink(missing_ok=True)
        if what:
            path.write_text(what)

    def suite(self, *words: str) -> Any:
        """`python -m suite …` on that machine."""
        variables = {
            **os.environ,
            "PYTHONPATH": str(SUITE.parent),
            "DOCKER_HOST": self.daemon.url,
        }
        command = [sys.executable, "-m", "suite", *words]
        return self.machine.run(command, variables, wheels=False)

    def bench(self, results: Path, *words: str) -> tuple[Any, Path]:
        """A campaign: how it ended, and its folder."""
        done = self.suite(*("bench", "--results", str(results), "--base-image", self.base, *words))
        folders = [path for path in results.iterdir() if path.is_dir()] if results.exists() else []
        return done, folders[-1] if folders else results


@pytest.fixture(scope="module")
def rented(stand_ins: Path, site: Path, environment: Path) -> Iterator[Rented]:
    """Both images, built by the machine's engine and carried into one with the hook."""
    reason = why_not()
    if reason:
        give_up(f"no engine of the test's own: {reason}")
    base = os.environ.get("BASE_IMAGE") or STAND_IN
    try:
        engine = DockerEngine(base_image=base)
    except EngineError as error:
        give_up(f"no engine builds the images: {error.what}")
    if not engine.find_base(base):
        give_up(f"no base image {base} is here: `make base`")
    free = shutil.disk_usage(engine.data_root or "/").free
    if free < ROOM_BYTES:
        give_up(f"two engines' images take {ROOM_BYTES / 1e9:.0f} GB, {free / 1e9:.1f} GB are free")
    images = {name: engine.provide(name, lambda _line: None) for name in ("cpu", "cuda")}
    engine.close()
    folder = stand_ins.parent / "rented"
    shutil.copytree(stand_ins, folder, ignore=shutil.ignore_patterns("cache", "results"))
    machine = GpuMachine(folder=folder, site=site, python=environment / "bin" / "python")
    daemon = Daemon()
    hook.write(daemon.hook.folder, folder)
    client = from_env(timeout=900)
    try:
        daemon.start()
        names = [base, *(tag_of(client, image.id) for image in images.values())]
        for name in names:
            carry_image(client.api, name, daemon.url)
        yield Rented(machine=machine, daemon=daemon, base=base)
    finally:
        client.close()
        daemon.remove()


def tag_of(client: Any, image: str) -> str:
    """A name of an image, which travels with it."""
    return str(client.images.get(image).tags[0])


@pytest.fixture
def fresh(rented: Rented) -> Iterator[Rented]:
    """The machine, on which something may be planted that is gone afterwards."""
    plants = rented.machine.folder / "driver" / "plants.conf"
    before = plants.read_text()
    yield rented
    plants.write_text(before)
    rented.say()


@pytest.fixture(scope="module")
def quick(rented: Rented) -> Path:
    """The folder of a quick campaign of all three arms, one block."""
    done, folder = rented.bench(
        rented.machine.folder.parent / "quick",
        *("--profile", "quick", "--arms", "cpu cuda cuda-hidden", "--blocks", "1"),
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def load(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


def test_the_doctor_finds_nothing_that_stops_the_bench(rented: Rented) -> None:
    done = rented.suite("doctor", "--base-image", rented.base)
    assert done.returncode == 0, done.stdout
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    marks = {words[1]: words[0] for words in lines if words[0] in "✓✗–?"}
    for name in ("driver", "passthrough", "capability", "images", "tensorflow"):
        assert marks[name] == "✓", done.stdout
    # What works is not a fault: the hook is on the engine's PATH, and not on this shell's.
    assert marks["toolkit"] == "–", done.stdout
    assert {name for name, mark in marks.items() if mark == "✗"} <= {"load", "clock", "updates"}


def test_every_cell_of_all_three_arms_is_measured_and_proven(quick: Path) -> None:
    for arm in ("cpu", "cuda", "cuda-hidden"):
        document = load(quick, f"{arm}-01.json")
        bad = {
            cell["id"]: cell["reason"]
            for cell in document["cells"]
            if cell["outcome"] != "measured"
        }
        assert bad == {}, arm
        assert document["invocation"]["isolation"] == "container"
    cuda, hidden = (load(quick, f"{arm}-01.json")["facts"] for arm in ("cuda", "cuda-hidden"))
    assert cuda["tensorflow.devices"] == "CPU:0, GPU:0"
    assert cuda["gpu.simulated"] is True
    assert hidden["tensorflow.devices"] == "CPU:0"
    assert "gpu.0.name" not in hidden


def test_the_report_is_simulated_and_has_no_number_of_the_gpu(quick: Path) -> None:
    report = (quick / "report.md").read_text()
    assert "SIMULATED" in report.splitlines()[0]
    summary = load(quick, "summary.json")
    for cell in summary["cells"]:
        for arm, one in cell["arms"].items():
            meant = not (arm != "cuda" and "on=cpu" in cell["id"])
            assert (one.get("value") is None) == (arm == "cuda" or not meant), (arm, cell["id"])


def test_nothing_of_the_campaign_is_left_in_the_engine(quick: Path, rented: Rented) -> None:
    client = rented.client
    assert client.containers(all=True) == []
    kept = client.volumes()["Volumes"] or []
    assert all("compile" in one["Name"] or one["Labels"] for one in kept)
    client.close()


def test_a_gpu_is_given_by_its_uuid(fresh: Rented, tmp_path: Path) -> None:
    build(fresh.machine.site, fresh.machine.folder, devices=2)
    done, folder = fresh.bench(
        tmp_path / "uuid",
        *("--profile", "smoke", "--blocks", "1", "--arms", "cpu cuda", "--only", EAGER),
        *("--gpu", "GPU-22222222"),
    )
    build(fresh.machine.site, fresh.machine.folder)
    assert done.returncode == 0, done.stderr[-2000:]
    assert load(folder, "cuda-01.json")["facts"]["gpu.0.pci"] == "0000:c1:00.0"
    assert "22222222-2222" not in "".join(path.read_text() for path in folder.glob("*.json"))


FAILURES: dict[str, tuple[dict[str, object], str, str]] = {
    "an old driver that refuses PTX": ({"refuse_ptx": 1, "driver": 12020}, "", "555 or later"),
    "a product that is wrong by 1 %": ({"wrong_by": 1.01}, "", "wrong result for a small product"),
    "another process has the GPU": ({"hold": 1}, "", "another process has the GPU"),
    "no memory at the first allocation": ({"full": 1}, "", "who else uses that memory"),
    "MIG on, and no instance": ({"mig": 1}, "", "MIG"),
    "the driver is newer than its module": (
        {},
        "refuse nvidia-container-cli: initialization error: nvml error: driver/library version mismatch",
        "sudo reboot",
    ),
    "no device for memory": ({}, "no-uvm", "modprobe nvidia_uvm"),
    "devices, and no library": ({}, "no-libraries", "the GPU was not passed through"),
    "a hook that does nothing": ({}, "nothing", "sees no"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_of_such_a_machine_ends_with_its_remedy(
    name: str, fresh: Rented, tmp_path: Path
) -> None:
    planted, told, remedy = FAILURES[name]
    fresh.machine.plant(**planted)
    fresh.say(told)
    done, folder = fresh.bench(
        tmp_path / "failure",
        *("--profile", "smoke", "--blocks", "1", "--arms", "cpu cuda", "--only", EAGER),
    )
    assert done.returncode == 4, done.stderr[-2000:]
    assert remedy in done.stderr
    assert "Traceback" not in done.stderr
    for path in folder.glob("cuda-*.json"):
        assert all(cell["outcome"] != "measured" for cell in load(folder, path.name)["cells"])


def test_a_gpu_lost_between_two_cells_costs_no_other_arm(fresh: Rented, tmp_path: Path) -> None:
    fresh.machine.plant(lose_at=600)
    done, folder = fresh.bench(
        tmp_path / "lost",
        *("--profile", "smoke", "--blocks", "1", "--arms", "cpu cuda"),
        *("--only", "mlp.train/* overhead.eager_op"),
    )
    assert done.returncode in {1, 4}, done.stderr[-2000:]
    assert {cell["outcome"] for cell in load(folder, "cpu-01.json")["cells"]} == {"measured"}
    for cell in load(folder, "cuda-01.json")["cells"]:
        assert cell["outcome"] == "failed"
        # The worker's own word, or TensorFlow's own end: it aborts where a lost GPU fails a check of its.
        assert "the GPU is lost" in cell["reason"] or "SIGABRT" in cell["reason"]
