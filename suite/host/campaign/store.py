"""The only file that writes under results/: campaign folders, documents, reports, the lock.

An engine's or a driver's own words can hold a GPU's UUID, which names one machine in the world; none
gets into a document or a log.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from suite import wire
from suite.errors import BusyError, CrossoverError, UsageError
from suite.model import PLAN, SURVEY, Campaign, Document, Survey, document_name

_UMASK = threading.Lock()
"""The process's umask can only be read by setting it, and campaigns that run at once write at once."""


def campaign_name(created: datetime, label: str, profile: str) -> str:
    """``<UTC>-<label>-<profile>``, such as ``20261121T104500Z-mybox-quick``."""
    return f"{created:%Y%m%dT%H%M%SZ}-{label}-{profile}"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replaces a file so that a reader, or a crash, sees the old content or the new one, whole.

    Raises:
        CrossoverError: it can't be written: no room, or no right to.
    """
    try:
        _replace(path, content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise CrossoverError(
            f"can't write {path}: {error.strerror}", "make room there, or name another RESULTS="
        ) from error


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes private files; results are for everybody who may read the folder.
        with _UMASK:
            umask = os.umask(0)
            os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class Store:
    """One campaign's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def create(cls, results: Path, name: str) -> Store:
        """A new folder ``results/name``.

        Raises:
            UsageError: it exists, or the results folder can't be written.
        """
        folder = results / name
        try:
            results.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            (folder / "logs").mkdir()
        except OSError as error:
            raise UsageError(
                f"can't make {folder}: {error.strerror}", "name another folder with RESULTS="
            ) from error
        return cls(folder)

    def write_plan(self, campaign: Campaign) -> None:
        """Writes campaign.json anew."""
        self._write(PLAN, campaign)

    def write_survey(self, survey: Survey) -> None:
        """Writes survey.json anew, in a survey's own folder."""
        self._write(SURVEY, survey)

    def write_document(self, document: Document) -> None:
        """Writes an invocation's document anew, as far as it has come."""
        of = document.invocation
        self._write(document_name(of.arm, of.block, of.repeat), document)

    def write_reports(self, files: Mapping[str, str | bytes]) -> None:
        """Writes the report's files by their path within the folder."""
        for name, content in files.items():
            write_atomically(self.folder / name, content)

    def drop_reports(self, names: Iterable[str]) -> None:
        """Removes files of an older report, by their path within the folder, that it has no more."""
        for name in names:
            (self.folder / name).unlink(missing_ok=True)

    def append_log(self, name: str, text: str) -> None:
        """Adds to ``logs/<name>.log``: a container's diary, or what the engine said."""
        logs = self.folder / "logs"
        logs.mkdir(exist_ok=True)
        with (logs / f"{name}.log").open("a", encoding="utf-8", errors="replace") as file:
            text = wire.hide_uuids(text)
            file.write(text if text.endswith("\n") or not text else text + "\n")

    def _write(self, name: str, value: Any) -> None:
        write_atomically(self.folder / name, wire.hide_uuids(wire.dump_document(value)))


_LOCK = ".lock"

_ASKED_S = 0.2
"""A lock that is gone by then was that of somebody who only asked."""

_TRIAL_BYTES = 1_000_000
"""What is written on trial: the least that a campaign leaves."""


def try_results(results: Path) -> None:
    """Tries whether a campaign could write there and would be the only one; leaves nothing behind.

    Raises:
        BusyError: another campaign is running there.
        UsageError: the folder can't be written, or the disk is full.
    """
    try:
        there = next(folder for folder in (results, *results.parents) if folder.exists())
        # Where the kernel can do it, the file never gets a name.
        with tempfile.TemporaryFile(dir=there) as trial:
            trial.write(bytes(_TRIAL_BYTES))
    except OSError as error:
        raise _refuse_results(results, error) from error
    try:
        # Who only asks makes no lock; one of another user's could not be taken.
        with (results / _LOCK).open("r+", encoding="utf-8") as lock:
            _take_lock(results, lock, fcntl.LOCK_SH)
    except FileNotFoundError:
        return  # no campaign has run there
    except OSError as error:
        raise _refuse_results(results, error) from error


@contextlib.contextmanager
def only_campaign(results: Path) -> Iterator[None]:
    """Holds the lock of a results folder: two campaigns at once would measure each other.

    The kernel lets go of it when this process ends, however it ends.

    Raises:
        BusyError: another campaign holds it.
        UsageError: the folder can't be written, or the disk is full.
    """
    try_results(results)
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock = (results / _LOCK).open("a", encoding="utf-8")
    except OSError as error:
        raise _refuse_results(results, error) from error
    with lock:
        _take_lock(results, lock, fcntl.LOCK_EX)
        yield


def _take_lock(results: Path, lock: IO[str], kind: int) -> None:
    deadline = time.monotonic() + _ASKED_S
    while not _try_lock(lock, kind):
        if time.monotonic() > deadline:
            raise BusyError(
                f"another campaign is running in {results}",
                "wait for it to end, or stop it; two at once would measure each other",
            )
        time.sleep(_ASKED_S / 20)


def _try_lock(lock: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _refuse_results(results: Path, error: OSError) -> UsageError:
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    return UsageError(
        f"can't write {results}: {error.strerror}",
        "make room there, or name another folder with RESULTS="
        if full
        else "name another folder with RESULTS=, or change who owns it",
    )
