"""Placement is proven from what was executed, or there is no number."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from suite.cells.scenario import Ops
from suite.worker.loop import trace
from suite.worker.proof.placement import (
    NotPlaced,
    Watch,
    prove,
    prove_graph,
    prove_resident,
    prove_tensors,
    short,
    watch,
)
from suite.worker.scenario.scenario import Prepared, Resident, TensorProof, lay
from tests.fakes.device import FakeTensorFlow
from tests.worker.session.test_session import Bench, assert_no_numbers

PROOF = Ops(groups=(("MatMul", "_MklMatMul"), ("ApplyAdam",)))
GPU_NODES = [
    ("MatMul", "GPU:0", "dense/MatMul"),
    ("MatMul", "GPU:0", "gradient/MatMul"),
    ("ApplyAdam", "GPU:0", "Adam"),
    ("_Arg", "CPU:0", "inputs"),
    ("_Arg", "CPU:0", "labels"),
]


def tensor(device: str) -> Any:
    return SimpleNamespace(device=device)


def test_work_on_its_device_is_counted_and_the_rest_listed() -> None:
    placement = prove_graph(PROOF, GPU_NODES, "GPU:0")
    assert placement.nodes == {"CPU:0": 2, "GPU:0": 3}
    assert placement.elsewhere == ["_Arg on CPU:0 ×2"]


def test_any_name_of_a_group_will_do() -> None:
    nodes = [("_MklMatMul", "CPU:0", "a"), ("ApplyAdam", "CPU:0", "b")]
    placement = prove_graph(PROOF, nodes, "CPU:0")
    assert (placement.nodes, placement.elsewhere) == ({"CPU:0": 2}, [])


@pytest.mark.parametrize("missing", ["MatMul", "ApplyAdam"])
def test_a_group_without_a_node_is_not_proven(missing: str) -> None:
    with pytest.raises(NotPlaced, match=missing):
        prove_graph(PROOF, [node for node in GPU_NODES if node[0] != missing], "GPU:0")


def test_no_graph_at_all_proves_nothing() -> None:
    with pytest.raises(NotPlaced, match="no MatMul or _MklMatMul node"):
        prove_graph(PROOF, [], "CPU:0")


@pytest.mark.parametrize("index", [0, 1, 2])
def test_one_node_of_the_work_elsewhere_spoils_the_proof(index: int) -> None:
    nodes = list(GPU_NODES)
    operation, _, name = nodes[index]
    nodes[index] = (operation, "CPU:0", name)
    with pytest.raises(NotPlaced, match=f"{operation} {name} on CPU:0"):
        prove_graph(PROOF, nodes, "GPU:0")


def test_a_node_that_was_never_placed_is_no_proof() -> None:
    with pytest.raises(NotPlaced, match="unplaced"):
        prove_graph(Ops(groups=(("MatMul",),)), [("MatMul", short(""), "product")], "CPU:0")


FALLBACK = Ops(groups=(("MatMul",),), cpu=(("PyFunc", "PyFuncStateless"),))


def test_a_cell_about_a_fallback_has_it_on_the_cpu_and_the_rest_on_its_device() -> None:
    nodes = [*GPU_NODES, ("PyFunc", "CPU:0", "python")]
    placement = prove_graph(FALLBACK, nodes, "GPU:0")
    assert "PyFunc on CPU:0 ×1" in placement.elsewhere
    assert placement.nodes == {"CPU:0": 3, "GPU:0": 3}
    on_cpu = [(operation, "CPU:0", name) for operation, _, name in nodes]
    assert prove_graph(FALLBACK, on_cpu, "CPU:0").elsewhere == []


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        (GPU_NODES, "no PyFunc or PyFuncStateless node"),
        (
            [*GPU_NODES, ("PyFunc", "GPU:0", "python")],
            "belongs on CPU:0 ran elsewhere: PyFunc python",
        ),
        (
            [("MatMul", "CPU:0", "a"), ("PyFunc", "CPU:0", "python")],
            "belongs on GPU:0 ran elsewhere: MatMul a on CPU:0",
        ),
    ],
)
def test_a_fallback_that_is_not_there_or_takes_more_with_it_is_not_proven(
    nodes: list[tuple[str, str, str]], reason: str
) -> None:
    with pytest.raises(NotPlaced, match=reason):
        prove_graph(FALLBACK, nodes, "GPU:0")


def test_eager_results_lie_where_they_belong() -> None:
    placement = prove_tensors([tensor("/job:localhost/device:GPU:0")] * 2, "GPU:0")
    assert (placement.nodes, placement.elsewhere) == ({"GPU:0": 2}, [])


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ([], "no tensor"),
        ([tensor("/job:localhost/device:CPU:0")], "ran on CPU:0"),
        ([tensor("/device:GPU:0"), tensor("/device:CPU:0")], "ran on CPU:0"),
        ([tensor("/device:GPU:1")], "ran on GPU:1"),
    ],
)
def test_eager_results_elsewhere_or_none_prove_nothing(tensors: list[Any], reason: str) -> None:
    with pytest.raises(NotPlaced, match=reason):
        prove_tensors(tensors, "GPU:0")


def test_a_cell_without_operations_has_nothing_to_place() -> None:
    placement = prove(None, Watch(nodes=list(GPU_NODES)), object(), "GPU:0")
    assert (placement.nodes, placement.elsewhere) == ({}, [])


def test_each_kind_of_proof_looks_at_its_own_evidence() -> None:
    of_result = TensorProof(tensors=lambda result: [result])
    assert prove(of_result, Watch(), tensor("/device:CPU:0"), "CPU:0").nodes == {"CPU:0": 1}
    assert prove(PROOF, Watch(nodes=list(GPU_NODES)), None, "GPU:0").nodes["GPU:0"] == 3


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("/job:localhost/replica:0/task:0/device:CPU:0", "CPU:0"),
        ("/device:GPU:0", "GPU:0"),
        ("/GPU:1", "GPU:1"),
        ("", "unplaced"),
    ],
)
def test_a_devices_short_name(device: str, name: str) -> None:
    assert short(device) == name


def test_watching_sees_every_node_of_the_block_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [("MatMul", "/job:localhost/replica:0/task:0/device:GPU:0", "product")]
    tensorflow = FakeTensorFlow(nodes).install(monkeypatch)
    with watch() as seen:
        assert tensorflow.watching
    assert seen.nodes == [("MatMul", "GPU:0", "product")]
    assert not tensorflow.watching


def test_watching_stops_when_the_block_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    tensorflow = FakeTensorFlow().install(monkeypatch)
    with pytest.raises(ZeroDivisionError), watch():
        raise ZeroDivisionError
    assert not tensorflow.watching


class Collector(FakeTensorFlow):
    """TensorFlow's collector of graphs, as 2.21 has it.

    A function's graphs are noted at its first call, while collecting is on; what is noted comes out
    only once a call has succeeded, whichever that is.  Switching it off forgets what has come out, and
    not what is noted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.known: set[str] = set()
        self.noted: list[str] = []
        self.out: list[str] = []
        self.lost: Exception | None = None

    def call(self, function: str, *, fails: bool = False) -> None:
        if function not in self.known:
            self.known.add(function)
            self.noted += [function] if self.watching else []
        if fails:
            raise RuntimeError(f"{function} failed")
        self.out += self.noted
        self.noted.clear()

    def fence(self) -> None:
        if self.lost:
            raise self.lost
        self.call("Fence")

    def modules(self) -> dict[str, ModuleType]:
        found = super().modules()
        root: Any = found["tensorflow"]
        root.test = SimpleNamespace(experimental=SimpleNamespace(sync_devices=self.fence))
        return found

    def disable_graph_collection(self) -> None:
        super().disable_graph_collection()
        self.out.clear()

    def export_run_metadata(self) -> Any:
        self.nodes = [(name, "/device:GPU:0", name.lower()) for name in self.out]
        self.out.clear()
        return super().export_run_metadata()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Collector:
    found = Collector()
    found.install(monkeypatch)
    return found


def operations(seen: Watch) -> list[str]:
    return [operation for operation, _, _ in seen.nodes]


def test_what_a_failed_call_left_does_not_come_out_with_the_next_cell(collector: Collector) -> None:
    with pytest.raises(RuntimeError, match="Conv2D failed"), watch() as before:
        collector.call("Conv2D", fails=True)
    # It is still in there, and would come out with whatever succeeds.
    assert collector.noted == ["Conv2D"]
    assert operations(before) == []
    with watch() as seen:
        assert collector.noted == collector.out == []
        collector.call("MatMul")
    assert operations(seen) == ["MatMul"]
    # So that the proof of one cell's work is not made of another's.
    with pytest.raises(NotPlaced, match="no Conv2D node"):
        prove_graph(Ops(groups=(("Conv2D",),)), seen.nodes, "GPU:0")


def test_the_fences_own_graphs_belong_to_no_cell(collector: Collector) -> None:
    """The first of a process has some; it may be the one before the first cell, or behind its step."""
    with watch() as seen:
        collector.call("MatMul")
        collector.fence()
    assert operations(seen) == ["MatMul"]
    assert "Fence" in collector.known


def test_a_cells_own_graphs_all_come_out_also_those_before_a_failure_that_it_survives(
    collector: Collector,
) -> None:
    with watch() as seen:
        collector.call("MatMul")
        with pytest.raises(RuntimeError):
            collector.call("Conv2D", fails=True)
        collector.call("BiasAdd")
    assert operations(seen) == ["MatMul", "Conv2D", "BiasAdd"]


def test_a_fence_that_fails_leaves_nothing_switched_on(collector: Collector) -> None:
    collector.lost = RuntimeError("the GPU is gone")
    with pytest.raises(RuntimeError, match="the GPU is gone"), watch():
        pytest.fail("the block was run without a fence before it")
    assert not collector.watching


def lies_on(place: str, kind: str = "float32", shape: tuple[int, ...] = (512, 128)) -> Any:
    """A tensor made by an operation on the GPU, whose bytes lie somewhere."""
    return SimpleNamespace(
        device="/job:localhost/replica:0/task:0/device:GPU:0",
        backing_device=f"/job:localhost/replica:0/task:0/device:{place}" if place else place,
        dtype=SimpleNamespace(name=kind),
        shape=shape,
    )


@pytest.mark.parametrize(
    ("device", "tensors"),
    [
        ("/GPU:0", [lies_on("GPU:0")]),
        ("/GPU:0", [lies_on("GPU:0"), lies_on("GPU:0", "int64", (512, 1))]),
        ("/CPU:0", [lies_on("CPU:0"), lies_on("CPU:0", "int32", ())]),
    ],
)
def test_data_that_lies_where_the_cell_says_passes(device: str, tensors: list[Any]) -> None:
    prove_resident(Resident(device=device, tensors=tensors))


@pytest.mark.parametrize(
    ("device", "tensors", "reason"),
    [
        # TensorFlow keeps a GPU's int32 in the host's memory, and says that it was made on the GPU.
        (
            "/GPU:0",
            [lies_on("GPU:0"), lies_on("CPU:0", "int32", (512, 1))],
            r"data that belongs on GPU:0 lies on CPU:0 \(int32 of shape \(512, 1\)\)",
        ),
        ("/GPU:0", [lies_on("CPU:0")], r"lies on CPU:0 \(float32 of shape \(512, 128\)\)"),
        ("/GPU:0", [lies_on("CPU:0", "int64", ())], r"lies on CPU:0 \(int64 of shape \(\)\)"),
        ("/GPU:0", [lies_on("GPU:1")], "belongs on GPU:0 lies on GPU:1"),
        ("/GPU:0", [lies_on("")], "belongs on GPU:0 lies on unplaced"),
        ("/CPU:0", [lies_on("GPU:0")], "belongs on CPU:0 lies on GPU:0"),
        ("/GPU:0", [], "nothing is there that should lie on GPU:0"),
    ],
)
def test_data_that_lies_elsewhere_or_is_not_there_is_not_placed(
    device: str, tensors: list[Any], reason: str
) -> None:
    resident = Resident(device=device, tensors=tensors)
    with pytest.raises(NotPlaced, match=reason):
        prove_resident(resident)
    # However well the work itself was placed.
    seen = Watch(nodes=list(GPU_NODES))
    of_result = TensorProof(tensors=lambda result: [result])
    for proof in (None, PROOF, of_result):
        with pytest.raises(NotPlaced, match=reason):
            prove(proof, seen, tensor("/device:GPU:0"), "GPU:0", resident)


def test_data_in_its_place_is_no_proof_of_the_work() -> None:
    resident = Resident(device="/GPU:0", tensors=[lies_on("GPU:0")])
    assert prove(PROOF, Watch(nodes=list(GPU_NODES)), None, "GPU:0", resident).nodes["GPU:0"] == 3
    with pytest.raises(NotPlaced, match="no MatMul"):
        prove(PROOF, Watch(), None, "GPU:0", resident)


def test_arrays_are_laid_on_the_device_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[str] = []

    @contextmanager
    def device(name: str) -> Iterator[None]:
        places.append(name)
        yield
        places.pop()

    modules = FakeTensorFlow().modules()
    root: Any = modules["tensorflow"]
    root.device = device
    root.constant = lambda array: (array, places[-1])
    monkeypatch.setitem(sys.modules, "tensorflow", root)
    found = lay("/GPU:0", "inputs", "labels")
    assert found.device == "/GPU:0"
    assert list(found.tensors) == [("inputs", "/GPU:0"), ("labels", "/GPU:0")]
    assert places == []


@pytest.mark.parametrize(
    ("kind", "place", "outcome"), [("int64", "GPU:0", "measured"), ("int32", "CPU:0", "failed")]
)
def test_a_cell_whose_data_is_not_where_it_says_has_no_number(
    monkeypatch: pytest.MonkeyPatch, kind: str, place: str, outcome: str
) -> None:
    class Laid(Bench):
        def prepare(self, *, device: str, n: int) -> Prepared:
            labels = Resident(device=device, tensors=[lies_on(place, kind, (n, 1))])
            return replace(super().prepare(device=device, n=n), resident=labels)

    FakeTensorFlow([("MatMul", "/device:GPU:0", "product")]).install(monkeypatch)
    monkeypatch.setattr(trace, "trace", lambda _step, _fence, _call_s: {})
    result = Laid().run(device="/GPU:0")
    gc.unfreeze()
    assert result.outcome == outcome
    if outcome == "failed":
        assert_no_numbers(result)
        assert "data that belongs on GPU:0 lies on CPU:0 (int32 of shape (1, 1))" in str(
            result.reason
        )


def test_a_cell_that_counts_on_a_number_of_nodes_gets_them_all() -> None:
    chain = Ops(groups=(("Mul", "_MklMul"),), least=3)
    nodes = [("Mul", "CPU:0", f"mul_{index}") for index in range(3)]
    assert prove_graph(chain, nodes, "CPU:0").nodes == {"CPU:0": 3}
    with pytest.raises(NotPlaced, match="2 Mul or _MklMul nodes were executed, 3 expected"):
        prove_graph(chain, nodes[:2], "CPU:0")
