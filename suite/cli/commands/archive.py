"""The commands archive and history: many campaigns in one place, and what became of a cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import click
from tabulate import tabulate

from suite.cli.archive.store import add, list_cells, list_machines, open_archive, read_history
from suite.cli.archive.tables import make_entries
from suite.cli.conduct import ROOT, shown
from suite.cli.options import FOLDER
from suite.cli.out import open_out
from suite.cli.runs import runs_argument
from suite.errors import UsageError
from suite.folder import Folder
from suite.report.exports.parquet import open_duckdb
from suite.report.pages.history import compose_history
from suite.report.render.markdown import render_page
from suite.report.text.names import choose_cells

MOST = 5
"""So many cells of those that can be meant are named."""

_WHERE = click.option(
    "--archive",
    "place",
    metavar="FOLDER",
    type=FOLDER,
    help="where it is  [default: results/archive]",
)


@click.command()
@runs_argument()
@_WHERE
@click.option(
    "--machine", metavar="NAME", help="what you call the machine  [default: named by its parts]"
)
def archive(runs: Sequence[Path], place: Path | None, machine: str | None) -> int:
    """Add the campaign folders RUNS to the archive; those that are in it stay as they are."""
    if machine is not None and not re.fullmatch(r"[\w.-]{1,100}", machine):
        raise UsageError(f"MACHINE={machine!r} is no name", "letters, digits, dots and dashes")
    where = open_out(place or ROOT / "results" / "archive")
    with Folder.open(where) as door, open_duckdb() as database:
        for entry in make_entries(runs, machine):
            told = "added" if add(database, door, entry) else "there already"
            click.echo(f"{entry.campaign}  {entry.machine}  {told}")
    click.echo(shown(where))
    return 0


@click.command()
@click.option(
    "--cell", metavar="CELL", help="a cell's id, name or receipt  [default: what there is]"
)
@click.option("--machine", metavar="NAME", help="this machine alone  [default: all]")
@_WHERE
def history(cell: str | None, machine: str | None, place: Path | None) -> int:
    """A cell over time and over machines, with what changed where it changed; from the archive."""
    with open_archive(place or ROOT / "results" / "archive") as database:
        if cell is None:
            headers = ("machine", "campaigns", "first", "last", "cells")
            click.echo(tabulate(list_machines(database), headers=headers, tablefmt="plain"))
            return 0
        ids = choose_cells(cell, list_cells(database))
        series = list(read_history(database, ids[0], machine)) if len(ids) == 1 else []
    if not series:
        what = f"CELL={cell} has no number" + (f" on {machine}" if machine else "")
        if len(ids) > 1:
            raise UsageError(f"CELL={cell} is more than one", f"there are {', '.join(ids[:MOST])}")
        raise UsageError(what, "`make history` lists the machines, `make list` the cells")
    click.echo(render_page(compose_history(ids[0], series)), nl=False)
    return 0


COMMANDS = (archive, history)
