"""Where the cells say that their work is, and which operations they want to have seen there, is what their
``prepare`` gives to the loop."""

from __future__ import annotations

import fnmatch
import json
from typing import Any

import pytest

from suite.cells.cell import Cell
from suite.host.docker.engine import DockerEngine
from suite.model import Image
from suite.worker import scenarios
from tests.engine.conftest import hear

PREPARE = """
import json, sys
from suite.worker import scenarios
from suite.worker.scenario.scenario import Inapplicable
for identity in sys.argv[1:]:
    scenario, cell = scenarios.find(identity)
    try:
        made = scenario.prepare(device="/CPU:0", **cell.params)
    except Inapplicable:
        continue
    groups = getattr(made.proof, "groups", None)
    print(json.dumps([identity, made.on, made.proof is None, groups]), flush=True)
    made.close()
"""


def smallest_cells() -> list[Cell]:
    """Of every case and every choice of words the first cell that has work of its own to prepare."""
    found: dict[tuple[object, ...], Cell] = {}
    for cell in scenarios.cells():
        scenario, _ = scenarios.find(cell.id)
        words = tuple(value for value in cell.params.values() if isinstance(value, str))
        if scenario.prepare is not None and cell.params.get("precision", "fp32") == "fp32":
            found.setdefault((cell.scenario, cell.case, *words), cell)
    return list(found.values())


@pytest.fixture(scope="module")
def told(engine: DockerEngine, cpu_image: Image) -> list[list[Any]]:
    """Of each cell: its id, the device of its work, whether nothing is proven, the groups of its graphs."""
    asked = [cell.id for cell in smallest_cells()]
    lines = [json.loads(line) for line in hear(engine, cpu_image, "-c", PREPARE, *asked)]
    # Without a place on disk the cells that read files can't be prepared.
    missing = set(asked) - {identity for identity, *_ in lines}
    assert {identity.partition("/")[0] for identity in missing} <= {
        "tfdata.read",
        "tfdata.to_device",
    }
    return lines


def test_the_reports_exceptions_are_the_workers(told: list[list[Any]]) -> None:
    declared = {identity: on == "cpu" or bare for identity, on, bare, _ in told}
    assert {name: scenarios.find(name)[1].device != "arm" for name in declared} == declared


def test_the_report_wants_the_operations_that_the_worker_wants(told: list[list[Any]]) -> None:
    """No fewer, or a CPU's nodes would count; no more, or a healthy GPU's cell would lose its number."""
    graphs = {
        identity: {name for group in groups for name in group}
        for identity, _, bare, groups in told
        if groups is not None and not bare
    }
    every = set().union(*graphs.values())
    operations = {identity: scenarios.find(identity)[1].operations for identity, *_ in told}
    assert {identity for identity in operations if operations[identity]} == set(graphs)
    wanted = {
        identity: {
            name
            for name in every
            if any(fnmatch.fnmatch(name, one) for one in operations[identity])
        }
        for identity in graphs
    }
    assert wanted == graphs


@pytest.mark.parametrize("cell", [c for c in scenarios.cells() if c.by_host], ids=lambda c: c.id)
def test_what_the_host_measures_is_no_work_of_the_gpus(cell: Cell) -> None:
    assert cell.device == "none"
