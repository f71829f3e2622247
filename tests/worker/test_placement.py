"""Placement is proven from what was executed, or there is no number."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker.placement import (
    NotPlaced,
    Watch,
    prove,
    prove_graph,
    prove_tensors,
    short,
    watch,
)
from suite.worker.scenario import GraphProof, TensorProof
from tests.fakes import FakeTensorFlow

PROOF = GraphProof(groups=(("MatMul", "_MklMatMul"), ("ApplyAdam",)))
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
        prove_graph(GraphProof(groups=(("MatMul",),)), [("MatMul", short(""), "product")], "CPU:0")


FALLBACK = GraphProof(groups=(("MatMul",),), cpu=(("PyFunc", "PyFuncStateless"),))


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


def test_a_cell_that_counts_on_a_number_of_nodes_gets_them_all() -> None:
    chain = GraphProof(groups=(("Mul", "_MklMul"),), least=3)
    nodes = [("Mul", "CPU:0", f"mul_{index}") for index in range(3)]
    assert prove_graph(chain, nodes, "CPU:0").nodes == {"CPU:0": 3}
    with pytest.raises(NotPlaced, match="2 Mul or _MklMul nodes were executed, 3 expected"):
        prove_graph(chain, nodes[:2], "CPU:0")
