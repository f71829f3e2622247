"""What the cells prepare, in a real TensorFlow."""

from __future__ import annotations

from suite.cells.cell import Cell
from suite.host.docker.engine import DockerEngine
from suite.model import Image
from suite.worker import scenarios
from tests.engine.conftest import hear

PREPARE = """
import sys
from suite.worker import scenarios
from suite.worker.scenario.scenario import Inapplicable
for identity in sys.argv[1:]:
    scenario, cell = scenarios.find(identity)
    try:
        made = scenario.prepare(device="/CPU:0", **cell.params)
    except Inapplicable:
        continue
    print(identity, flush=True)
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


def test_every_case_can_be_prepared(engine: DockerEngine, cpu_image: Image) -> None:
    asked = [cell.id for cell in smallest_cells()]
    # Without a place on disk the cells that read files can't be prepared.
    missing = set(asked) - set(hear(engine, cpu_image, "-c", PREPARE, *asked))
    assert {identity.partition("/")[0] for identity in missing} <= {
        "tfdata.read",
        "tfdata.to_device",
    }
