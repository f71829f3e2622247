"""Every declared cell, without TensorFlow: a typo fails here, before a GPU is rented.

Which cells a profile holds stands in docs/cells.md, which a test holds to the code.
"""

from __future__ import annotations

import fnmatch
import inspect
import re
from typing import Any

import pytest

from suite.cells.cell import Cell
from suite.cells.families import FAMILIES
from suite.cells.scenario import Ops, Scenario, vary
from suite.cells.traits import PROFILES
from suite.fingerprint import SUITE
from suite.worker import scenarios
from tests.commands import run_python
from tests.fakes.scenarios import make_up

GRAMMAR = re.compile(r"[a-z]+\.[a-z_]+(/[a-z_]+=[A-Za-z0-9._-]+)*")

CELLS = scenarios.cells()
BY_ID = {cell.id: cell for cell in CELLS}
OF_SCENARIO = [(one, cell) for one in scenarios.SCENARIOS for cell in one.cells()]


@pytest.mark.parametrize(
    "scenario", scenarios.SCENARIOS, ids=lambda one: f"{one.family}.{one.case}"
)
def test_what_a_cell_says_of_itself_holds_together(scenario: Scenario) -> None:
    for cell in scenario.cells():
        check_cell(scenario, cell)


def check_cell(scenario: Scenario, cell: Cell) -> None:
    assert GRAMMAR.fullmatch(cell.id)
    assert cell.id.startswith(f"{cell.scenario}.{cell.case}")
    assert cell.scenario in FAMILIES
    assert scenarios.find(cell.id) == (scenario, cell)

    # A file of the worker prepares it, from its axes and no other word; so does its work.
    if callable(scenario.work):
        inspect.signature(scenario.work).bind(**cell.params)
    if scenario.prepare is not None:
        signature = inspect.signature(scenario.prepare)
        signature.bind(device="/CPU:0", **cell.params)
        assert set(signature.parameters) <= {"device", *cell.params, "axes"}
    else:
        assert cell.by_host or cell.one_shot
        assert cell.by_host == (cell.case == "container")

    assert cell.question.endswith("?")
    assert not set("{}") & set(cell.question)
    assert cell.question[0].isupper()
    assert cell.work.amount > 0
    assert re.fullmatch("[A-Za-z]+", cell.work.unit)
    assert cell.work.bytes is None or cell.work.bytes > 0

    # A profile holds what the shorter ones hold; but smoke makes every path run, and stands apart.
    rest = [name for name in cell.profiles if name != "smoke"]
    assert rest
    assert rest == list(PROFILES[PROFILES.index(rest[0]) :])
    assert cell.arms in ([], ["gpu"], ["cpu"])
    # Only what people ask about is done on the CPU beside a GPU; what heats a chip most differs by its kind.
    if cell.role != "sustained":
        assert cell.arms == (["gpu"] if cell.params.get("on") == "cpu" else [])
    assert cell.scripted == (scenario.script is not None)
    assert cell.long_budget or cell.scenario != "asked"

    assert cell.work_key
    assert set(cell.larger) <= set(cell.params)
    assert cell.sweep is None or cell.sweep in cell.params
    # What the start-up sequence and the host measure is no operation that could be seen.
    assert (
        (cell.device != "none") or scenario.prepare is None or cell.price in {"fence", "handover"}
    )
    assert cell.device == "none" or not cell.by_host
    assert all(link.to in BY_ID for links in cell.links.values() for link in links)
    if cell.way is not None:
        stages = [BY_ID[stage.cell] for stage in cell.way.stages if stage.cell is not None]
        assert cell in stages
        assert all(one.way == cell.way for one in stages[:-1])
        assert len({one.work.unit for one in stages}) == 1
        fair = stages[-1]
        assert cell.way.stages[-1].cell == fair.id
        assert not fair.one_shot
        assert fair.work_key == cell.work_key


GROUPS = {
    cell.id: {name for group in proof.groups for name in group}
    for one, cell in OF_SCENARIO
    if isinstance(proof := one.proof_of(cell.params), Ops)
}
"""The operations that the worker wants to see on a cell's device."""


def test_the_report_wants_the_operations_that_the_worker_wants() -> None:
    """No fewer, or a CPU's nodes would count; no more, or a healthy GPU's cell would lose its number."""
    every = set().union(*GROUPS.values())
    assert {cell.id for cell in CELLS if cell.operations} == set(GROUPS)
    for identity, wanted in GROUPS.items():
        operations = BY_ID[identity].operations
        assert wanted == {n for n in every if any(fnmatch.fnmatch(n, one) for one in operations)}


def test_ids_are_unique_and_in_declared_order() -> None:
    declared = [cell.id for _, cell in OF_SCENARIO]
    assert len(set(declared)) == len(declared)
    assert [cell.id for cell in CELLS] == declared


def test_a_sweep_climbs_in_declared_order() -> None:
    climbed: dict[tuple[Any, ...], float] = {}
    for cell in CELLS:
        if cell.sweep is not None:
            others = tuple(v for axis, v in cell.params.items() if axis != cell.sweep)
            key = (cell.scenario, cell.case, *others)
            assert cell.work.amount > climbed.get(key, 0.0), cell.id
            climbed[key] = cell.work.amount
    assert climbed


def test_only_cells_that_read_files_ask_for_a_place_on_disk() -> None:
    assert {cell.case for cell in CELLS if cell.reads_files} == {"read"}


def test_every_stage_of_the_start_up_has_its_cell() -> None:
    stages = [cell.params["stage"] for cell in CELLS if cell.case == "startup"]
    named = [s.startup for s in scenarios.SCENARIOS if s.startup is not None]
    assert named == ["clone"]
    source = (SUITE / "worker" / "session" / "startup.py").read_text(encoding="utf-8")
    timed = re.findall(r'timed\((?:stages, )?"(\w+)"', source)
    assert stages == [stage for stage in timed if stage not in named]


def test_a_link_to_an_axis_that_a_case_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"made\.up has not all of the axes m"):
        vary(m=1)("made.up", {"n": 1})
    assert vary(n=1)("made.up", {"n": 1}) is None


@pytest.mark.parametrize("params", [{}, {"n": 1, "m": 2}, {"m": 1}])
def test_a_point_with_other_axes_is_refused(params: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="other axes"):
        make_up([params], axes=("n",)).cells()


def test_an_unknown_id_names_its_neighbours() -> None:
    with pytest.raises(KeyError, match=r"did you mean .*matmul.square/n=1000/"):
        scenarios.find("matmul.square/n=1001/precision=fp32/operands=device/xla=off")
    with pytest.raises(KeyError, match=r"no cell zzz'"):
        scenarios.find("zzz")


@pytest.mark.processes
def test_importing_the_worker_needs_no_tensorflow() -> None:
    modules = sorted(
        path.relative_to(SUITE.parent).with_suffix("").as_posix().replace("/", ".")
        for path in (SUITE / "worker").rglob("*.py")
        if path.name != "__init__.py"
    )
    code = (
        "import importlib, sys; sys.modules['tensorflow'] = sys.modules['keras'] = None\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "assert sys.modules['tensorflow'] is None\n"
        "print('fine')"
    )
    done = run_python("-c", code, *modules)
    assert (done.returncode, done.stdout, done.stderr) == (0, "fine\n", "")
