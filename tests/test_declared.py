"""What the cells declare of themselves is what they were found to be by their names, until schema 2."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace
from fnmatch import fnmatch

import pytest

from suite.analysis.documents.schema1 import tell_traits
from suite.cells.cell import Cell, Param, Stage, Work, cell_id
from suite.cells.families import FAMILIES
from suite.content import SUITE
from suite.worker import scenarios

CELLS = scenarios.cells()

BARE = ("id", "scenario", "case", "params", "question", "profiles", "arms", "sweep", "one_shot")
BARE += ("asked_about", "by_host", "reads_files")

NEWER = (
    *("matmul.repeated*", "mlp.retrace/*", "tfdata.source/*", "tfdata.triple/pipeline=generator/*"),
    *("mlp.infer/*/call=graph", "mlp.infer/*/call=on_batch", "mlp.infer/*/call=graph_numpy"),
)
"""Cells that no plan of schema 1 holds."""


def tell(cell: Cell) -> Cell:
    work = Work(amount=cell.work.amount, unit=cell.work.unit, bytes=cell.work.bytes)
    return tell_traits(Cell(**{name: getattr(cell, name) for name in BARE}, work=work))


WAYLESS = "asked.clone/stage=again/on=cpu"
"""The one that was there without a way, since no first clone is beside a GPU's."""


def is_of_schema_1(cell: Cell) -> bool:
    """Whether such plans had it: where a case has stages, it is one of those that the frozen table names."""
    way = tell(cell).way
    return (
        cell.way is None
        or cell.id == WAYLESS
        or (way is not None and cell.id in {one.cell for one in way.stages})
    )


def leave_changes(cell: Cell) -> Cell:
    """A cell without what plans of schema 1 say nothing of: what of it is whoever writes the script's."""
    links = {
        name: [replace(one, effect=None, costs="") for one in found]
        for name, found in cell.links.items()
        if name != "cached"
    }
    return replace(cell, choices={}, links=links)


def leave_change(stage: Stage) -> Stage:
    return replace(stage, effect="timing", costs="", called="")


KNOWN = [cell for cell in CELLS if not any(fnmatch(cell.id, one) for one in NEWER)]
OLD = [cell for cell in KNOWN if cell.process is None and is_of_schema_1(cell)]


def test_what_schema_1_did_not_have_are_scripts_and_the_stages_behind_them() -> None:
    assert {cell.case for cell in KNOWN if cell not in OLD} == {
        *("matmul", "clone", "slices", "dataset", "fit")
    }
    assert len(OLD) == 235


def keep_links(cell: Cell, known: Collection[str]) -> Cell:
    """The cell with its links to these cells alone."""
    links = {name: [one for one in found if one.to in known] for name, found in cell.links.items()}
    return replace(cell, links={name: found for name, found in links.items() if found})


@pytest.mark.parametrize("cell", OLD, ids=[cell.id for cell in OLD])
def test_a_plan_of_schema_1_is_read_as_what_its_cells_now_say(cell: Cell) -> None:
    told = tell(cell)
    declared = keep_links(told, {one.id for one in CELLS})
    # A link to a newer cell leads out of such a plan.
    cell = keep_links(cell, {one.id for one in KNOWN})
    # Which cells the twins ran, each plan says; and a way began later, where it now begins with a script.
    assert replace(declared, control=cell.control, way=cell.way) == leave_changes(cell)
    if cell.way is not None and told.way is not None:
        after = told.way.stages[1:]
        assert list(map(leave_change, cell.way.stages[-len(after) :])) == after
        assert replace(told.way, stages=cell.way.stages) == cell.way


def test_the_known_extra_work_of_a_plan_of_schema_1_is_still_that() -> None:
    axes: dict[str, Param] = {"n": 1000, "precision": "fp32", "operands": "device", "xla": "off"}
    old = Cell(
        id=cell_id("matmul", "extra", {**axes, "extra": 5}),
        scenario="matmul",
        case="extra",
        params={**axes, "extra": 5},
        question="Are 5 % more work than declared seen?",
        work=Work(amount=2e9, unit="FLOP"),
        profiles=["standard", "full"],
    )
    told = tell_traits(old)
    assert (told.role, told.excess, told.work.launches) == ("control", 0.05, 1.0)
    assert [link.to for link in told.links["honest"]] == [cell_id("matmul", "square", axes)]


QUESTIONS = {
    *("n", "net", "width", "model", "products", "bytes", "direction"),
    *("stage", "epoch", "on", "part", "varies"),
}
"""Axes that nobody who writes a script chooses: how large the work is, of what, and what of it is timed."""


def test_every_axis_is_a_choice_of_whoever_writes_the_script_or_the_questions_own() -> None:
    values: dict[tuple[str, str], set[Param]] = {}
    for cell in CELLS:
        for axis, value in cell.params.items():
            values.setdefault((cell.name, axis), set()).add(value)
    for cell in CELLS:
        assert not cell.choices.keys() & QUESTIONS, cell.id
        assert cell.choices.keys() <= cell.params.keys(), cell.id
        for axis in cell.params.keys() - QUESTIONS:
            assert axis in cell.choices or len(values[cell.name, axis]) == 1, (cell.id, axis)


def test_a_choice_names_its_values_or_what_a_larger_number_is() -> None:
    for cell in CELLS:
        for axis, choice in cell.choices.items():
            assert bool(choice.values) != bool(choice.larger), (cell.id, axis)
            assert choice.costs, (cell.id, axis)
            if choice.larger:
                assert isinstance(cell.params[axis], int | float)


def test_every_family_has_its_title_in_the_order_of_the_reports() -> None:
    assert list(FAMILIES) == list(dict.fromkeys(cell.scenario for cell in CELLS))


FAMILY_NAMES = {cell.scenario for cell in CELLS} - {"overhead"}  # which is a cause's name as well
BEGINNINGS = tuple(f"{cell.scenario}." for cell in CELLS)


def names_a_case(text: str) -> bool:
    return text in FAMILY_NAMES or text.startswith(BEGINNINGS)


def test_nobody_but_the_scenarios_spells_a_family_or_a_case() -> None:
    """What a cell is its plan says; so a new scenario is one file and one line."""
    spelled = {}
    for path in SUITE.rglob("*.py"):
        name = path.relative_to(SUITE).as_posix()
        if name.startswith("worker/scenarios/") or name in ALLOWED:
            continue
        texts = {
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if found := {text for text in texts if names_a_case(text)}:
            spelled[name] = found
    assert not spelled


ALLOWED = {"cells/families.py", "analysis/documents/schema1.py"}
