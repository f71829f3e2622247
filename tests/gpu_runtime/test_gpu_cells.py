"""TensorFlow's real GPU runtime on stand-ins: every cell's work and data are where its id says."""

from __future__ import annotations

import msgspec
import pytest

from suite.analysis.campaign.proof import find_misplaced, find_unproven
from suite.model import CellResult
from suite.worker import scenarios
from tests.gpu_runtime.machine import GpuMachine, Heard

NO_KERNELS = {
    "mlp.loop/batch=32/steps_per_execution=32": "its loop goes on by what a kernel would find",
    "mlp.loop/batch=512/steps_per_execution=32": "its loop goes on by what a kernel would find",
}
"""The cells that a GPU without kernels can't get through, and why."""

TRAIN = "mlp.train/net=A/batch=32/data=device/precision=fp32/execution=graph"
NEIGHBOUR = "mlp.train/net=B/batch=32/data=device/precision=fp32/execution=graph"


@pytest.fixture(scope="module")
def proven(healthy: GpuMachine) -> Heard:
    """The first call of every cell of the full profile."""
    heard = healthy.prove(CROSSOVER_SCRATCH=str(healthy.folder))
    assert heard.status == 0, heard.diary[-2000:]
    return heard


def test_tensorflow_lists_the_gpu_with_nothing_linked_in_by_hand(proven: Heard) -> None:
    facts = proven.facts
    assert facts["tensorflow.devices"] == "CPU:0, GPU:0"
    assert facts["gpu.0.capability"] == "9.0"
    assert facts["gpu.simulated"] is True
    assert find_unproven(facts) is None


def test_every_cell_passes_both_proofs_of_placement(proven: Heard) -> None:
    wanted = {
        cell.id
        for cell in scenarios.cells()
        if not cell.by_host
        and (cell.process is None or cell.cpus == 1)
        and (not cell.arms or "gpu" in cell.arms)
    }
    assert set(proven.cells) == wanted
    bad = {
        name: cell["reason"]
        for name, cell in proven.cells.items()
        if cell["outcome"] != "measured" and name not in NO_KERNELS
    }
    assert bad == {}
    results = [msgspec.convert(cell, CellResult, strict=False) for cell in proven.cells.values()]
    planned = {cell.id: cell for cell in scenarios.cells()}
    misplaced = {
        one.id: why
        for one in results
        if one.outcome == "measured" and (why := find_misplaced(one, planned[one.id]))
    }
    assert misplaced == {}


SCRIPTS = {
    one.process: [
        cell
        for cell in scenarios.cells()
        if cell.process == one.process and cell.params.get("n", 1) <= 1000
    ]
    for one in scenarios.cells()
    if one.scripted and one.process
}

TRACES = {"asked.slices": (2, 0), "asked.dataset": (2, 0)}
"""How often the step is traced in the CPU's half, which builds the optimizer, and in the GPU's, which finds
that trace: TensorFlow 2.21 places it anew and does not trace again."""


@pytest.mark.parametrize("process", SCRIPTS)
def test_a_script_runs_both_halves_in_its_order_and_each_is_seen_where_it_belongs(
    healthy: GpuMachine, process: str
) -> None:
    cells = SCRIPTS[process]
    heard = healthy.work("script", "--gpu", *(cell.id for cell in cells))
    assert heard.status == 0, heard.diary[-2000:]
    assert set(heard.cells) == {cell.id for cell in cells}
    bad = {one["id"]: one["reason"] for one in heard.cells.values() if one["outcome"] != "measured"}
    assert bad == {}
    facts = heard.facts
    # As posted: nothing was configured.
    assert facts["tensorflow.soft_placement"] is True
    assert find_unproven(facts, posted=True) is None
    for cell in cells:
        result = msgspec.convert(heard.cells[cell.id], CellResult, strict=False)
        assert find_misplaced(result, cell) is None
        if process in TRACES:
            half = cell.params["on"] == "arm"
            assert result.evidence["traces"] == TRACES[process][half]
            # The model was made before a device was named, so that the CPU's half copies its weights.
            assert half or any("GPU:0" in one for one in result.elsewhere)


def test_labels_in_the_hosts_memory_are_found(healthy: GpuMachine) -> None:
    heard = healthy.prove(TRAIN, planted="int32")
    reason = heard.cells[TRAIN]["reason"]
    assert "data that belongs on GPU:0 lies on CPU:0 (int32 of shape (32, 1))" in reason
    unseen = healthy.prove(TRAIN, planted="int32", without="resident")
    assert unseen.cells[TRAIN]["outcome"] == "measured"


def test_a_cell_that_fails_leaves_its_neighbour_alone(machine: GpuMachine) -> None:
    alone = machine.prove(NEIGHBOUR).cells[NEIGHBOUR]
    trigger = machine.folder / "fail"

    def fail_first(**more: str) -> Heard:
        machine.plant(fail_file=trigger)
        return machine.prove(TRAIN, NEIGHBOUR, CROSSOVER_FAIL=str(trigger), **more)

    heard = fail_first()
    assert heard.cells[TRAIN]["outcome"] == "failed"
    assert heard.cells[NEIGHBOUR]["placement"] == alone["placement"]
    spoiled = fail_first(without="discard").cells[NEIGHBOUR]
    assert spoiled["placement"] != alone["placement"]
