"""The archive's files: a folder for each table, in it one for each machine, with a file for each campaign."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from suite.analysis.result.history import Point, Series
from suite.analysis.several.history import find_series
from suite.cli.archive.tables import Entry
from suite.errors import DocumentError, UsageError
from suite.folder import Folder
from suite.report.exports.facts import FACTS
from suite.report.exports.parquet import open_duckdb

_MADE_OF = (*FACTS, "image", "suite_content", "cpus_used", "gpu")
"""The columns in which what has changed is looked for."""

_POINT = ("campaign", "created", "value", "low", "high", "n", "invalid")
"""The columns of a point itself."""


def add(database: Any, archive: Folder, entry: Entry) -> bool:
    """Adds a campaign; False: it is there already, with the same documents.

    Nothing that is there is written anew.

    Raises:
        UsageError: it is there with other documents.
    """
    found = list(archive.path.glob(f"campaigns/*/{entry.campaign}.parquet"))
    if found:
        rows = database.execute("SELECT content FROM read_parquet($1)", [str(found[0])])
        if rows.fetchone() == (entry.content,):
            return False
        raise UsageError(
            f"{entry.campaign} is in the archive with other documents ({found[0]})",
            "to take it in as it is now, remove its file from each table of the archive",
        )
    for table, content in entry.files.items():
        archive.write(f"{table}/machine={entry.machine}/{entry.campaign}.parquet", content)
    return True


def open_archive(path: Path) -> Any:
    """A database with a view of the archive's cells; that of every table takes four times as long to make.

    Raises:
        DocumentError: there is no archive.
        NotInstalledError: DuckDB is not installed.
    """
    if not any(path.glob("campaigns/*/*.parquet")):
        raise DocumentError(f"{path}: there is no archive", "`make archive RUNS=…` makes one")
    database = open_duckdb()
    files = str(path / "cells" / "*" / "*.parquet").replace("'", "''")
    database.execute(
        "CREATE VIEW cells AS SELECT * FROM "  # noqa: S608  the path is quoted
        f"read_parquet('{files}', hive_partitioning = true, "
        "hive_types_autocast = false, union_by_name = true)"
    )
    return database


def list_machines(database: Any) -> list[tuple[Any, ...]]:
    """By machine: its campaigns, the first and the last one's time, and how many cells they have."""
    found: list[tuple[Any, ...]] = database.execute(
        "SELECT machine, count(DISTINCT campaign), min(created), max(created), count(DISTINCT id) "
        "FROM cells GROUP BY machine ORDER BY machine"
    ).fetchall()
    return found


def list_cells(database: Any) -> list[str]:
    """The ids of all cells."""
    return [
        id_ for (id_,) in database.execute("SELECT DISTINCT id FROM cells ORDER BY id").fetchall()
    ]


def read_history(database: Any, cell: str, machine: str | None) -> Iterator[Series]:
    """The cell of this id on each machine, or on this one, and arm."""
    columns = ", ".join((*_POINT, *_MADE_OF))
    rows = database.execute(
        f"SELECT machine, arm, {columns} FROM cells "  # noqa: S608  as above
        "WHERE id = $1 AND value IS NOT NULL AND machine = coalesce($2, machine) "
        "ORDER BY machine, arm, created, campaign",
        [cell, machine],
    ).fetchall()
    groups: dict[tuple[str, str], list[Point]] = {}
    for where, arm, *row in rows:
        facts = dict(zip(_MADE_OF, row[len(_POINT) :], strict=True))
        point = Point(**dict(zip(_POINT, row, strict=False)), facts=facts)
        groups.setdefault((where, arm), []).append(point)
    for (where, arm), points in groups.items():
        yield find_series(where, arm, points)
