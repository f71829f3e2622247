"""The volumes of plain processes: folders on this machine's disk that a campaign removes again, and
those that last, which lie with the environments.

Knows no docker.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from suite.errors import EngineError
from suite.host.engine import Job, Volume
from suite.host.local import owned
from suite.host.provision.volumes import UNKNOWN_DRIVER

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
            place = self._home if volume.lasting else owned.PLACE
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
            place = owned.PLACE if os.access(owned.PLACE, os.W_OK | os.X_OK) else None
            folder = owned.make_folder("volume", place)
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
