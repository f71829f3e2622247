"""The command compare: what several campaigns say together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click

from suite.analysis.analyse import compare_folders
from suite.cli.options import FOLDER, add_out
from suite.cli.output import give_files
from suite.cli.processes import in_processes
from suite.cli.runs import runs_argument
from suite.report.produce import build_comparison

OUT = add_out("write the files there  [default: print the Markdown]")


@click.command(
    epilog="""\b
Exit status: 0, and with --slower: no cell of work is shown to be slower by over that;
1 with --slower: one is, or one that the first campaign has is missing, or a control
failed, or two campaigns share values, or no cell could be judged; of machines: none
is left; 2 usage; 5 a document can't be read."""
)
@runs_argument
@click.option(
    "--rows",
    type=click.Choice(["cell", "machine", "type"]),
    help="of what the tables are  [default: cells of campaigns of one machine, else machines]",
)
@click.option(
    "--pairs",
    metavar="PAIRS",
    help="which to compare, such as '2:cuda/1:cpu'  [default: each arm with the first campaign's]",
)
@click.option(
    "--slower",
    type=click.FloatRange(min=0, max=1000),
    help="fail where a cell of work is slower than in the first campaign by over so many per cent",
)
@click.option(
    "--cell",
    "workload",
    metavar="CELL",
    help="machines as rows: a cell's id, or as much of it as says which  [default: a small, a middle and a "
    "large one]",
)
@click.option(
    "--prices",
    metavar="FILE",
    type=FOLDER,
    help="prices by machine type, as in docs/prices.toml  [default: each campaign's PRICE]",
)
@OUT
def compare(
    run: Sequence[Path], pairs: str | None, slower: float | None, out: Path | None, **how: Any
) -> int:
    """Compare the campaign folders RUN in one report, with the first as the baseline."""
    versus, analyses = compare_folders(
        run,
        pairs=(pairs or "").split(),
        bound=None if slower is None else slower / 100,
        asked=date.today(),  # noqa: DTZ011  a price's day is the reader's
        each=in_processes,
        **how,
    )
    give_files(build_comparison(versus, analyses, pictures=out is not None), out)
    return 0 if versus.holds else 1
