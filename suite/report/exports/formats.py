"""The forms of other programs: a name each, and the function that writes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from suite.analysis.result.campaign import Analysis
from suite.report.exports.cells import export_csv
from suite.report.exports.parquet import export_parquet
from suite.report.exports.pyperf import export_pyperf

Export = Callable[[Analysis], Mapping[str, bytes]]
"""Makes the files of an analysis, by their names."""

EXPORTS: Mapping[str, Export] = {
    "pyperf": export_pyperf,
    "csv": export_csv,
    "parquet": export_parquet,
}
