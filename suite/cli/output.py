"""What a command makes, printed or written into the folder that OUT names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from suite.cli.run_campaign import shown
from suite.errors import UsageError
from suite.safe_folder import Folder


def open_out(out: Path) -> Path:
    """The folder that something is written to, made where it is not there.

    Raises:
        UsageError: it can't be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"can't make {out}: {error.strerror}", "name another OUT=") from error
    return out


def write_files(files: Mapping[str, str | bytes], place: Path) -> None:
    """Writes them there, and tells where each one is."""
    with Folder.open(open_out(place)) as folder:
        for name, content in files.items():
            folder.write(name, content)
            click.echo(shown(place / name))


def give_files(files: Mapping[str, str | bytes], out: Path | None) -> None:
    """Prints the first of them, or writes all."""
    if out is None:
        click.echo(next(iter(files.values())), nl=False)
    else:
        write_files(files, out)
