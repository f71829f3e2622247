"""Placement is proven from what was executed, or there is no number."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from suite.cells.scenario import Ops
from suite.worker.proof.placement import (
    NotPlaced,
    Placement,
    prove,
    prove_graph,
    prove_tensors,
    short,
    watch,
)
from suite.worker.scenario.scenario import Nodes, Prepared, Resident
from tests.fakes.device import FakeTensorFlow
from tests.worker.session.test_session import Bench, assert_no_numbers
from tests.worker.verdict import hear

TRAINING = Ops(groups=(("MatMul", "_MklMatMul"), ("ApplyAdam",)))
FALLBACK = Ops(groups=(("MatMul",),), cpu=(("PyFunc", "PyFuncStateless"),))
CHAIN = Ops(groups=(("Mul", "_MklMul"),), least=3)


def nodes(text: str) -> list[tuple[str, str, str]]:
    """What was executed: operation, device and name of each."""
    found = (one.split() for one in text.split(", ") if one)
    return [(operation, device, name) for operation, device, name in found]


TRAINED = nodes(
    "MatMul GPU:0 dense, MatMul GPU:0 gradient, ApplyAdam GPU:0 Adam, _Arg CPU:0 inputs"
)


def tensor(device: str) -> Any:
    return SimpleNamespace(device=device)


def lies_on(place: str, kind: str = "float32", shape: tuple[int, ...] = (512, 128)) -> Any:
    """A tensor made by an operation on the GPU, whose bytes lie somewhere."""
    return SimpleNamespace(
        device="/job:localhost/replica:0/task:0/device:GPU:0",
        backing_device=f"/job:localhost/replica:0/task:0/device:{place}" if place else place,
        dtype=SimpleNamespace(name=kind),
        shape=shape,
    )


@pytest.mark.parametrize(
    ("proof", "executed", "device", "counted", "elsewhere"),
    [
        (TRAINING, "MatMul G a, ApplyAdam G b, _Arg C c, _Arg C d", "GPU:0", (2, 2), "_Arg ×2"),
        # Any name of a group will do.
        (TRAINING, "_MklMatMul C a, ApplyAdam C b", "CPU:0", (2, 0), ""),
        # A cell about a fallback has it on the CPU, and the rest on its device.
        (FALLBACK, "MatMul G a, PyFunc C python", "GPU:0", (1, 1), "PyFunc ×1"),
        (FALLBACK, "MatMul C a, PyFunc C python", "CPU:0", (2, 0), ""),
        (CHAIN, "Mul C a, Mul C b, _MklMul C c", "CPU:0", (3, 0), ""),
    ],
)
def test_work_on_its_device_is_counted_and_the_rest_listed(
    proof: Ops, executed: str, device: str, counted: tuple[int, int], elsewhere: str
) -> None:
    found = nodes(executed.replace(" C ", " CPU:0 ").replace(" G ", " GPU:0 "))
    placement = prove_graph(proof, found, device)
    assert (placement.nodes.get("CPU:0", 0), placement.nodes.get("GPU:0", 0)) == counted
    assert placement.elsewhere == ([elsewhere.replace(" ×", " on CPU:0 ×")] if elsewhere else [])


@pytest.mark.parametrize(
    ("proof", "executed", "reason"),
    [
        (TRAINING, "", "no MatMul or _MklMatMul node"),
        (TRAINING, "MatMul GPU:0 a", "no ApplyAdam"),
        (TRAINING, "MatMul GPU:0 a, MatMul CPU:0 b, ApplyAdam GPU:0 c", "MatMul b on CPU:0"),
        (TRAINING, "MatMul GPU:0 a, MatMul GPU:0 b, ApplyAdam CPU:0 c", "ApplyAdam c on CPU:0"),
        (FALLBACK, "MatMul GPU:0 a", "no PyFunc or PyFuncStateless node"),
        (FALLBACK, "MatMul GPU:0 a, PyFunc GPU:0 b", "CPU:0 ran elsewhere: PyFunc b"),
        (FALLBACK, "MatMul CPU:0 a, PyFunc CPU:0 b", "GPU:0 ran elsewhere: MatMul a on CPU:0"),
        (FALLBACK, f"MatMul {short('')} a, PyFunc CPU:0 b", "MatMul a on unplaced"),
        (CHAIN, "Mul GPU:0 a, Mul GPU:0 b", "2 Mul or _MklMul nodes were executed, 3 expected"),
    ],
)
def test_work_that_is_not_there_or_elsewhere_is_not_proven(
    proof: Ops, executed: str, reason: str
) -> None:
    assert reason in hear(NotPlaced, prove_graph, proof, nodes(executed), "GPU:0")


@pytest.mark.parametrize(
    ("tensors", "reason"),
    [
        ([], "no tensor"),
        ([tensor("/device:GPU:0"), tensor("/job:localhost/device:CPU:0")], "ran on CPU:0"),
        ([tensor("/device:GPU:1")], "ran on GPU:1"),
    ],
)
def test_eager_results_elsewhere_or_none_prove_nothing(tensors: list[Any], reason: str) -> None:
    assert reason in hear(NotPlaced, prove_tensors, tensors, "GPU:0")


def test_each_kind_of_proof_looks_at_its_own_evidence() -> None:
    seen, there = TRAINED, tensor("/job:localhost/device:CPU:0")
    assert prove(None, seen, list, "GPU:0") == Placement(nodes={}, elsewhere=[])
    on_cpu = Placement(nodes={"CPU:0": 1}, elsewhere=[])
    assert prove("results", seen, lambda: [there], "CPU:0") == on_cpu
    # Data in its place is no proof of the work.
    resident = Resident(device="/GPU:0", tensors=[lies_on("GPU:0")])
    assert prove(TRAINING, seen, list, "GPU:0", resident).nodes["GPU:0"] == 3
    assert "no MatMul" in hear(NotPlaced, prove, TRAINING, [], list, "GPU:0", resident)


def test_watching_sees_every_node_of_the_block_and_stops_whatever_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = "/job:localhost/replica:0/task:0/device:GPU:0"
    tensorflow = FakeTensorFlow([("MatMul", place, "product")]).install(monkeypatch)
    with watch() as seen:
        assert tensorflow.watching
    assert seen == [("MatMul", "GPU:0", "product")]
    assert not tensorflow.watching
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


def operations(seen: Nodes) -> list[str]:
    return [operation for operation, _, _ in seen]


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
    conv = Ops(groups=(("Conv2D",),))
    assert "no Conv2D node" in hear(NotPlaced, prove_graph, conv, seen, "GPU:0")


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


@pytest.mark.parametrize(
    ("device", "tensors", "reason"),
    [
        ("/GPU:0", [lies_on("GPU:0"), lies_on("GPU:0", "int64", (512, 1))], ""),
        ("/CPU:0", [lies_on("CPU:0"), lies_on("CPU:0", "int32", ())], ""),
        # TensorFlow keeps a GPU's int32 in the host's memory, and says that it was made on the GPU.
        (
            "/GPU:0",
            [lies_on("GPU:0"), lies_on("CPU:0", "int32", (512, 1))],
            "data that belongs on GPU:0 lies on CPU:0 (int32 of shape (512, 1))",
        ),
        (
            "/GPU:0",
            [lies_on("GPU:1")],
            "belongs on GPU:0 lies on GPU:1 (float32 of shape (512, 128))",
        ),
        ("/GPU:0", [lies_on("")], "belongs on GPU:0 lies on unplaced"),
        ("/CPU:0", [lies_on("GPU:0")], "belongs on CPU:0 lies on GPU:0"),
        ("/GPU:0", [], "nothing is there that should lie on GPU:0"),
    ],
)
def test_data_that_lies_elsewhere_or_is_not_there_is_not_placed(
    device: str, tensors: list[Any], reason: str
) -> None:
    resident = Resident(device=device, tensors=tensors)
    # However well the work itself was placed.
    for proof in (None, TRAINING, "results"):
        given = proof, TRAINED, lambda: [tensor("/device:GPU:0")], "GPU:0", resident
        said = hear(NotPlaced, prove, *given)
        assert said.startswith("refused: ") == bool(reason)
        assert reason in said


@pytest.mark.usefixtures("on_gpu")
def test_a_cell_whose_data_is_not_where_it_says_has_no_number() -> None:
    class Laid(Bench):
        def prepare(self, *, device: str, n: int) -> Prepared:
            labels = Resident(device=device, tensors=[lies_on("CPU:0", "int32", (n, 1))])
            return replace(super().prepare(device=device, n=n), resident=labels)

    result = Laid().run(device="/GPU:0")
    assert_no_numbers(result)
    assert "that belongs on GPU:0 lies on CPU:0 (int32 of shape (1, 1))" in str(result.reason)
