"""Crossovers in words: a sweep by its name, and from where on who wins along it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from suite.analysis.result.campaign import SweepAnalysis
from suite.analysis.result.numbers import Crossover, Reach
from suite.cells.cell import Param
from suite.report.text.names import name_fixed
from suite.report.text.units import show_rate, show_size


def name_sweep(sweep: SweepAnalysis, among: Iterable[SweepAnalysis]) -> str:
    """A sweep's case, and of what is fixed in it what tells it from the case's other sweeps."""
    return name_fixed(f"{sweep.scenario}.{sweep.case}", tell_apart(sweep, among))


def tell_apart(sweep: SweepAnalysis, among: Iterable[SweepAnalysis]) -> dict[str, Param]:
    """What is fixed in a sweep and not so in others of its case."""
    rivals = [one for one in among if (one.scenario, one.case) == (sweep.scenario, sweep.case)]
    return {
        name: value
        for name, value in sweep.fixed.items()
        if any(one.fixed.get(name) != value for one in rivals)
    }


EAGER = (
    "about dispatch, since the calls are eager: each operation is started from Python on its own, which "
    "a tf.function saves"
)
"""What a crossover of eager calls is about."""


def word_crossover(found: Crossover, axis: str, other: str, base: str) -> str:
    """Half a sentence of what verdicts carry: ``cpu wins at n = 1 to 100; cuda wins at n = 500``."""
    if found.answer in {"always", "never"}:
        return f"{other if found.answer == 'always' else base} wins at every {axis}"
    if found.answer == "equal":
        return f"{other} and {base} are equivalent at every {axis}"
    if not (found.wins or found.loses or found.equal):
        return f"no clear winner at any {axis}"
    every = sorted([*found.wins, *found.loses, *found.equal, *found.undecided])
    parts = [(base, found.loses), (other, found.wins)]
    told = [f"{arm} wins at {axis} = {show_runs(sizes, every)}" for arm, sizes in parts if sizes]
    if not found.rising:
        told.reverse()
    rest = [("equivalent", found.equal), ("no clear winner", found.undecided)]
    told += [f"{what} at {axis} = {show_runs(sizes, every)}" for what, sizes in rest if sizes]
    return "; ".join(told)


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


def word_reach(reach: Reach) -> str:
    """``180 GFLOP/s at best (n = 8000), under a tenth of that up to n = 64``."""
    if reach.short_until is None:
        return word_best(reach)
    until = f"{reach.axis} = {show_size(reach.short_until)}"
    return f"{word_best(reach)}, under a tenth of that up to {until}"
