"""What makes two copies of the suite the same: a hash over the files that the container runs.

Standard library only: computed on the host for the build cache, and inside for the record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

SUITE = Path(__file__).resolve().parent

SUFFIXES = {".py", ".json"}
"""Of source, and of the tables beside it."""


def worker_files(suite: Path = SUITE) -> list[Path]:
    """The files that go into the image, sorted: the words, and the worker's room."""
    shared = [
        suite / f"{name}.py"
        for name in ("__init__", "clock", "codec", "errors", "fingerprint", "input_limits")
    ]
    rooms = (
        path
        for room in ("cells", "model", "procfs", "worker")
        for path in (suite / room).rglob("*")
        if path.suffix in SUFFIXES
    )
    return sorted([*shared, suite / "procfs" / "arm_cores.txt", *rooms])


def hash_lines(lines: Iterable[str]) -> str:
    """SHA-256 over lines of text, each ended by a newline; hexadecimal."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


def suite_content(suite: Path = SUITE) -> str:
    """The content hash of the suite's measured part: over (path, SHA-256 of the file)."""
    return hash_lines(
        f"{path.relative_to(suite).as_posix()} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in worker_files(suite)
    )
