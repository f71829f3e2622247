"""The commands compare, shortlist and gate: what several campaigns say together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

import click

from suite.analysis.analyse import compare_folders, gate_folders, shortlist_folders
from suite.cli.options import FOLDER, add_out
from suite.cli.out import give_files
from suite.cli.processes import in_processes
from suite.cli.runs import runs_argument
from suite.report.produce import build_comparison, build_gate, build_shortlist

OUT = add_out("write the files there  [default: print the Markdown]")


@click.command()
@runs_argument()
@click.option(
    "--pairs",
    metavar="PAIRS",
    help="which to compare, such as '2:cuda/1:cpu'  [default: each arm with the first campaign's]",
)
@OUT
def compare(runs: Sequence[Path], pairs: str | None, out: Path | None) -> int:
    """Compare the campaign folders RUNS in one report, with the first as the baseline."""
    give_files(build_comparison(*compare_folders(runs, (pairs or "").split())), out)
    return 0


@click.command()
@runs_argument()
@click.option(
    "--workload",
    metavar="CELL",
    help="a cell's id, or as much of it as says which  [default: a small, a middle and a large one]",
)
@click.option(
    "--prices",
    metavar="FILE",
    type=FOLDER,
    help="prices by machine type, as in docs/prices.toml  [default: each campaign's PRICE]",
)
@OUT
def shortlist(
    runs: Sequence[Path], workload: str | None, prices: Path | None, out: Path | None
) -> int:
    """The machines of the campaign folders RUNS, by what work costs on them."""
    today = date.today()  # noqa: DTZ011  a price's day is the reader's
    found = shortlist_folders(runs, prices, asked=today, workload=workload, each=in_processes)
    give_files(build_shortlist(*found), out)
    return 0


@click.command(
    epilog="""\b
Exit status: 0 no cell of work is shown to be slower; 1 one is, or more; 2 usage;
5 a document can't be read."""
)
@runs_argument(least=2, most=2)
@click.option(
    "--slower",
    type=click.FloatRange(min=0, max=1000),
    default=5.0,
    show_default=True,
    help="per cent by which a cell may be slower",
)
@OUT
def gate(runs: tuple[Path, Path], slower: float, out: Path | None) -> int:
    """Is the second of the campaign folders RUNS slower than the first?  The exit status says so."""
    found = gate_folders(*runs, slower / 100)
    give_files(build_gate(found), out)
    return 1 if found.pick("slower") else 0


COMMANDS = (compare, shortlist, gate)
"""What the command line has of them."""
