"""In which order cells stand in a table, and what they and their places are called there.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.findings import Spot
from suite.cells.cell import Param
from suite.cells.traits import Effect
from suite.report.text.units import show_things


def list_families(cells: Iterable[CellAnalysis]) -> list[str]:
    """The families of a plan, in its order."""
    return list(dict.fromkeys(cell.scenario for cell in cells))


def sort_cells(cells: Sequence[CellAnalysis]) -> list[CellAnalysis]:
    """Families, cases and words in the order in which the plan names them, numbers ascending.

    Words count before numbers, so that a sweep over sizes stays together.
    """
    families = list_families(cells)
    cases = list(dict.fromkeys((cell.scenario, cell.case) for cell in cells))
    words = list(dict.fromkeys(v for cell in cells for v in cell.params.values()))

    def place(cell: CellAnalysis) -> tuple[int, int, list[int], list[float]]:
        values = cell.params.values()
        return (
            families.index(cell.scenario),
            cases.index((cell.scenario, cell.case)),
            [words.index(value) for value in values if isinstance(value, str)],
            [value for value in values if not isinstance(value, str)],
        )

    return sorted(cells, key=place)


def name_cells(cells: Sequence[CellAnalysis]) -> dict[str, str]:
    """A short name by id: without what all cells of its case share.  A case with one cell keeps the id."""
    names: dict[str, str] = {}
    for case, group, shared in _share_axes(cells):
        for cell in group:
            kept = [f"{k}={v}" for k, v in cell.params.items() if k not in shared]
            names[cell.id] = "/".join([case, *kept])
    return names


def list_shared(cells: Sequence[CellAnalysis]) -> dict[tuple[str, ...], str]:
    """What the names leave out, as one phrase by the ids of a case's cells."""
    return {
        tuple(cell.id for cell in group): f"{case}: {list_values(shared)}"
        for case, group, shared in _share_axes(cells)
        if shared
    }


def _share_axes(
    cells: Iterable[CellAnalysis],
) -> Iterator[tuple[str, list[CellAnalysis], Mapping[str, Param]]]:
    """By case its cells, and the values that all of them have where there are several."""
    by_case: dict[str, list[CellAnalysis]] = {}
    for cell in cells:
        by_case.setdefault(f"{cell.scenario}.{cell.case}", []).append(cell)
    for case, group in by_case.items():
        axes = {k: v for cell in group for k, v in cell.params.items()} if len(group) > 1 else {}
        alike = {k: len({repr(cell.params.get(k)) for cell in group}) == 1 for k in axes}
        yield case, group, {k: v for k, v in axes.items() if alike[k]}


def name_receipt(cell: str) -> str:
    """The short name of a cell by its id, the same in every campaign: under it `make defend` finds it."""
    return hashlib.sha256(cell.encode(errors="backslashreplace")).hexdigest()[:6]


def choose_cells(word: str, ids: Sequence[str]) -> list[str]:
    """The cells that a word means: by id, by receipt, or by a table's name, which leaves shared axes out."""
    exact = [cell for cell in ids if word in {cell, name_receipt(cell)}]
    case, *values = word.split("/")
    parts = ((cell, cell.split("/")) for cell in ids)
    return exact or [cell for cell, (of, *axes) in parts if of == case and set(values) <= {*axes}]


def list_values(params: Mapping[str, Param]) -> str:
    """``net=A, batch=32``."""
    return ", ".join(f"{axis}={value}" for axis, value in params.items())


def name_fixed(name: str, fixed: Mapping[str, Param]) -> str:
    """A name, and what is fixed of what it names: ``mlp.train (net=A)``."""
    return f"{name} ({list_values(fixed)})" if fixed else name


def name_changes(changes: Sequence[str]) -> str:
    """Changes of a script by the last of them, and how many others there are: tables list them all."""
    others = len(changes) - 1
    return f"{changes[-1]} (with {show_things(others, 'other change')})" if others else changes[-1]


def name_effects(effects: Sequence[Effect]) -> str:
    """Kinds of changes: ``timing``, or ``timing and script together`` where nobody can tell them apart."""
    *others, last = effects or ("",)
    return f"{', '.join(others)} and {last} together" if others else last


def name_place(spot: Spot) -> str:
    """Where a waterfall was measured: ``cuda``, or ``cuda, on its CPU``."""
    return f"{spot.arm}, on its CPU" if spot.pinned else spot.arm
