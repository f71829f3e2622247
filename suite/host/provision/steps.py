"""Runs a slow command of another program, line by line, with its last words in the error."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from suite.errors import EngineError
from suite.host.engine import Say

_LAST_LINES = 10


def run_step(command: Sequence[str | Path], what: str, progress: Say, remedy: str) -> None:
    """Runs a command to its end and hands every line that it prints to ``progress``.

    ``what`` is what it makes, for the lines and the error.

    Raises:
        EngineError: it can't be started, or failed; holds its last lines.
    """
    last: list[str] = []
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
                    last = [*last[1 - _LAST_LINES :], text]
                    progress(f"{what}: {text}")
            code = process.wait()
    except OSError as error:
        raise EngineError(f"{what} could not be made: {error}", remedy) from error
    if code:
        said = "\n".join(last)
        raise EngineError(f"{what} could not be made (exit code {code}):\n{said}", remedy)
