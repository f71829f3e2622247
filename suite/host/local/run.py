"""One worker as a plain process of this machine, with a folder of its own that goes with it.

Starts processes; knows no docker.
"""

from __future__ import annotations

import errno
import os
import select
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO

from suite.errors import EngineError
from suite.host.engine import Ending
from suite.host.local.leftovers import make_folder
from suite.host.machine.deadlines import GRACE_S, KILLED_S, LEAVE_S, READER_S, UNREAD_GRACE_S
from suite.host.machine.output import DIARY_BYTES, MORE_PROCESSES, LineQueue, describe_ending


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
        self._folder = make_folder("run")
        work = self._folder / "tmp"
        work.mkdir()
        environment = {"HOME": str(work), **environment}
        environment |= {"TMPDIR": str(work), "KERAS_HOME": str(work)}
        try:
            with (self._folder / "stderr").open("wb") as diary:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=diary,
                    cwd=work,
                    env=environment,
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
        assert self._process.stdout is not None  # noqa: S101 - asked for just above
        try:
            self._lines = LineQueue(self._chunks(self._process.stdout))
        except EngineError:
            self.stop()
            self._process.communicate()
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def _chunks(self, output: IO[bytes]) -> Iterator[bytes]:
        with output, self._watch_end() as ended:
            pipe = output.fileno()
            # What it started may hold its output open when it has ended itself.
            while pipe in select.select([pipe, *ended], [], [])[0]:
                if not (chunk := os.read(pipe, 65536)):
                    return
                yield chunk

    @contextmanager
    def _watch_end(self) -> Iterator[list[int]]:
        """What can be read once it has ended, before it is reaped; nothing where the kernel can't tell
        (before 5.3, or in a sandbox)."""
        ended: list[int] = []
        with suppress(OSError):
            ended = [os.pidfd_open(self._process.pid)]
        try:
            yield ended
        finally:
            for descriptor in ended:
                os.close(descriptor)

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
            if not self._wait(GRACE_S if self._lines.ended else UNREAD_GRACE_S):
                self.stop()
                self._wait(killed_s)
            ended = time.monotonic()
            # Before the process is reaped, so that its number can't yet be another's.
            self.stop()
            status, left = None, ""
            try:
                status = self._process.wait(timeout=killed_s)
                self._lines.join(READER_S)
            except subprocess.TimeoutExpired:
                left = f"the process {self._process.pid} can't be killed, and ends with what it waits for"
            # As shells and engines count: 128 and the signal's number.
            code = 128 - status if status is not None and status < 0 else status
            # The kernel tells a plain process's parent of a SIGKILL, not of its reason.
            phrase = describe_ending(code, out_of_memory=False, memory_bytes=None)
            self._ending = Ending(
                code=code, diary=self._diary(), phrase=phrase, ended=ended, left=left
            )
            shutil.rmtree(self._folder, ignore_errors=True)
        return self._ending

    def _wait(self, seconds: float) -> bool:
        """Whether it has ended, after at most that long; leaves it to be reaped."""
        if self._process.returncode is not None:
            return True
        with self._watch_end() as ended:
            if ended:
                return bool(select.select(ended, [], [], seconds)[0])
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _diary(self) -> str:
        with (self._folder / "stderr").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - DIARY_BYTES))
            return file.read().decode(errors="replace")
