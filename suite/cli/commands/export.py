"""The commands export and paper: a campaign for other programs, and for people on paper."""

from __future__ import annotations

from pathlib import Path

import click

from suite.analysis.analyse import analyse_folder
from suite.cli.options import add_out
from suite.cli.output import write_files
from suite.cli.receipts.archive import unpacked
from suite.cli.runs import run_argument
from suite.errors import NotInstalledError
from suite.report.exports.formats import EXPORTS
from suite.report.exports.pyperf import count_left_out
from suite.report.produce import print_report
from suite.report.render.paper import SHEETS, Sheet

OUT = add_out("write it there  [default: beside RUN]")


@click.command()
@run_argument(bundles=True)
@OUT
def export(run: Path, out: Path | None) -> int:
    """Write the campaign folder or bundle RUN in the forms of other programs: CSV, Parquet and pyperf's JSON.

    pyperf has no place for numbers that are INVALID or missing: they are left out, and counted on standard
    error.  So is Parquet where DuckDB is not installed.
    """
    with unpacked(run) as folder:
        analysis = analyse_folder(folder)
    files: dict[str, bytes] = {}
    try:
        for write in EXPORTS:
            files |= write(analysis)
    except NotInstalledError as error:
        click.echo(f"left out: {error.what}; {error.remedy} installs it", err=True)
    write_files(files, out or run.parent)
    if left := count_left_out(analysis):
        counts = ", ".join(f"{count} {what}" for what, count in left.items())
        click.echo(
            f"left out for pyperf, by cell and arm: {counts}; the CSV has them, with the reasons",
            err=True,
        )
    return 0


@click.command()
@run_argument(bundles=True)
@click.option("--sheet", type=click.Choice(SHEETS), default="a4", show_default=True)
@OUT
def paper(run: Path, sheet: Sheet, out: Path | None) -> int:
    """Write the report of the campaign folder or bundle RUN as a PDF and as a Word document."""
    with unpacked(run) as folder:
        analysis = analyse_folder(folder)
    write_files(print_report(analysis, sheet), out or run.parent)
    return 0
