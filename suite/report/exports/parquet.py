"""The table of observations as Parquet, written by DuckDB, which is not always installed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.analysis.observations import COLUMNS
from suite.analysis.result.campaign import Analysis
from suite.errors import NotInstalledError
from suite.report.exports.cells import list_rows

_TYPES: Mapping[str, str] = {
    **dict.fromkeys(COLUMNS, "VARCHAR"),
    "created": "TIMESTAMP",
    "block": "BIGINT",
    **dict.fromkeys(("seconds", "work", "price_hourly"), "DOUBLE"),
}
"""DuckDB's type of each column; a time is in UTC."""


def export_parquet(analysis: Analysis) -> dict[str, bytes]:
    """The table as one Parquet file; the same rows give the same bytes.

    Raises:
        NotInstalledError: DuckDB is not installed.
    """
    try:
        import duckdb  # noqa: PLC0415  in a lock of its own
    except ImportError as error:
        raise NotInstalledError("DuckDB, which writes Parquet,", "parquet") from error
    rows = list(list_rows(analysis))
    table = ", ".join(
        f'unnest(${index}::{kind}[]) AS "{name}"'
        for index, (name, kind) in enumerate(_TYPES.items(), 1)
    )
    values = [[row.get(name) for row in rows] for name in _TYPES]
    # It fetches nothing from anywhere.
    offline: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    with (
        duckdb.connect(":memory:", config=offline) as database,
        tempfile.TemporaryDirectory() as folder,
    ):
        path = Path(folder) / "table.parquet"
        database.execute(f"CREATE TABLE cells AS SELECT {table}", values)
        database.execute(f"COPY cells TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
        content = path.read_bytes()
    return {f"{analysis.campaign.folder}.parquet": content}
