"""Crossovers in words: a sweep by its name, and from where on who wins along it."""

from __future__ import annotations

from collections.abc import Iterable

from suite.analysis.result.campaign import SweepAnalysis
from suite.analysis.result.numbers import Crossover, Reach
from suite.cells.cell import Param
from suite.report.text.evidence import word_evidence
from suite.report.text.names import Show
from suite.report.text.units import show_rate, show_size

OPEN = frozenset({"unclear", "no answer"})
"""What a sweep can answer without saying who wins."""


def name_sweep(sweep: SweepAnalysis, among: Iterable[SweepAnalysis], show: Show) -> str:
    """A sweep's case, and of what is fixed in it what tells it from the case's other sweeps."""
    telling = ", ".join(f"{name}={value}" for name, value in tell_apart(sweep, among).items())
    name = show(f"{sweep.scenario}.{sweep.case}")
    return f"{name} ({show(telling)})" if telling else name


def tell_apart(sweep: SweepAnalysis, among: Iterable[SweepAnalysis]) -> dict[str, Param]:
    """What is fixed in a sweep and not so in others of its case."""
    rivals = [one for one in among if (one.scenario, one.case) == (sweep.scenario, sweep.case)]
    return {
        name: value
        for name, value in sweep.fixed.items()
        if any(one.fixed.get(name) != value for one in rivals)
    }


def word_crossover(found: Crossover, axis: str, other: str, base: str, show: Show) -> str:
    """Half a sentence: ``cuda wins from n between 192 and 201 on``, or why nobody can say so."""
    if found.answer in {"always", "never"}:
        return f"{show(other if found.answer == 'always' else base)} wins at every {show(axis)}"
    if found.answer == "not monotone":
        return f"the winner changes more than once along {show(axis)}"
    if found.reason is not None:
        return f"nobody can say who wins: {show(word_evidence(found.reason))}"
    winner = f"{show(other if found.rising else base)} wins from {show(axis)}"
    low, high = map(show_end, (found.low, found.high))
    if low is None:
        return f"{winner} under {high} on, if not always"
    if high is None:
        return f"{winner} over {low} on, if at all"
    return f"{winner} about {low} on" if low == high else f"{winner} between {low} and {high} on"


def show_end(size: float | None) -> str | None:
    """An end of a crossover as a whole size, to three digits: it lies between measured ones."""
    if size is None:
        return None
    return show_size(float(f"{size:.3g}") if size < 10 else round(float(f"{size:.3g}")))


def word_best(reach: Reach) -> str:
    """``180 GFLOP/s at best (n = 8000)``; plain text."""
    rate = show_rate(reach.best, reach.unit, 1.0)
    return f"{rate} at best ({reach.axis} = {show_size(reach.best_at)})"


def word_reach(reach: Reach) -> str:
    """``180 GFLOP/s at best (n = 8000), under a tenth of that up to n = 64``; plain text."""
    if reach.short_until is None:
        return word_best(reach)
    until = f"{reach.axis} = {show_size(reach.short_until)}"
    return f"{word_best(reach)}, under a tenth of that up to {until}"
