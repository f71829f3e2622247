"""Proof of which device every node ran on: read from what was executed, never from what was asked.

TensorFlow stores a function's partitioned graphs only while the function is being instantiated,
that is during its first call (tried with 2.21: a later call stores none); so the first call of a
cell is the one that is watched.  Watching cost no visible part of a first call (tried).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from suite.cells.scenario import Ops, Proof
from suite.worker.scenario.scenario import Nodes, Resident


class NotPlaced(Exception):
    """The work of a cell was not seen on the device that it belongs on."""


@dataclass(frozen=True, kw_only=True)
class Placement:
    """How many nodes ran on each device (``CPU:0``, ``GPU:0``), and which were elsewhere."""

    nodes: dict[str, int]
    elsewhere: list[str]


@contextmanager
def watch() -> Iterator[Nodes]:
    """Notes the partitioned graphs of every function instantiated inside the block."""
    import tensorflow as tf
    from tensorflow.python.eager import context

    nodes: Nodes = []
    eager = context.context()
    eager.enable_graph_collection()
    try:
        # The graphs of a call that failed stay with the collector until something succeeds, and the
        # first fence has graphs of its own: both come out here, and belong to no cell.
        tf.test.experimental.sync_devices()
        eager.export_run_metadata()
        yield nodes
    finally:
        metadata = eager.export_run_metadata()
        eager.disable_graph_collection()
    for function_graph in metadata.function_graphs:
        nodes += list_nodes(function_graph.partition_graphs)


def list_nodes(graphs: Iterable[Any]) -> Nodes:
    """The nodes of partitioned graphs."""
    return [(node.op, short(node.device), node.name) for graph in graphs for node in graph.node]


def short(device: str) -> str:
    """The last part of a device's name: ``CPU:0`` of ``/job:…/device:CPU:0``."""
    return (device or "unplaced").rsplit("device:", 1)[-1].lstrip("/")


def prove_graph(proof: Ops, nodes: Nodes, device: str) -> Placement:
    """The placement of graphs whose work has to be on ``device`` (such as ``GPU:0``).

    Raises:
        NotPlaced: too few nodes of a group were executed, or one was executed elsewhere.
    """
    for group in proof.groups:
        _demand_on(group, nodes, device, proof.least)
    for group in proof.cpu:
        _demand_on(group, nodes, "CPU:0")
    counted = Counter(where for _, where, _ in nodes)
    strays_of = Counter((op, where) for op, where, _ in nodes if where != device)
    return Placement(
        nodes=dict(sorted(counted.items())),
        elsewhere=[f"{op} on {where} ×{n}" for (op, where), n in sorted(strays_of.items())],
    )


def _demand_on(group: tuple[str, ...], nodes: Nodes, device: str, least: int = 1) -> None:
    """Raises NotPlaced unless so many nodes of the group were executed, all of them on ``device``."""
    own = [(op, where, name) for op, where, name in nodes if op in group]
    if not own:
        raise NotPlaced(f"no {' or '.join(group)} node was executed in a graph")
    if len(own) < least:
        raise NotPlaced(f"{len(own)} {' or '.join(group)} nodes were executed, {least} expected")
    off_device = [f"{op} {name} on {where}" for op, where, name in own if where != device]
    if off_device:
        raise NotPlaced(f"work that belongs on {device} ran elsewhere: {', '.join(off_device[:5])}")


def prove_tensors(tensors: list[Any], device: str) -> Placement:
    """The placement of eager work whose results have to lie on ``device``.

    Raises:
        NotPlaced: one lies elsewhere, or there are none.
    """
    if not tensors:
        raise NotPlaced("the eager step gave no tensor whose device could be read")
    # ``backing_device`` is where the bytes are; ``device`` is where the operation ran.
    places = [short(tensor.device) for tensor in tensors]
    off_device = [place for place in places if place != device]
    if off_device:
        raise NotPlaced(f"eager work that belongs on {device} ran on {', '.join(off_device[:5])}")
    return Placement(nodes=dict(Counter(places)), elsewhere=[])


def prove_resident(resident: Resident) -> None:
    """That these tensors' bytes lie where the cell says that they are before the step.

    Raises:
        NotPlaced: one lies elsewhere, or there are none.
    """
    if not resident.tensors:
        raise NotPlaced(f"nothing is there that should lie on {short(resident.device)}")
    for tensor in resident.tensors:
        place = short(tensor.backing_device)
        if place != short(resident.device):
            raise NotPlaced(
                f"data that belongs on {short(resident.device)} lies on {place} "
                f"({tensor.dtype.name} of shape {tuple(tensor.shape)})"
            )


def prove(
    proof: Proof,
    nodes: Nodes,
    tensors: Callable[[], list[Any]],
    device: str,
    resident: Resident | None = None,
) -> Placement:
    """The placement of a cell after its watched first call, by its nodes or by the ``tensors`` of its result.

    Raises:
        NotPlaced: its work is not, or not all, on ``device``; or ``resident`` data is not on its own.
    """
    if resident is not None:
        prove_resident(resident)
    if proof is None:
        return Placement(nodes={}, elsewhere=[])
    if isinstance(proof, Ops):
        return prove_graph(proof, nodes, device)
    return prove_tensors(tensors(), device)
