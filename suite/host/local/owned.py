"""Folders that belong to a live process: signed by it, and swept once it is dead."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from suite.host.machine.machine import is_alive, own_token
from suite.kernel import read_text

_OWNER = "owner"


def sign(folder: Path) -> None:
    """Writes into a folder whose it is: this process's."""
    (folder / _OWNER).write_text(own_token(), encoding="utf-8")


def sweep(folders: Iterable[Path]) -> int:
    """Removes those whose process is dead; how many there were."""
    count = 0
    for folder in folders:
        # Nothing is read of another user's, or of one that is just being made.
        if is_alive(read_text(folder / _OWNER)) is False:
            shutil.rmtree(folder, ignore_errors=True)
            count += 1
    return count
