"""What RUN and RECHECK can be: a campaign's folder or its bundle; what else was named, said in words."""

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

    def __init__(self, *, bundles: bool, named: str = "RUN") -> None:
        super().__init__(path_type=Path, resolve_path=True)
        self.named, self.bundles = named, bundles

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> Any:
        text, within, advice = str(value), RESULTS, ""
        if not text.strip():
            raise UsageError(
                f"{self.named} is missing: name a campaign's folder", self._name_some(RESULTS)
            )
        path: Path = super().convert(value, param, context)  # type: ignore[assignment]
        if not os.path.lexists(path):
            several = [part for part in text.split() if os.path.lexists(part)]
            if len(several) > 1:
                raise UsageError(
                    f"{self.named}={text} names {len(several)} folders, but takes one",
                    "name one of them; `make compare` takes several",
                )
            raise UsageError(f"{self.named}={text}: no such folder", self._name_some(RESULTS))
        if path.is_dir():
            # What can't be looked into, reading it says why.
            if not os.access(path, os.R_OK | os.X_OK) or os.path.lexists(path / PLAN):
                return path
            what = f"is not a campaign's folder: it has no {PLAN}"
            within = path if list_campaigns(path) else RESULTS
        elif path.suffix == ".zip" or zipfile.is_zipfile(path):
            # Of one that is cut short, whoever opens it says so.
            if self.bundles:
                return path
            raise UsageError(
                f"{self.named}={shown(path)} is a bundle, and the folder itself is wanted",
                f"unpack it: unzip {shown(path)}, and name the folder that comes out",
            )
        else:
            what = "is a file, and a campaign's folder is wanted"
            if os.path.lexists(path.parent / PLAN):
                advice = f"name the folder that it is in: {self.named}={shown(path.parent)}"
        raise UsageError(f"{self.named}={shown(path)} {what}", advice or self._name_some(within))

    def _name_some(self, folder: Path) -> str:
        runs = list_campaigns(folder)
        if not runs:
            return (
                f"there is no campaign in {shown(folder)}; `make bench` measures one, and "
                f"{self.named}=path names one that is elsewhere"
            )
        first, *others = [f"{self.named}={shown(run)}" for run in runs[:_LISTED]]
        more = f" ({len(runs)} in {shown(folder)})" if len(runs) > _LISTED else ""
        return f"the latest is {first}" + "".join(f", then {other}" for other in others) + more


def list_campaigns(folder: Path) -> list[Path]:
    """The campaigns' folders in a folder, or else in those within it, the latest first, by the times in their
    names; none where it can't be looked into."""
    plans = [*folder.glob(f"*/{PLAN}")] or [*folder.glob(f"*/*/{PLAN}")]
    return sorted((path.parent for path in plans), key=lambda run: run.name, reverse=True)


Command = Callable[..., Any]


def find_run(named: str, text: str) -> Path:
    """The campaign's folder or bundle that a variable names.

    Raises:
        UsageError: it names neither.
    """
    path: Path = _Run(named=named, bundles=True).convert(text, None, None)
    return path


def run_argument(*, bundles: bool = False) -> Callable[[Command], Command]:
    """What adds RUN to a command: one campaign's folder, or with ``bundles`` a bundle as well.

    Not required, so that a missing one is told in the same words wherever it is missing.
    """
    kind = _Run(bundles=bundles)
    return click.argument("run", type=kind, required=False, default="", metavar="RUN")


def runs_argument(command: Command) -> Command:
    """Adds RUN to a command that takes several: campaigns' folders, one at least."""
    kind = _Run(bundles=False)

    def demand(_: click.Context, __: click.Parameter, runs: Sequence[Path]) -> Sequence[Path]:
        return runs or kind.convert("", None, None)

    add = click.argument("run", nargs=-1, type=kind, metavar="RUN…", callback=demand)
    return add(command)
