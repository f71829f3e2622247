"""The command fleet: what came home of each machine, and why not all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click
from tabulate import tabulate

from suite.cli.fleet.asked import read_words
from suite.cli.fleet.home import Row, look_home
from suite.cli.fleet.reasons import Reason
from suite.cli.options import FOLDER
from suite.cli.processes import in_processes
from suite.cli.receipts.check import check_folder
from suite.cli.run_campaign import ROOT
from suite.cli.terminal import complain
from suite.errors import DocumentError, UsageError
from suite.model import PLAN
from suite.report.render.plain import show_plainly


@click.command(
    epilog="""\b
Exit status: 0 every machine's campaign is whole, or the machine is unsound; 1 something is
missing; 2 usage, or a whole campaign is another than the one asked for."""
)
@click.argument("results", type=FOLDER, required=False)
@click.option(
    "--machine", "machines", multiple=True, metavar="NAME", help="this machine's row alone"
)
@click.option(
    "--asked", default="", metavar="WORDS", help="what is wanted, as make takes it: PROFILE=verdict"
)
@click.option(
    "--check", "checks", is_flag=True, help="check whole folders, as the command check does"
)
def fleet(results: Path | None, machines: Sequence[str], asked: str, *, checks: bool) -> int:
    """What came home of each machine of a fleet, with which arms, and why not all.

    RESULTS is the folder that has a folder for each machine  [default: results/fleet].
    """
    place = results or ROOT / "results" / "fleet"
    names = sorted(machines) or _list_machines(place)
    folders = [place / name for name in names]
    try:
        options = read_words(asked)
    except ValueError as error:
        raise UsageError(f"ASKED={asked!r}: {error}", "quote it as for a shell") from error
    rows = [look_home(folder, options) for folder in folders]
    if checks:
        whole = [folder for folder, row in zip(folders, rows, strict=True) if row.status == 0]
        troubles = dict(zip(whole, in_processes(find_trouble, whole), strict=True))
        rows = [_mind(row, troubles.get(folder)) for folder, row in zip(folders, rows, strict=True)]
    click.echo(draw_table(rows))
    for row in rows:
        if row.status == 2 and row.reason and options:
            complain(row.reason.what, row.reason.remedy)
    return 2 if any(row.status == 2 for row in rows) else max(row.status for row in rows)


def _list_machines(place: Path) -> list[str]:
    names = sorted(path.name for path in place.glob("*/") if path.name[0] != ".")
    if not names:
        raise UsageError(
            f"{place} has no folder of a machine",
            "RESULTS names the folder that has one for each machine, such as results/fleet (docs/fleet.md)",
        )
    return names


def find_trouble(folder: Path) -> str | None:
    """What in a machine's campaigns does not follow from their documents, the first of it; None: all does."""
    for place in sorted(folder.glob("*/")):
        if (place / PLAN).exists():
            try:
                troubles = [trouble for check in check_folder(place) for trouble in check.troubles]
            except DocumentError as error:
                troubles = [error.what]
            if troubles:
                return f"{place.name}: {troubles[0]}"
    return None


def _mind(row: Row, trouble: str | None) -> Row:
    if trouble is None:
        return row
    reason = Reason(what=trouble, remedy="fetch it again; `make check RUN=…` lists all of it")
    return replace(row, came=f"{row.came}, but it failed its check", reason=reason, status=1)


def draw_table(rows: Sequence[Row]) -> str:
    """The table, with reasons in full, and below it what to do about each kind of them."""
    shown = partial(show_plainly, limit=1000)
    table = tabulate(
        [
            (
                shown(row.machine),
                row.came,
                row.arms or "–",
                shown(row.reason.what) if row.reason else "",
            )
            for row in rows
        ],
        headers=("machine", "came home", "arms", "why not all"),
        tablefmt="plain",
        disable_numparse=True,
    )
    lines = [line.rstrip() for line in table.splitlines()]
    remedies: dict[str, list[str]] = {}
    for row in rows:
        if row.reason and row.reason.remedy:
            remedies.setdefault(row.reason.remedy, []).append(row.machine)
    done = sum(row.status == 0 for row in rows)
    if done < len(rows):
        lines.append(f"{done} of {len(rows)} machines are done")
    lines += [shown(f"{', '.join(names)}: {remedy}") for remedy, names in remedies.items()]
    return "\n".join(lines)
