"""Crossovers in words: a sweep by its name, and from where on who wins along it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from suite.analysis.result.campaign import Analysis, SweepAnalysis
from suite.analysis.result.cells import CellAnalysis
from suite.analysis.result.numbers import Crossover, Reach
from suite.cells.cell import Param
from suite.report.text.names import list_values
from suite.report.text.texts import TEXTS
from suite.report.text.units import show_rate, show_size


def tell_apart(sweep: SweepAnalysis, among: Iterable[SweepAnalysis]) -> dict[str, Param]:
    """What is fixed in a sweep and not so in others of its case."""
    case = sweep.scenario, sweep.case
    rivals = [other for other in among if (other.scenario, other.case) == case]
    return {
        name: value
        for name, value in sweep.fixed.items()
        if any(other.fixed.get(name) != value for other in rivals)
    }


def describe_work(sweep: SweepAnalysis) -> str:
    """What a call of a sweep's case does, in plain words where it has some: ``training steps``."""
    case = f"{sweep.scenario}.{sweep.case}"
    return TEXTS["work"].get(case, case)


def describe_fixed(sweep: SweepAnalysis, among: Iterable[SweepAnalysis]) -> str:
    """What tells a sweep from the others of its case: ``network A``; empty: it is the only one."""
    names = TEXTS["work"]
    fixed = tell_apart(sweep, among)
    return ", ".join(f"{names.get(axis, axis)} {value}" for axis, value in fixed.items())


def describe_common(analysis: Analysis) -> str:
    """What is the same in all main sweeps of a case, and what the networks are; empty: there is nothing."""
    common: dict[str, str] = {}
    networks: dict[str, str] = {}
    for sweep in analysis.main_sweeps:
        apart = tell_apart(sweep, analysis.main_sweeps)
        same = {name: value for name, value in sweep.fixed.items() if name not in apart}
        if same:
            common[describe_work(sweep)] = list_values(same)
        net = str(sweep.fixed.get("net", ""))
        if net in TEXTS["networks"]:
            networks[net] = TEXTS["networks"][net]
    parts = [f"{work} with {values}" for work, values in common.items()]
    parts += [f"network {name}: {units}" for name, units in networks.items()]
    return "; ".join(parts)


def name_axis(axis: str) -> str:
    """What stands before a size along an axis: ``batch``, or of a letter ``n =``."""
    return f"{axis} =" if len(axis) == 1 else axis


def name_size(axis: str, size: float) -> str:
    """``batch 512``, or of a letter ``n = 1000``."""
    return f"{name_axis(axis)} {show_size(size)}"


def read_size(sweep: SweepAnalysis, cell: CellAnalysis) -> float | None:
    """The size of a cell along a sweep; None: it is none of the sweep's, or its size is not a number."""
    size = cell.params.get(sweep.axis) if cell.id in sweep.cells else None
    return float(size) if isinstance(size, int | float) else None


def describe_crossover(sweep: SweepAnalysis, other: str, base: str) -> str:
    """Who wins along a sweep, and what that is about where it is more than arithmetic."""
    words = word_crossover(sweep.crossovers[other], sweep.axis, other, base)
    return f"{words} ({TEXTS['about']['eager']})" if sweep.eager else words


def word_crossover(crossover: Crossover, axis: str, other: str, base: str) -> str:
    """Half a sentence of what verdicts carry: ``cpu wins at n = 1 to 100; cuda wins at n = 500``."""
    wins, loses = crossover.wins, crossover.loses
    equal, undecided = crossover.equal, crossover.undecided
    if crossover.answer in {"always", "never"}:
        return f"{other if crossover.answer == 'always' else base} wins at every {axis}"
    if crossover.answer == "equal":
        return f"{other} and {base} are equivalent at every {axis}"
    if not (wins or loses or equal):
        return f"no clear winner at any {axis}"
    every = sorted([*wins, *loses, *equal, *undecided])
    ends = [(f"{base} wins", loses), (f"{other} wins", wins)]
    ends = ends if crossover.rising else ends[::-1]
    parts = [*ends, ("equivalent", equal), ("no clear winner", undecided)]
    return "; ".join(
        f"{what} at {axis} = {show_runs(sizes, every)}" for what, sizes in parts if sizes
    )


def show_runs(sizes: Iterable[float], among: Sequence[float]) -> str:
    """Sizes with their neighbours as runs: ``10, 100 to 4000``; ``among`` are all that were measured."""
    chosen, runs = set(sizes), []
    for is_chosen, run in groupby(among, key=lambda size: size in chosen):
        ends = list(run)
        if is_chosen:
            first, last = show_size(ends[0]), show_size(ends[-1])
            runs.append(first if first == last else f"{first} to {last}")
    return ", ".join(runs)


def word_best(reach: Reach) -> str:
    """``180 GFLOP/s at best (n = 8000)``."""
    rate = show_rate(reach.best, reach.unit, 1.0)
    return f"{rate} at best ({reach.axis} = {show_size(reach.best_at)})"
