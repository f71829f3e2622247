"""Planted states of a machine with a GPU and no engine: what `make doctor` says of each, `make bench` then
does.  Those through containers are in `test_gpu_containers.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from suite.errors import GpuError
from suite.host.machine.lock import PLACE
from tests.agreement import compare
from tests.gpu_runtime.build import VERSION, install
from tests.gpu_runtime.machine import GpuMachine, drop_compiled

GPU, FAILED = GpuError.exit_status, 1
TRIES = 3
"""A doctor that asks to be run again is run so often: TensorFlow starts slowly on a busy machine."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What is planted, and how bench ends.

    ``plants`` are the driver's, ``missing`` libraries that are not there; ``smi`` is what nvidia-smi's
    row has in whose place, or the whole program under no name.  ``unseen`` is why no look beforehand
    can see it.
    """

    status: int = GPU
    said: str = ""
    plants: Mapping[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    smi: Mapping[str, str] = field(default_factory=dict)
    devices: int = 1
    words: tuple[str, ...] = ()
    unseen: str = ""


STATES: Mapping[str, State] = {
    "all is well": State(status=0),
    "an old driver that refuses PTX": State(
        said="555 or later", plants={"refuse_ptx": 1, "driver": 12020}
    ),
    "a product that is wrong by 1 %": State(
        said="wrong result for a small product", plants={"wrong_by": 1.01}
    ),
    "another process has the GPU": State(said="another process holds the GPU", plants={"hold": 1}),
    "another process has the memory": State(said="who else uses that memory", plants={"full": 1}),
    "MIG on, and no instance": State(said="-mig 0", plants={"mig": 1}),
    "a module for memory that is not loaded": State(
        said="modprobe nvidia_uvm", plants={"init": 999}
    ),
    "a driver that does not go with its module": State(
        said="versions that do not go together", plants={"init": 803}
    ),
    "a GPU newer than TensorFlow": State(
        said="LOCAL_PYTHON=path",
        plants={"capability": "12.0"},
        smi={"Enabled, 9.0": "Enabled, 12.0"},
    ),
    "a GPU older than TensorFlow, and an nvidia-smi that does not say so": State(
        said="ARMS=cpu",
        plants={"capability": "5.0"},
        smi={", compute_cap": "", "Enabled, 9.0": "Enabled"},
    ),
    "no libnvidia-ml": State(said="install the driver whole", missing=("libnvidia-ml.so.1",)),
    "an nvidia-smi that breaks, and a GPU that is well": State(
        status=0, smi={"": "#!/bin/sh\necho Segmentation fault; exit 139\n"}
    ),
    "a driver that nvidia-smi calls too old, and that computes": State(
        status=0, smi={VERSION: "515.105.01"}
    ),
    "the second of two GPUs by its UUID": State(status=0, devices=2, words=("--gpu", "GPU-2222")),
    "a third of two GPUs": State(said="nvidia-smi -L", devices=2, words=("--gpu", "2")),
    "an instance of a GPU that has none": State(said="nvidia-smi -L", words=("--gpu", "0:1")),
    "a GPU that is lost later": State(
        status=FAILED,
        plants={"lose_at": 600},
        unseen="the GPU is lost while the cell is measured",
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> Iterator[None]:
    yield
    drop_compiled()


@pytest.fixture
def planted(machine: GpuMachine, request: pytest.FixtureRequest) -> GpuMachine:
    """The machine in the state that the test names."""
    state: State = STATES[request.getfixturevalue("name")]
    install(machine.folder, state.devices)
    machine.plant(**state.plants)
    machine.remove(*state.missing)
    for old, new in state.smi.items():
        if old:
            rows = machine.folder / "bin" / "rows"
            rows.write_text(rows.read_text().replace(old, new))
        else:
            (machine.folder / "bin" / "nvidia-smi").write_text(new)
    return machine


@pytest.mark.parametrize("name", STATES)
def test_the_doctor_says_what_bench_does(name: str, planted: GpuMachine, tmp_path: Path) -> None:
    state = STATES[name]
    words = ("--engine", "local", "--arms", "cuda", *state.words)
    short = ("--profile", "smoke", "--blocks", "1", "--only", "overhead.eager_op")

    def run(command: str, *own: str) -> CompletedProcess[str]:
        place = tmp_path / command
        place.mkdir(exist_ok=True)
        results = ("--results", str(place / "results"))
        return planted.suite(command, *own, *words, *results, **{PLACE: str(place)})

    # At once, each with locks and results of its own: most of their time TensorFlow starts on one core.
    with ThreadPoolExecutor() as both:
        asked = both.submit(ask, lambda: run("doctor", "--json"))
        bench = run("bench", *short)
        doctor = asked.result()
    found = compare(doctor, bench, unseen=state.unseen)
    assert (found, bench.returncode) == ([], state.status), bench.stderr[-2000:]
    assert state.said in bench.stderr
    if state.status == 0:
        (report,) = (tmp_path / "bench" / "results").glob("*/report.md")
        assert "SIMULATED" in report.read_text(encoding="utf-8").splitlines()[0]


AGAIN = "run `make doctor` again"


def ask(doctor: Callable[[], CompletedProcess[str]]) -> CompletedProcess[str]:
    """The doctor, again where it asks for that."""
    for _ in range(TRIES):
        done = doctor()
        checks = json.loads(done.stdout)["checks"]
        if not any(one["state"] == "unknown" and one["remedy"] == AGAIN for one in checks):
            break
    return done
