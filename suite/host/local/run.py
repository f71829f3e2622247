"""One worker as a plain process of this machine, and the folders of such processes: those that belong to a
live one, signed by it and swept once it is dead, and the volumes of a campaign among them; and those that
last, which lie with the environments.

Starts processes; knows no docker.
"""

from __future__ import annotations

import errno
import io
import os
import select
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from suite.errors import EngineError
from suite.host.engine import Ending, Job, Volume
from suite.host.machine.deadlines import GRACE_S, KILLED_S, LEAVE_S, READER_S, UNREAD_GRACE_S
from suite.host.machine.machine import is_alive, own_token
from suite.host.machine.output import (
    DIARY_BYTES,
    MORE_PROCESSES,
    LineQueue,
    describe_ending,
    start_thread,
)
from suite.host.provision.resources import UNKNOWN_DRIVER
from suite.procfs import read_text

PLACE = Path("/var/tmp")  # noqa: S108  a folder of our own is made in it, with mkdtemp
"""Where files that are too large for memory belong (hier(7)); /tmp often is memory."""

_OWNER = "owner"

_LOOK_S = 0.5
"""Between two looks whether a worker has ended that writes nothing."""


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
        return {volume.variable: str(self._make(volume)) for volume in job.volumes}

    def fill(self, volume: Volume, archive: bytes) -> None:
        """Unpacks a tar archive in a volume's folder.

        Raises:
            EngineError: it can't be made, or there is no room.
        """
        folder = self._make(volume)
        with _making(volume, PLACE), tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            # It is ours, and what Pythons distrust on their own differs: links out of it, for one.
            tar.extraction_filter = lambda member, _: member
            tar.extractall(folder)  # noqa: S202

    def _make(self, volume: Volume) -> Path:
        with _making(volume, self._home if volume.lasting else PLACE):
            return self._make_folder(volume)

    def _make_folder(self, volume: Volume) -> Path:
        if volume.folder is not None:
            return volume.folder
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


@contextmanager
def _making(volume: Volume, place: Path) -> Iterator[None]:
    """Around what makes a volume's folder, and what is in it.

    Raises:
        EngineError: it can't be made.
    """
    try:
        yield
    except OSError as error:
        raise EngineError(
            f"no folder for the volume {volume.purpose} could be made: {error.strerror}",
            f"there must be room in {place}, and a right to write there: `df -h {place}`",
        ) from error


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


class LocalRun:
    """A worker under way (see ``engine.Running``)."""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Starts it in a session of its own, so that whatever it starts can be killed with it.

        Raises:
            EngineError: it can't be started.
        """
        # A name made up for it: process ids come again.
        self.id = f"process-{uuid.uuid4().hex[:16]}"
        self._ending: Ending | None = None
        self._ended = threading.Event()
        self._folder = make_folder("run")
        work = self._folder / "tmp"
        work.mkdir()
        places = {"TMPDIR": str(work), "KERAS_HOME": str(work)}
        try:
            with (self._folder / "stderr").open("wb") as diary:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=diary,
                    cwd=work,
                    env={"HOME": str(work), **environment, **places},
                    start_new_session=True,
                )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            exhausted = error.errno == errno.EAGAIN
            raise EngineError(
                f"the worker could not be started: {error}",
                MORE_PROCESSES
                if exhausted
                else "`taskset` (package util-linux) and the interpreter must be there",
            ) from error
        self.process_id = self._process.pid
        try:
            start_thread("worker end", self._await_end)
            self._lines = LineQueue(self._chunks())
        except EngineError:
            self.stop()
            self._process.communicate()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def _await_end(self) -> None:
        """Waits for its end, without reaping it, so that its number can't yet be another's; what it started,
        which may hold its output open, goes with it."""
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, self.process_id, os.WEXITED | os.WNOWAIT)
            self.stop()
        self._ended.set()

    def _chunks(self) -> Iterator[bytes]:
        assert self._process.stdout is not None  # noqa: S101 - asked for when it was started
        with self._process.stdout as output:
            # What left its session may hold its output open when it has ended itself.
            while True:
                ended = self._ended.is_set()
                if select.select([output], [], [], 0 if ended else _LOOK_S)[0]:
                    if not (chunk := os.read(output.fileno(), 65536)):
                        return
                    yield chunk
                elif ended:
                    return

    def next_line(self, timeout_s: float) -> str | None:
        """See ``engine.Running``."""
        return self._lines.next_line(timeout_s)

    def stop(self) -> None:
        """See ``engine.Running``; kills all that it started, too."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):  # all have ended
                os.killpg(self._process.pid, signal.SIGKILL)

    def abandon(self) -> Ending:
        """See ``engine.Running``."""
        self.stop()
        return self._end(LEAVE_S / 2)

    def close(self) -> Ending:
        """See ``engine.Running``."""
        return self._end(KILLED_S)

    def _end(self, killed_s: float) -> Ending:
        if self._ending is None:
            if not self._ended.wait(GRACE_S if self._lines.ended else UNREAD_GRACE_S):
                self.stop()
            status = None
            left = f"the process {self.process_id} can't be killed, and ends with what it waits for"
            if self._ended.wait(killed_s):
                status, left = self._process.wait(), ""
            ended = time.monotonic()
            self._lines.join(0.0 if left else READER_S)
            # As shells and engines count: 128 and the signal's number.
            code = 128 - status if status is not None and status < 0 else status
            # The kernel tells a plain process's parent of a SIGKILL, not of its reason.
            phrase = describe_ending(code, out_of_memory=False, memory_bytes=None)
            self._ending = Ending(
                code=code, diary=self._diary(), phrase=phrase, ended=ended, left=left
            )
            shutil.rmtree(self._folder, ignore_errors=True)
        return self._ending

    def _diary(self) -> str:
        with (self._folder / "stderr").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - DIARY_BYTES))
            return file.read().decode(errors="replace")
