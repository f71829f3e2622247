"""Programs run to their end, and `python -m suite …` as a process of its own, for tests of many commands.

Each of these is forked off one process that has loaded the suite: loading it takes longer than most commands.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from suite.fingerprint import SUITE
from suite.host.machine.lock import PLACE

LIMIT_S = 120.0
"""A command that has not ended by then hangs."""


def run(
    *words: str,
    folder: Path = SUITE.parent,
    env: Mapping[str, str] | None = None,
    limit_s: float | None = None,
) -> CompletedProcess[str]:
    """A program's end, whatever it is; ``env`` is added to this process's own."""
    return subprocess.run(
        words,
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=limit_s,
        check=False,
    )


def run_python(*words: str, **how: Any) -> CompletedProcess[str]:
    """The same of this interpreter."""
    return run(sys.executable, *words, **how)


class Command:
    """A command under way."""

    def __init__(self, words: Sequence[str], variables: Mapping[str, str], folder: Path) -> None:
        """Starts it with this environment and nothing else; ``folder`` keeps what it says."""
        folder.mkdir(parents=True, exist_ok=True)
        self._words = list(words)
        self._folder = folder
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["suite.cli.entry"])
        self._process = context.Process(target=_run, args=(self._words, dict(variables), folder))
        self._process.start()

    def wait(self) -> CompletedProcess[str]:
        """Its end, as `subprocess.run` tells it."""
        self._process.join(LIMIT_S)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
        out, err = (self._folder.joinpath(name).read_text() for name in ("out", "err"))
        status = self._process.exitcode
        self._process.close()
        return CompletedProcess(self._words, -1 if status is None else status, out, err)


def _run(words: list[str], variables: dict[str, str], folder: Path) -> None:
    """The process itself; never returns."""
    os.environ.clear()
    os.environ.update({PLACE: str(folder), **variables})
    os.chdir(folder)
    for stream, name in ((sys.stdout, "out"), (sys.stderr, "err")):
        with (folder / name).open("w") as file:
            os.dup2(file.fileno(), stream.fileno())
    from suite.cli.entry import main

    sys.exit(main(words))
