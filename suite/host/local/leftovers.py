"""The folders of plain processes: those that belong to a live process, signed by it and swept once it is
dead, and the volumes of a campaign among them; and those that last, which lie with the environments.

Knows no docker.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Literal

from suite.errors import EngineError
from suite.host.engine import Job, Volume
from suite.host.machine.machine import is_alive, own_token
from suite.host.provision.resources import UNKNOWN_DRIVER
from suite.procfs import read_text

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


_DATA = "data"
_CACHES = "crossover-*-compile-cache-*"


class LocalVolumes:
    """The folders of one process, by the name of the volume that each stands in for.

    Lasting ones are made in ``home``, by their own name, so that the next process finds them.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folders: dict[str, Path] = {}

    def variables(self, job: Job) -> dict[str, str]:
        """The environment variables by which the worker finds the job's volumes, which are made where
        they are not there yet.

        Raises:
            EngineError: a folder can't be made.
        """
        found = {}
        for volume in job.volumes:
            place = self._home if volume.lasting else PLACE
            try:
                found[volume.variable] = str(self._make(volume))
            except OSError as error:
                raise EngineError(
                    f"no folder for the volume {volume.purpose} could be made: {error.strerror}",
                    f"there must be room in {place}, and a right to write there: `df -h {place}`",
                ) from error
        return found

    def _make(self, volume: Volume) -> Path:
        if volume.lasting:
            folder = self._home / volume.name
            folder.mkdir(parents=True, exist_ok=True)
            return folder.absolute()
        if volume.name not in self._folders:
            place = PLACE if os.access(PLACE, os.W_OK | os.X_OK) else None
            folder = make_folder("volume", place)
            (folder / _DATA).mkdir()
            self._folders[volume.name] = folder
        return self._folders[volume.name] / _DATA

    def remove(self, volume: Volume) -> None:
        """Removes a volume that goes with its campaign, and all that is in it; harmless where there is
        none."""
        folder = self._folders.pop(volume.name, None)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def list_caches(home: Path) -> tuple[str, ...]:
    """The names of the compile caches in ``home``."""
    return tuple(sorted(folder.name for folder in home.glob(_CACHES)))


def sweep_lasting(home: Path, kernel_driver: str | None) -> int:
    """Removes the compile caches in ``home`` that are of another driver than this machine's (None:
    unknown, and all stay); how many there were.  The others go with the environments."""
    if kernel_driver is None:
        return 0
    kept = {kernel_driver, UNKNOWN_DRIVER}
    stale = [f for f in home.glob(_CACHES) if f.name.rpartition("-")[2] not in kept]
    for folder in stale:
        shutil.rmtree(folder, ignore_errors=True)
    return len(stale)
