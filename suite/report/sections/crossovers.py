"""The table of every sweep: where it crosses over, or why nobody can say so."""

from __future__ import annotations

from suite.analysis.campaign.summarise import Summary
from suite.report.text.crossovers import word_crossover
from suite.report.text.markup import escape
from suite.report.text.page import Page


def write_crossovers(page: Page, summary: Summary) -> None:
    """A row a sweep and comparison; nothing where there is neither."""
    rows = [
        [
            escape(f"{sweep.scenario}.{sweep.case}"),
            escape(", ".join(f"{name}={value}" for name, value in sweep.fixed.items())),
            f"{escape(other)} against {escape(summary.base)}",
            word_crossover(found, sweep.axis, other, summary.base, escape),
        ]
        for other in summary.others
        for sweep, found in summary.conclusions.crossovers.get(other, ())
    ]
    if not rows:
        return
    page.heading("Crossovers", level=3)
    page.table(
        "Table: where each sweep crosses over: the sizes at which the 95 % interval of the ratio "
        "contains 1, interpolated on logarithms.",
        ["sweep", "the same in it", "comparison", "answer"],
        rows,
    )
