"""Lets wrong results pass as void, in an environment whose GPU is a stand-in that runs no kernels.

Loaded by every Python of that environment, before the worker.  Its numbers are nobody's: the worker
finds the stand-in in the driver's library and says so, and the report prints none of them.

Documents from it hold the time of one second for everything; CROSSOVER_TRUE_TIMES leaves the times of
the stand-in, for tests of fences and copies.

CROSSOVER_WITHOUT names defences that are taken away, for tests that show what is missed without them;
CROSSOVER_PLANTED what is changed in the cells themselves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

Change = Callable[[Any], None]


class Finder:
    """Finds some modules as ever, and changes them when they have been loaded."""

    def __init__(self, changes: dict[str, list[Change]]) -> None:
        self.changes = changes

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See ``importlib.abc.MetaPathFinder``."""
        changes = self.changes.get(name)
        spec = PathFinder.find_spec(name, path, target) if changes else None
        if spec is None or spec.loader is None or changes is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            for change in changes:
                change(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def make_void(kind: Any) -> None:
    """Makes every check of a result say that it is void where it would say that it is wrong."""
    made = kind.__init__

    def make(self: Any, *, check: Callable[..., Any], **more: Any) -> None:
        def look(*last: Any) -> Any:
            from suite.model import Check
            from suite.worker.scenario.scenario import WrongResult

            try:
                return check(*last)
            except WrongResult as reason:
                return Check(what=f"void: {reason}")

        made(self, check=look, **more)

    kind.__init__ = make


def flatten(channel: Any) -> None:
    """Makes every duration that a worker tells of a cell one second: nobody takes that for a figure."""
    send = channel.Channel.send

    def tell(self: Any, record: str, **fields: Any) -> None:
        if record == "cell":
            from dataclasses import replace

            cell = fields["cell"]
            fields["cell"] = replace(
                cell,
                first_call_s=cell.first_call_s and 1.0,
                samples_s=[1.0] * len(cell.samples_s),
                warmup_s=[1.0] * len(cell.warmup_s),
            )
        send(self, record, **fields)

    channel.Channel.send = tell


def put(name: str, answer: Any) -> Change:
    """A function that looks at nothing and answers the same."""
    return lambda module: setattr(module, name, lambda *_, **__: answer)


def without_sum(proof: Any) -> None:
    """A GPU is looked at by its product alone."""
    find = proof.find_trouble

    def find_trouble(device: str) -> str | None:
        import tensorflow as tf

        add = tf.add
        tf.add = lambda left, right: SimpleNamespace(
            backing_device=f"device:{device.lstrip('/')}",
            numpy=lambda: left.numpy() + right.numpy(),
        )
        try:
            return find(device)  # type: ignore[no-any-return]
        finally:
            tf.add = add

    proof.find_trouble = find_trouble


def without_discard(placement: Any) -> None:
    """The collector of graphs is taken as it was left."""

    @contextmanager
    def watch() -> Iterator[Any]:
        from tensorflow.python.eager import context

        seen: list[Any] = []
        eager = context.context()
        eager.enable_graph_collection()
        try:
            yield seen
        finally:
            metadata = eager.export_run_metadata()
            eager.disable_graph_collection()
        for function_graph in metadata.function_graphs:
            seen += placement.list_nodes(function_graph.partition_graphs)

    placement.watch = watch


def plant_int32(networks: Any) -> None:
    """Labels as they were once: int32, which TensorFlow keeps in the host's memory."""
    examples = networks.examples
    networks.examples = lambda network, count: (
        (both := examples(network, count))[0],
        both[1].astype("int32"),
    )


def plant_identity(moves: Any) -> None:
    """A copy as it was once: an operation that does nothing, on the other device."""
    before = moves.lay

    def lay(device: str, *arrays: Any) -> Any:
        here = before(device, *arrays)
        (source,) = here.tensors

        def copy(place: str) -> Any:
            import tensorflow as tf

            with tf.device(place):
                return tf.identity(source)

        return SimpleNamespace(
            device=device,
            tensors=[SimpleNamespace(_copy_to_device=copy, backing_device=source.backing_device)],
        )

    moves.lay = lay


def plant_lost(networks: Any) -> None:
    """The device is lost while a cell that trains is being prepared."""
    build = networks.build

    def lose(network: Any, device: str | None, **more: Any) -> Any:
        model = build(network, device, **more)
        if network.name == "A":
            Path(os.environ["CROSSOVER_LOSE"]).touch()
        return model

    networks.build = lose


WITHOUT: dict[str, tuple[str, Change]] = {
    # Nobody opens the library that TensorFlow does not find.
    "cusolver": ("suite.worker.proof.libraries", put("open_unfound", {})),
    "sum": ("suite.worker.proof.gpu", without_sum),
    # Nobody looks whether a GPU computes.
    "trouble": ("suite.worker.proof.gpu", put("find_trouble", None)),
    # Nobody looks where data lies.
    "resident": ("suite.worker.proof.placement", put("prove_resident", None)),
    "discard": ("suite.worker.proof.placement", without_discard),
}

PLANTED: dict[str, tuple[str, Change]] = {
    "int32": ("suite.worker.scenarios.mlp.networks", plant_int32),
    "lost": ("suite.worker.scenarios.mlp.networks", plant_lost),
    "identity": ("suite.worker.scenarios.overhead", plant_identity),
}


def changes() -> dict[str, list[Change]]:
    """What is to be done to which module."""
    found: dict[str, list[Change]] = {
        "suite.worker.scenario.scenario": [
            lambda module: make_void(module.Prepared),
            lambda module: make_void(module.Printed),
        ],
    }
    if "CROSSOVER_TRUE_TIMES" not in os.environ:
        found["suite.worker.session.channel"] = [flatten]
    for variable, table in (("CROSSOVER_WITHOUT", WITHOUT), ("CROSSOVER_PLANTED", PLANTED)):
        for name in os.environ.get(variable, "").split():
            module, change = table[name]
            found.setdefault(module, []).append(change)
    return found


sys.meta_path.insert(0, Finder(changes()))  # type: ignore[arg-type]
