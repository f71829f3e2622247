"""Folders that belong to a live process: signed by it, and swept once it is dead."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Literal

from suite.host.machine.machine import is_alive, own_token
from suite.kernel import read_text

PLACE = Path("/var/tmp")  # noqa: S108  a folder of our own is made in it, with mkdtemp
"""Where files that are too large for memory belong (hier(7)); /tmp often is memory."""

_OWNER = "owner"


def make_folder(kind: Literal["run", "volume"], place: Path | None = None) -> Path:
    """A folder of this process's, in the usual place for those that go soon.

    Raises:
        OSError: it can't be made.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"crossover-{kind}-", dir=place))
    (folder / _OWNER).write_text(own_token(), encoding="utf-8")
    return folder


def sweep() -> int:
    """Removes those whose process is dead; how many there were."""
    count = 0
    for place in {PLACE, Path(tempfile.gettempdir())}:
        for folder in (*place.glob("crossover-run-*"), *place.glob("crossover-volume-*")):
            # Nothing is read of another user's, or of one that is just being made.
            if is_alive(read_text(folder / _OWNER)) is False:
                shutil.rmtree(folder, ignore_errors=True)
                count += 1
    return count
