"""The commands export and paper: a campaign for other programs, and for people on paper."""

from __future__ import annotations

from pathlib import Path

import click

from suite.analysis.analyse import analyse_folder
from suite.cli.options import add_out
from suite.cli.output import write_files
from suite.cli.receipts.archive import unpacked
from suite.cli.runs import run_argument
from suite.errors import UsageError
from suite.report.exports.formats import EXPORTS
from suite.report.exports.pyperf import count_left_out
from suite.report.produce import print_report
from suite.report.render.paper import SHEETS, Sheet

OUT = add_out("write it there  [default: beside RUN]")


def _demand_form(_: click.Context, __: click.Parameter, form: str | None) -> str:
    if form is None:
        raise UsageError("AS is missing: name a form", f"AS= one of {', '.join(EXPORTS)}")
    return form


@click.command()
@run_argument(bundles=True)
@click.option(
    "--as", "form", type=click.Choice(list(EXPORTS)), callback=_demand_form, help="format"
)
@OUT
def export(run: Path, form: str, out: Path | None) -> int:
    """Write the campaign folder or bundle RUN in the form of another program.

    pyperf has no place for numbers that are INVALID or missing: they are left out, and counted on standard
    error.
    """
    with unpacked(run) as folder:
        analysis = analyse_folder(folder)
    files = EXPORTS[form](analysis)
    write_files(files, out or run.parent)
    if form == "pyperf" and (left := count_left_out(analysis)):
        counts = ", ".join(f"{count} {what}" for what, count in left.items())
        click.echo(
            f"left out, by cell and arm: {counts}; AS=csv has them, with the reasons", err=True
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


COMMANDS = (export, paper)
