"""Locks that keep two campaigns apart: files that the kernel lets go of when their holder ends, however
it ends, and in each who that is.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import stat
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from suite.errors import BusyError
from suite.safe_folder import Folder

PLACE = "CROSSOVER_LOCKS"
"""The environment variable that names another folder for the machine's lock."""

MACHINE = "crossover.lock"
"""The machine's lock."""

MIND_OTHER = "wait for it to end (WAIT=30m does), or stop it; two at once would disturb each other"
"""What to do where another campaign is running."""

_ASKED_S = 0.2
"""A lock that is gone by then was that of somebody who only asked."""

_LONGEST_PAUSE_S = 5.0
"""Between two looks at a lock that is waited for: who holds it is measuring."""

_NOTE_BYTES = 4096


def find_place() -> Path:
    """The folder of the machine's lock: one that all of its users can write, so that theirs meet."""
    if given := os.environ.get(PLACE):
        return Path(given)
    for place in (Path("/run/lock"), Path("/tmp")):  # noqa: S108  the lock is opened as what it is
        with contextlib.suppress(OSError):
            # By its mode, so that all of them come to the same answer; a file system can be read-only.
            if place.stat().st_mode & stat.S_IWOTH and os.access(place, os.W_OK):
                return place
    return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())


class Lock:
    """A lock's file, opened; to be closed.

    Raises:
        FileNotFoundError: there is none, and it is not to be made.
        OSError: it can't be opened.
        DocumentError: something other than a regular file is there.
    """

    def __init__(self, folder: Path, name: str, *, make: bool) -> None:
        with Folder.open(folder.resolve()) as here:
            self._file = here.open_lock(name, make=make)
        self.close = self._file.close
        self._signed = {"who": name_self(), "since": time.time()}

    def take(self) -> str | None:
        """Takes it and says so in it.  None: it is ours until it is closed; else who holds it, in words."""
        holder = self._try(fcntl.LOCK_EX)
        if holder is None:
            self.expect(None)
        return holder

    def ask(self) -> str | None:
        """Who holds it, in words; None: nobody."""
        return self._try(fcntl.LOCK_SH)

    def expect(self, left_s: float | None) -> None:
        """Says in it how long it will be held yet; None: nobody knows."""
        until = {} if left_s is None else {"until": time.time() + left_s}
        content = json.dumps(self._signed | until).encode()
        # That it is held is the kernel's to say; by whom is for people, and worth no campaign.
        with contextlib.suppress(OSError):
            os.pwrite(self._file.fileno(), content, 0)
            os.ftruncate(self._file.fileno(), len(content))

    def _try(self, kind: int) -> str | None:
        try:
            fcntl.flock(self._file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return describe_holder(os.pread(self._file.fileno(), _NOTE_BYTES, 0))
        return None


def name_self() -> str:
    """This process, for those who wait for it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"the user {os.getuid()}"
    return f"{user} on {os.uname().nodename}, process {os.getpid()}"


def describe_holder(note: bytes) -> str:
    """Who holds a lock, since when and for how long, from what it says of them."""
    try:
        holder = json.loads(note)
        who, since = str(holder["who"])[:200], datetime.fromtimestamp(holder["since"], timezone.utc)
        left_s = float(holder["until"]) - time.time() if "until" in holder else None
    except (ValueError, KeyError, TypeError, OverflowError, OSError):
        return "of an unknown owner"
    left = "for an unknown time"
    if left_s is not None:
        left = f"for about {left_s / 60:.0f} min more" if left_s >= 30 else "nearly done"
    held_s = time.time() - since.timestamp()
    return f"of {who}, since {since:%Y-%m-%d %H:%M} UTC ({held_s / 60:.0f} min), {left}"


def wait_for(
    take: Callable[[], str | None], where: str, deadline: float, say: Callable[[str], None]
) -> None:
    """Tries until it is had; ``deadline`` is of ``time.monotonic``, ``where`` for people.

    Raises:
        BusyError: somebody else still has it then; says who.
    """
    pause, announced = _ASKED_S / 20, False
    deadline = max(deadline, time.monotonic() + _ASKED_S)
    while (holder := take()) is not None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise BusyError(f"another campaign is running {where}: {holder}", MIND_OTHER)
        if pause > _ASKED_S and not announced:
            announced = True
            say(f"waiting up to {left_s / 60:.0f} min for another campaign {where}: {holder}")
        time.sleep(min(pause, left_s))
        pause = min(2 * pause, _LONGEST_PAUSE_S)
