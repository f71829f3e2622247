"""Tables as Parquet, written by DuckDB, which is not always installed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from suite.analysis.result.campaign import Analysis
from suite.errors import NotInstalledError
from suite.report.exports.cells import TYPES, list_rows

_TYPES: Mapping[object, str] = {
    str: "VARCHAR",
    int: "BIGINT",
    float: "DOUBLE",
    bool: "BOOLEAN",
    datetime: "TIMESTAMP",
    list: "DOUBLE[]",
}
"""The type of a column by what stands in it: a list is one of numbers, a time is in UTC."""


def export_parquet(analysis: Analysis) -> dict[str, bytes]:
    """The table of observations as one Parquet file."""
    rows = list(list_rows(analysis))
    with open_duckdb() as database:
        content = write_parquet(database, TYPES, rows)
    return {f"{analysis.campaign.folder}.parquet": content}


def write_parquet(
    database: Any, columns: Mapping[str, type], rows: Sequence[Mapping[str, Any]]
) -> bytes:
    """Rows as a Parquet file; the same rows, the same bytes."""
    names = [name.replace('"', '""') for name in columns]
    table = ", ".join(
        f'unnest(${index}::{_TYPES[kind]}[]) AS "{name}"'
        for index, (name, kind) in enumerate(zip(names, columns.values(), strict=True), 1)
    )
    values = [[row.get(name) for row in rows] for name in columns]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        database.execute(f"CREATE OR REPLACE TABLE it AS SELECT {table}", values)
        database.execute(f"COPY it TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
        return path.read_bytes()


def open_duckdb() -> Any:
    """A database in memory that fetches nothing from anywhere.

    Raises:
        NotInstalledError: DuckDB is not installed.
    """
    try:
        import duckdb  # noqa: PLC0415  in a lock of its own
    except ImportError as error:
        raise NotInstalledError("DuckDB, which reads and writes Parquet,", "archive") from error
    fetching = ("autoinstall_known_extensions", "autoload_known_extensions")
    return duckdb.connect(":memory:", config=dict.fromkeys(fetching, "false"))
