"""The forms of other programs: the functions that write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from suite.analysis.result.campaign import Analysis
from suite.report.exports.cells import export_csv
from suite.report.exports.parquet import export_parquet
from suite.report.exports.pyperf import export_pyperf

Export = Callable[[Analysis], Mapping[str, bytes]]
"""Makes the files of an analysis, by their names."""

EXPORTS: tuple[Export, ...] = (export_pyperf, export_csv, export_parquet)
"""The last is the one that needs what is not always installed."""
