"""Stands in for an interpreter that LOCAL_PYTHON names: says that it has TensorFlow, and its worker goes by a
script.

    python scripted_python.py HOW COMMAND…

HOW is ``well``, or what becomes of every cell (``failed``), or why the worker can't work (``unfit``).
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

UNFIT = "its TensorFlow is older than 2.15"


def script(path: Path, text: str) -> Path:
    """A shell's program at that path."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def write(path: Path, how: str = "well") -> Path:
    """The interpreter at that path."""
    asked, answer = (path.with_name(f"{path.name}.{name}") for name in ("worker", "answer"))
    with answer.open("w") as file, contextlib.redirect_stdout(file):
        status = work(how, ["describe"])
    # Most are only asked to describe themselves, for which no interpreter has to start.
    script(
        asked,
        f'[ "$1" = describe ] && cat {answer} && exit {status}\n'
        f'PYTHONPATH={ROOT} exec {sys.executable} {__file__} {how} "$@"',
    )
    return stand_in(path, str(asked))


def stand_in(path: Path, worker: str) -> Path:
    """An interpreter at that path whose worker is another program: the words of its command."""
    return script(
        path,
        'case "$2" in\n'
        "  *python_implementation*) echo CPython 3.12.1 ;;\n"
        "  *find_spec*) exit 0 ;;\n"
        f'  *) shift 2; {worker} "$@" ;;\n'
        "esac",
    )


def work(how: str, words: list[str]) -> int:
    """Says what the worker would say; its exit status."""
    from tests.fakes.engine import Worker, record

    if how == "unfit":
        sys.stdout.write(f"{record('unfit', reason=UNFIT)}\n")
        return 3
    worker = Worker()
    if how == "failed":
        failure = {"outcome": "failed", "reason": "it was planted"}
        worker.outcomes = dict.fromkeys(worker.cells, failure)
    job: Any = SimpleNamespace(arguments=tuple(words))
    measures = words[0] == "measure"
    lines = worker.words(job) if measures else [*worker.greeting(), record("bye")]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(work(sys.argv[1], sys.argv[2:]))
