"""The commands check, bundle and defend: what somebody else needs to believe a report."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from suite.analysis.receipt import find_receipt
from suite.cli.options import FOLDER, add_out
from suite.cli.output import give_files, open_out
from suite.cli.receipts.archive import unpacked
from suite.cli.receipts.bundle import make_bundle
from suite.cli.receipts.check import check_folder
from suite.cli.run_campaign import shown
from suite.cli.runs import run_argument
from suite.errors import UsageError
from suite.manifest import hash_content
from suite.report.produce import build_receipt
from suite.report.render.plain import show_plainly
from suite.report.text.names import choose_cells
from suite.safe_folder import Folder
from suite.worker.scenarios import cells

_MOST_SHOWN = 20
"""Troubles of one check that are told; the rest is counted."""

CHECKED = """\b
Exit status: 0 nothing speaks against it (? is what can't be checked here); 1
something does not follow: the file and the field are named; 2 usage, as where it
is not a folder of ours; 5 something in it can't be read."""


@click.command(epilog=CHECKED)
@run_argument(bundles=True)
@click.option(
    "--key",
    "signers",
    metavar="FILE",
    type=FOLDER,
    help="who may have signed it, as ssh-keygen's ALLOWED SIGNERS  [default: not asked]",
)
def check(run: Path, signers: Path | None) -> int:
    """Does everything in the folder, or the bundle, RUN follow from its documents?"""
    sound = True
    with unpacked(run) as folder:
        for result in check_folder(folder, signers):
            sound = sound and not result.troubles
            mark, text = ("?" if result.unsure else "✓", result.text)
            if result.troubles:
                mark, text = "✗", "does not follow:"
            click.echo(f"{mark} {result.name:13} {text}")
            for trouble in result.troubles[:_MOST_SHOWN]:
                click.echo(f"    {show_plainly(trouble, limit=500)}")
            if len(result.troubles) > _MOST_SHOWN:
                click.echo(f"    and {len(result.troubles) - _MOST_SHOWN} more")
    return 0 if sound else 1


@click.command()
@run_argument()
@click.option("--identify", is_flag=True, help="keep what names machines, persons and places")
@click.option("--key", metavar="KEY", type=FOLDER, help="sign it with this SSH key")
@add_out("write it there  [default: beside RUN]")
def bundle(run: Path, key: Path | None, out: Path | None, *, identify: bool) -> int:
    """Pack the campaign folder RUN into one zip file, without identifying data."""
    name, content = make_bundle(run, identify=identify, key=key)
    place = open_out(out or run.parent)
    with Folder.open(place) as folder:
        folder.write(name, content)
    click.echo(f"{hash_content(content)}  {shown(place / name)}")
    return 0


@click.command()
@run_argument(bundles=True)
@click.argument("cell", required=False, default="", metavar="CELL")
@add_out("write the page there, with its picture  [default: print the Markdown]")
def defend(run: Path, cell: str, out: Path | None) -> int:
    """The evidence behind one CELL's numbers in the folder or bundle RUN.

    CELL is a cell's id, its name in a table of the report, or the receipt in its row; of a folder of
    `make why` the name of a try.
    """
    with unpacked(run) as folder:
        result, receipts, ids = find_receipt(folder, partial(choose_cells, cell))
    if not receipts and choose_cells(cell, [c.id for c in cells() if c.role == "sustained"]):
        raise UsageError(
            f"CELL={cell} is kept going, once an arm, and has no receipt",
            "its numbers are in the report under What is left when hot, its samples in each arm's "
            "preliminary run (cpu-00.json)",
        )
    if len(receipts) != 1:
        # Two ids with one short name: the whole id says which is meant.
        near = [receipt.cell for receipt in receipts] or [
            other for other in ids if cell.lower().strip() in other
        ]
        shown_ids = ", ".join(map(show_plainly, near[:_MOST_SHOWN]))
        raise UsageError(
            f"CELL={cell}: no cell of this campaign, or more than one"
            if cell.strip()
            else "CELL is missing: name a cell of that campaign",
            f"take a cell's id, or a receipt from its report; there are {shown_ids or 'none like it'}",
        )
    files = build_receipt(result, receipts[0], pictures=out is not None)
    give_files(files, out)
    return 0
