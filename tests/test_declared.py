"""What the cells declare of themselves fits together, and only the scenarios know them by name."""

from __future__ import annotations

import ast

from suite.cells.cell import Param
from suite.cells.families import FAMILIES
from suite.fingerprint import SUITE
from suite.worker import scenarios

CELLS = scenarios.cells()


QUESTIONS = {
    *("n", "net", "width", "model", "products", "bytes", "direction"),
    *("stage", "epoch", "on", "part", "varies", "cpus"),
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


FAMILY_NAMES = {cell.scenario for cell in CELLS} - {"overhead", "sustain"}
"""But for a cause's name and an option's."""

BEGINNINGS = tuple(f"{cell.scenario}." for cell in CELLS)


def names_a_case(text: str) -> bool:
    return text in FAMILY_NAMES or text.startswith(BEGINNINGS)


def test_nobody_but_the_scenarios_spells_a_family_or_a_case() -> None:
    """What a cell is its plan says; so a new scenario is one file and one line."""
    spelled = {}
    for path in SUITE.rglob("*.py"):
        name = path.relative_to(SUITE).as_posix()
        if name.startswith("worker/scenarios/") or name == "cells/families.py":
            continue
        code = path.read_text(encoding="utf-8")
        if not any(f'"{family}' in code for family in FAMILY_NAMES | {"overhead.", "sustain."}):
            continue
        texts = {
            node.value
            for node in ast.walk(ast.parse(code))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        if named := {text for text in texts if names_a_case(text)}:
            spelled[name] = named
    assert not spelled
