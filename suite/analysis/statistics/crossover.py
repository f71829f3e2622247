"""What a sweep shows: where along it the other arm starts to win, and how far an arm's rate comes.

Pure; a winner is told of by verdicts alone, so that none is named that they do not carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from suite.analysis.result.cells import ArmResult
from suite.analysis.result.numbers import Answer, Crossover, Reach, Verdict
from suite.cells.cell import Cell, Param
from suite.cells.traits import Headline
from suite.flags import Flag

FAR_BELOW = 0.1
"""Under this share of its own best rate a device mostly waits: the size is too small for it."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The cells of a plan that differ in one axis only; ``fixed`` are the others' values."""

    scenario: str
    case: str
    axis: str
    fixed: Mapping[str, Param]
    cells: tuple[Cell, ...]

    @property
    def headline(self) -> Headline | None:
        """What is drawn of it where a report opens with it."""
        return self.cells[0].headline


def find_sweeps(cells: Iterable[Cell]) -> list[Sweep]:
    """The sweeps of a plan with at least two sizes, in its order, sizes ascending."""
    groups: dict[tuple[str, str, str, str], list[Cell]] = {}
    for cell in cells:
        if cell.sweep is not None and _size(cell) is not None:
            fixed = {name: value for name, value in cell.params.items() if name != cell.sweep}
            groups.setdefault((cell.scenario, cell.case, cell.sweep, repr(fixed)), []).append(cell)
    return [
        Sweep(
            scenario=scenario,
            case=case,
            axis=axis,
            fixed={name: value for name, value in group[0].params.items() if name != axis},
            cells=tuple(sorted(group, key=lambda cell: _size(cell) or 0.0)),
        )
        for (scenario, case, axis, _), group in groups.items()
        if len(group) > 1
    ]


def pick_main(sweeps: Iterable[Sweep]) -> list[Sweep]:
    """The sweeps that a report opens with: of each such case, and of each kind of work in it, the longest."""
    longest: dict[tuple[str, str, str], Sweep] = {}
    for sweep in sweeps:
        if sweep.headline is not None:
            keys = {cell.work_key for cell in sweep.cells}
            # Along some axes it is more of the same work, along others it is other work.
            key = sweep.scenario, sweep.case, keys.pop() if len(keys) == 1 else ""
            if len(sweep.cells) > len(longest.setdefault(key, sweep).cells):
                longest[key] = sweep
    return list(longest.values())


def find_crossover(sweep: Sweep, verdicts: Mapping[str, Verdict | Flag]) -> Crossover:
    """Who wins along a sweep, from the verdicts of its cells by id; a cell without one is undecided.

    It crosses between two sizes where the one arm is called the faster up to the first and the other
    from the second on.  Between them, and wherever no verdict names a winner, nobody can say.
    """
    sizes = {_size(cell) or 0.0: verdicts.get(cell.id) for cell in sweep.cells}
    wins, loses, equal = (
        tuple(
            size
            for size, verdict in sizes.items()
            if isinstance(verdict, Verdict) and verdict.name == name
        )
        for name in ("FASTER", "SLOWER", "EQUIVALENT")
    )
    called = {size: size in wins for size in sizes if size in wins or size in loses}
    changes = [
        (before, after) for before, after in pairwise(called) if called[before] != called[after]
    ]
    answer: Answer = "undecided"
    if len(changes) > 1:
        answer = "not monotone"
    elif changes:
        answer = "crosses"
    elif len(sizes) in {len(wins), len(loses), len(equal)}:
        answer = "always" if wins else "never" if loses else "equal"
    low, high = changes[0] if answer == "crosses" else (None, None)
    return Crossover(
        answer=answer,
        low=low,
        high=high,
        rising=answer == "crosses" and called[changes[0][1]],
        wins=wins,
        loses=loses,
        equal=equal,
        undecided=tuple(size for size in sizes if size not in {*wins, *loses, *equal}),
    )


def find_reach(sweep: Sweep, results: Mapping[str, ArmResult]) -> Reach | None:
    """The reach of an arm, from its valid numbers by cell; None under two of them, or without work."""
    rates = []
    unit = ""
    for cell in sweep.cells:
        result = results[cell.id]
        if result.rate is not None and not result.invalid:
            rates.append((float(cell.params[sweep.axis]), result.rate))
            unit = result.work.unit
    if len(rates) < 2:
        return None
    best_at, best = max(rates, key=lambda point: point[1])
    short = None
    for size, rate in rates:
        if rate >= FAR_BELOW * best:
            break
        short = size
    return Reach(axis=sweep.axis, unit=unit, best=best, best_at=best_at, short_until=short)


def _size(cell: Cell) -> float | None:
    value = cell.params.get(cell.sweep or "")
    return float(value) if isinstance(value, int | float) and value > 0 else None
