"""Failures of a GPU planted in its stand-in: what the worker says of each, and that it is missed where
the defence against it is taken away.
"""

from __future__ import annotations

import signal

import pytest

from suite.host.gpu.remedies import explain_worker
from suite.model import AT_END, FINE
from suite.worker.proof.libraries import CUSOLVER
from tests.gpu_runtime.build import install
from tests.gpu_runtime.machine import GpuMachine

EAGER = "overhead.eager_op"
TRAIN = "mlp.train/net=A/batch=32/data=device/precision=fp32/execution=graph"
COPY = "overhead.copy/direction={}/bytes=16777216"
DESCRIBE = ("describe", "--gpu")
EXIT_REFUSED, EXIT_LOST = 4, 7


def test_the_library_that_tensorflow_does_not_find_is_opened_for_it(healthy: GpuMachine) -> None:
    heard = healthy.work(*DESCRIBE)
    facts = heard.facts
    assert (heard.status, facts[CUSOLVER], facts[AT_END]) == (0, "opened by the suite", FINE)
    alone = healthy.work(*DESCRIBE, without="cusolver")
    assert alone.status == EXIT_REFUSED
    assert alone.refused == "TensorFlow sees no GPU here: TensorFlow has not loaded libcusolver.so"
    assert "Cannot dlopen some GPU libraries" in alone.diary


@pytest.mark.parametrize(
    ("missing", "named", "remedy"),
    [
        ("libnvidia-ml.so.1", "libnvidia-ml.so.1, which the driver brings", "capability utility"),
        ("libcuda.so.1", "libcuda.so.1, which the driver brings", "container toolkit"),
        ("nvidia/cufft/lib/libcufft.so.11", "has not loaded libcufft.so", "`make images`"),
        ("nvidia/cusolver/lib/libcusolver.so.11", "has not loaded libcusolver.so", "`make images`"),
    ],
)
def test_a_library_that_is_missing_is_named(
    machine: GpuMachine, missing: str, named: str, remedy: str
) -> None:
    machine.remove(missing)
    heard = machine.work(*DESCRIBE)
    assert heard.status == EXIT_REFUSED
    assert named in heard.refused
    assert remedy in explain_worker(heard.refused, heard.diary).remedy


def test_an_old_driver_is_found_out_by_a_sum(machine: GpuMachine) -> None:
    machine.plant(refuse_ptx=1, driver=12020)
    heard = machine.work(*DESCRIBE)
    assert heard.status == EXIT_REFUSED
    assert (
        heard.refused == "/GPU:0 gives a wrong result for a small sum by elements of whole numbers"
    )
    assert "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" in heard.diary
    assert "555 or later" in explain_worker(heard.refused, heard.diary).remedy
    # A warning is all that TensorFlow has to say, and cuBLAS's product is right.
    assert machine.work(*DESCRIBE, without="sum").status == 0


def test_an_old_driver_that_refuses_the_launch_as_well_has_the_same_remedy(
    machine: GpuMachine,
) -> None:
    machine.plant(refuse_ptx=2, driver=12020)
    heard = machine.work(*DESCRIBE)
    assert heard.status == EXIT_REFUSED
    assert "the GPU fails in the start-up sequence" in heard.refused
    assert "555 or later" in explain_worker(heard.refused, heard.diary).remedy


def test_a_gpu_that_multiplies_wrongly_is_refused(machine: GpuMachine) -> None:
    machine.plant(wrong_by=1.01)
    assert "wrong result for a small product" in machine.work(*DESCRIBE).refused
    assert machine.work(*DESCRIBE, without="trouble").status == 0


def test_a_gpu_lost_in_mid_run_has_no_number(machine: GpuMachine) -> None:
    machine.plant(lose_file=machine.folder / "lost")
    trigger = {"CROSSOVER_LOSE": str(machine.folder / "lost")}
    heard = machine.measure(EAGER, TRAIN, planted="lost", **trigger)
    assert list(heard.cells) == [EAGER]
    # TensorFlow itself aborts where a lost GPU fails a check of its.
    assert heard.status in {EXIT_LOST, -signal.SIGABRT}
    if heard.status == EXIT_LOST:
        assert "refuses a small product" in heard.facts[AT_END]
    (machine.folder / "lost").unlink()
    unseen = machine.measure(EAGER, TRAIN, planted="lost", without="trouble", **trigger)
    assert unseen.cells[TRAIN]["outcome"] == "failed"
    assert unseen.status == 0


def test_of_two_gpus_the_one_that_was_named_computes(machine: GpuMachine) -> None:
    install(machine.folder, devices=2)
    heard = machine.work(*DESCRIBE, CUDA_VISIBLE_DEVICES="1")
    facts = heard.facts
    assert facts["gpu.0.pci"] == "0000:c1:00.0"
    assert "gpu.1.name" not in facts


def test_a_fence_waits_for_a_busy_stream(machine: GpuMachine) -> None:
    quick = machine.measure(EAGER).cells[EAGER]
    machine.plant(busy_us=500)
    slow = machine.measure(EAGER).cells[EAGER]
    assert min(slow["samples_s"]) >= 500e-6
    assert min(quick["samples_s"]) < 500e-6
    # One tiny kernel after the other: without time on paper the CPU can't keep the GPU busy.
    assert slow["enqueue_fraction"] < 0.9


def test_no_copy_is_faster_than_memcpy(healthy: GpuMachine) -> None:
    cells = [f"{COPY.format(direction)}@10" for direction in ("to-device", "from-device")]
    cells.append("overhead.copy/direction=to-device/bytes=4@1000")
    heard = healthy.measure(*cells)
    best = memcpy_s(16_777_216)
    for cell in heard.cells.values():
        if cell["params"]["bytes"] > 4:
            assert min(cell["samples_s"]) > best / 2
    kept = healthy.measure(cells[0], planted="identity")
    assert min(kept.cells[COPY.format("to-device")]["samples_s"]) < best / 2


def memcpy_s(size: int) -> float:
    """The least seconds that copying so many bytes into memory that is there takes here."""
    import time

    import numpy as np

    source, target = np.ones(size, np.uint8), np.ones(size, np.uint8)
    times = []
    for _ in range(50):
        began = time.perf_counter_ns()
        np.copyto(target, source)
        times.append((time.perf_counter_ns() - began) / 1e9)
    return min(times)


def test_what_the_driver_compiles_is_counted(machine: GpuMachine) -> None:
    first = machine.measure(EAGER).facts
    gained = first["cuda.cache.at_end.files"] - first["cuda.cache.at_start.files"]
    assert first["cuda.cache.at_start.files"] == 0
    assert 1 <= gained < 100
    again = machine.measure(EAGER).facts
    assert again["cuda.cache.at_start.files"] == gained == again["cuda.cache.at_end.files"]
