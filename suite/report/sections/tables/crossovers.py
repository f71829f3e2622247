"""The table of every sweep: where it crosses over, or why nobody can say so."""

from __future__ import annotations

from suite.analysis.result.campaign import Analysis, SweepAnalysis
from suite.report.text.crossovers import EAGER, word_crossover
from suite.report.text.names import list_values
from suite.report.text.page import Page
from suite.report.text.texts import TEXTS


def write_crossovers(page: Page, analysis: Analysis) -> None:
    """A row a sweep and comparison; nothing where there is neither."""
    rows = [
        {
            "sweep": f"{sweep.scenario}.{sweep.case}",
            "fixed axes": list_values(sweep.fixed),
            "comparison": f"{other} against {analysis.base}",
            "answer": _answer(sweep, other, analysis.base),
        }
        for other in analysis.others
        for sweep in analysis.sweeps
        if analysis.compares(sweep, other)
    ]
    if not rows:
        return
    page.heading("Crossovers", level=3)
    page.table(
        TEXTS["captions"]["crossovers"],
        rows,
    )


def _answer(sweep: SweepAnalysis, other: str, base: str) -> str:
    """Who wins, and what that is about where it is more than arithmetic."""
    words = word_crossover(sweep.crossovers[other], sweep.axis, other, base)
    return f"{words} ({EAGER})" if sweep.eager else words
