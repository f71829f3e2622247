"""What RUN, RUNS and CELL can be: a campaign's folder or its bundle; what else was named, said in words."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from suite.cli.run_campaign import ROOT, shown
from suite.errors import UsageError
from suite.model import PLAN

RESULTS = ROOT / "results"

_LISTED = 3
"""So many campaigns are named to somebody who named none."""


class _Run(click.Path):
    """A campaign's folder as a person names it: links on the way to it are theirs, and those in it nobody
    follows.

    ``bundles``: a bundle will do.  ``named`` is the variable that makes it known.
    """

    def __init__(self, named: str, *, bundles: bool) -> None:
        super().__init__(path_type=Path, resolve_path=True)
        self.named, self.bundles = named, bundles

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> Any:
        text = str(value)
        if not text.strip():
            raise _miss(self.named)
        if not os.path.lexists(text):
            self._refuse_absent(text)
        path: Path = super().convert(value, param, context)  # type: ignore[assignment]
        if path.is_dir():
            _demand_campaign(path, self.named)
        elif path.is_file():
            self._demand_bundle(path)
        return path

    def _refuse_absent(self, text: str) -> None:
        several = [part for part in text.split() if os.path.lexists(part)]
        if len(several) > 1:
            many = " `make compare` takes several, as RUNS." if self.named == "RUN" else ""
            raise UsageError(
                f"{self.named}={text} names {len(several)} folders, but takes one",
                f"name them one after the other.{many}",
            )
        raise UsageError(f"{self.named}={text}: no such folder", _name_some(self.named, RESULTS))

    def _demand_bundle(self, path: Path) -> None:
        # Of one that is cut short, whoever opens it says so.
        packed = path.suffix == ".zip" or zipfile.is_zipfile(path)
        if packed and self.bundles:
            return
        if packed:
            raise UsageError(
                f"{self.named}={shown(path)} is a bundle, and the folder itself is wanted",
                f"unpack it: unzip {shown(path)}, and name the folder that comes out",
            )
        ours = path.name == PLAN or os.path.lexists(path.parent / PLAN)
        here = f"name the folder that it is in: {self.named}={shown(path.parent)}"
        raise UsageError(
            f"{self.named}={shown(path)} is a file, and a campaign's folder is wanted",
            here if ours else _name_some(self.named, RESULTS),
        )


def _demand_campaign(path: Path, named: str) -> None:
    # What can't be looked into, reading it says why.
    if not os.access(path, os.R_OK | os.X_OK):
        return
    if os.path.lexists(path / PLAN):
        return
    told = f"it has no {PLAN}" if any(path.iterdir()) else "it is empty"
    within = path if list_campaigns(path) else RESULTS
    raise UsageError(
        f"{named}={shown(path)} is not a campaign's folder: {told}", _name_some(named, within)
    )


def list_campaigns(folder: Path) -> list[Path]:
    """The campaigns' folders in a folder, or else in those within it, the latest first, by the times in their
    names."""
    inside = _list(folder)
    found = [one for one in inside if os.path.lexists(one / PLAN)]
    nested = (one for place in inside for one in _list(place) if os.path.lexists(one / PLAN))
    return sorted(found or nested, key=lambda one: one.name, reverse=True)


def _list(folder: Path) -> list[Path]:
    """What is in a folder; nothing where there is none, or it can't be looked into."""
    readable = folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
    return list(folder.iterdir()) if readable else []


def _miss(named: str) -> UsageError:
    several = named == "RUNS"
    what = "campaigns' folders" if several else "a campaign's folder"
    return UsageError(f"{named} is missing: name {what}", _name_some(named, RESULTS))


def _name_some(named: str, folder: Path) -> str:
    found = list_campaigns(folder)
    if not found:
        return (
            f"there is no campaign in {shown(folder)}; `make bench` measures one, and "
            f"{named}=path names one that is elsewhere"
        )
    first, *others = [f"{named}={shown(one)}" for one in found[:_LISTED]]
    more = f" ({len(found)} in {shown(folder)})" if len(found) > _LISTED else ""
    return f"the latest is {first}" + "".join(f", then {one}" for one in others) + more


Command = Callable[..., Any]


def find_run(named: str, text: str) -> Path:
    """The campaign's folder or bundle that a variable names.

    Raises:
        UsageError: it names neither.
    """
    path: Path = _Run(named, bundles=True).convert(text, None, None)
    return path


def run_argument(*, bundles: bool = False) -> Callable[[Command], Command]:
    """What adds RUN to a command: one campaign's folder, or with ``bundles`` a bundle as well.

    Not required, so that a missing one is told in the same words wherever it is missing.
    """
    kind = _Run("RUN", bundles=bundles)
    return click.argument("run", type=kind, required=False, default="", metavar="RUN")


def runs_argument(command: Command) -> Command:
    """Adds RUNS to a command: campaigns' folders, one at least."""

    def demand(_: click.Context, __: click.Parameter, runs: Sequence[Path]) -> Sequence[Path]:
        if not runs:
            raise _miss("RUNS")
        return runs

    kind = _Run("RUNS", bundles=False)
    add = click.argument(
        "runs", nargs=-1, type=kind, required=False, metavar="RUNS", callback=demand
    )
    return add(command)


def cell_argument(command: Command) -> Command:
    """Adds CELL to a command."""

    def demand(_: click.Context, __: click.Parameter, cell: str) -> str:
        if not cell.strip():
            raise UsageError(
                "CELL is missing: name a cell of that campaign",
                "by its receipt, which is the last column of the report's tables, or by its id",
            )
        return cell

    return click.argument("cell", required=False, default="", metavar="CELL", callback=demand)(
        command
    )
