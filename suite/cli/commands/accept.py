"""The command accept: does a campaign meet what was agreed?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from suite.analysis.acceptance.sheet import Sheet, SheetError, read_sheet
from suite.analysis.analyse import accept_folder
from suite.cli.options import FOLDER, add_out
from suite.cli.output import give_files
from suite.cli.receipts.archive import unpacked
from suite.cli.runs import find_run, run_argument
from suite.errors import CrossoverError, UndecidedError, UsageError
from suite.report.produce import build_acceptance, print_page
from suite.report.text.names import choose_cells
from suite.worker import scenarios


@click.command(
    epilog="""\b
Exit status: 0 every line passes; 1 a line fails; 8 none fails, and a line is
undecided; 2 usage, as where a line of the sheet is refused; 5 a document can't be
read."""
)
@run_argument(bundles=True)
@click.option(
    "--require",
    metavar="SHEET",
    type=FOLDER,
    help="the requirements, such as docs/sheets/buyer.toml; docs/accept.md says what is in it",
)
@add_out("write the files there, as a PDF and a Word document, too  [default: print the Markdown]")
def accept(run: Path, require: Path | None, out: Path | None) -> int:
    """Judge the campaign folder or bundle RUN by a sheet of requirements, line by line."""
    if require is None:
        raise UsageError(
            "REQUIRE is missing: name a sheet of requirements",
            "such as REQUIRE=docs/sheets/buyer.toml",
        )
    sheet = read_sheet(require)
    with unpacked(run) as folder, _open_others(sheet) as others:
        acceptance = accept_folder(
            folder,
            sheet,
            others,
            catalogue=[cell.id for cell in scenarios.cells() if cell.role != "sustained"],
            choose=choose_cells,
        )
    files = build_acceptance(acceptance)
    if out is not None:
        try:
            files |= print_page("accept", str(files["accept.html"]))
        except UsageError as error:
            click.echo(f"left out: {error.what}; {error.remedy} installs it", err=True)
    give_files(files, out)
    if acceptance.answer == "undecided":
        numbers = [str(line.number) for line in acceptance.pick("undecided")]
        raise UndecidedError(
            f"{sheet.name}: no line fails; {len(numbers)} of {len(acceptance.lines)} are undecided: "
            f"{', '.join(numbers)}",
            "the page says what would decide it",
        )
    return 0 if acceptance.answer == "pass" else 1


@contextmanager
def _open_others(sheet: Sheet) -> Iterator[Mapping[str, Path]]:
    """The folders of the campaigns that a sheet names, by its names for them."""
    with ExitStack() as stack:
        folders = {}
        for wanted in sheet.requirements:
            if wanted.base and wanted.base not in folders:
                try:
                    folders[wanted.base] = stack.enter_context(
                        unpacked(find_run("base", wanted.base))
                    )
                except CrossoverError as error:
                    line = wanted.find_line("base")
                    raise SheetError(sheet.name, line, error.what, error.remedy) from error
        yield folders
