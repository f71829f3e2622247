"""The forms of other programs: a name each, and the function that writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from suite.analysis.result.campaign import Analysis
from suite.report.exports.bencher import export_bencher
from suite.report.exports.benchfmt import export_benchfmt
from suite.report.exports.cells import export_csv
from suite.report.exports.github import export_github
from suite.report.exports.openmetrics import export_openmetrics
from suite.report.exports.parquet import export_parquet
from suite.report.exports.pyperf import export_pyperf

Export = Callable[[Analysis], Mapping[str, bytes]]
"""Makes the files of an analysis, by their names."""

EXPORTS: Mapping[str, Export] = {
    "pyperf": export_pyperf,
    "benchfmt": export_benchfmt,
    "bencher": export_bencher,
    "github": export_github,
    "openmetrics": export_openmetrics,
    "csv": export_csv,
    "parquet": export_parquet,
}

WHOLE = ("csv", "parquet")
"""Those that have a place for every cell: INVALID ones, and the reason for a missing number."""
