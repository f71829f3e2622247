"""Runs a slow command of another program: its progress in our own words, its own where it fails."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from suite.errors import EngineError
from suite.host.engine import Say

_LARGE_MB = 50
"""Packages from this size on are named while they are fetched: others take no time to speak of."""

_FETCHED = re.compile(r"Downloading (?:\S*/)?(\w[\w.]*)-(\d[\w.!+]*)-\S+\.whl \(([\d.]+) ([MG])B\)")


def describe_pip(line: str) -> str | None:
    """A line of pip's in our own words; None: nobody need know."""
    if line.startswith("Installing collected packages:"):
        return f"installing {line.count(',') + 1} packages"
    found = _FETCHED.match(line)
    if found is None:
        return None
    size_mb = float(found[3]) * (1000 if found[4] == "G" else 1)
    return f"fetching {found[1]} {found[2]} ({size_mb:.0f} MB)" if size_mb >= _LARGE_MB else None


def run_step(
    command: Sequence[str | Path],
    what: str,
    progress: Say,
    remedy: str,
    *,
    word: Callable[[str], str | None] = str,
) -> None:
    """Runs a command to its end and says by ``word`` what its lines mean to people.

    ``what`` is what it makes, for the lines and the error.

    Raises:
        EngineError: it can't be started, or failed; holds all that it printed.
    """
    said: list[str] = []
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                if text := line.strip():
                    said.append(text)
                    if words := word(text):
                        progress(f"{what}: {words}")
            code = process.wait()
    except OSError as error:
        raise EngineError(f"{what} could not be made: {error}", remedy) from error
    if code:
        whole = "\n".join(said)
        raise EngineError(f"{what} could not be made (exit code {code}):\n{whole}", remedy)
