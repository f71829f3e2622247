"""The only file that writes under results/: campaign folders, documents, reports, the lock.

An engine's or a driver's own words can hold a GPU's UUID, which names one machine in the world; none
gets into a document or a log, and no hash without the fleet's secret where there is one.
"""

from __future__ import annotations

import contextlib
import errno
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from suite import codec
from suite.errors import DocumentError, UsageError
from suite.host.engine import Engine, Say
from suite.host.machine.identity import hide
from suite.host.machine.lock import MACHINE, PLACE, Lock, find_place, wait_for
from suite.manifest import OWN, Pins
from suite.model import PLAN, Campaign, Document, OutcomeName
from suite.safe_folder import Folder


def campaign_name(created: datetime, label: str, profile: str) -> str:
    """``<UTC>-<label>-<profile>``, such as ``20261121T104500Z-mybox-quick``."""
    return f"{created:%Y%m%dT%H%M%SZ}-{label}-{profile}"


_WORTHLESS: Collection[OutcomeName] = ("pending", "failed")
"""Outcomes of cells that give no reason to keep a document."""


class Store:
    """One campaign's folder.

    Raises:
        DocumentError: it, or a folder in it, is not a folder or is a link.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._door = Folder.open(folder)
        for part in ("evidence", "logs", "plots"):
            # Before anything is measured that could not be written there.
            if self._door.holds(part):
                self._door.inside(part).close()
        self._to_beat: dict[str, int] = {}
        self._pins = Pins(self._door)

    @classmethod
    def create(cls, results: Path, name: str) -> Store:
        """A new folder ``results/name``.

        Raises:
            UsageError: it exists, or the results folder can't be written.
        """
        try:
            results.mkdir(parents=True, exist_ok=True)
            # Which folder the results are in is for the person to say; what is in it, for nobody else.
            with Folder.open(results.resolve()) as here, here.make(name) as folder:
                folder.make("logs").close()
        except OSError as error:
            raise UsageError(
                f"can't make {results / name}: {error.strerror}",
                "name another folder with RESULTS=",
            ) from error
        return cls(results / name)

    def write_plan(self, plan: Campaign) -> None:
        """Writes campaign.json."""
        self._write(PLAN, plan)
        self.pin()

    def write_document(self, document: Document) -> None:
        """Writes an invocation's document, as far as it has come.

        One that lies there from an earlier run stays until the new one is complete or has come as far:
        whoever kills the new one loses nothing of the old.
        """
        of = document.invocation
        name = document.name
        if name not in self._to_beat:
            self._to_beat[name] = self._count_finished(name)
        finished = sum(cell.outcome not in _WORTHLESS for cell in document.cells)
        if of.status != "complete" and finished < self._to_beat[name]:
            return
        if of.status == "running":
            self._pins.open(name)
        self._write(name, document)
        if of.status != "running":
            self._pins.close(name)

    def _count_finished(self, name: str) -> int:
        """The cells that a document that lies there need not try again."""
        if not self._door.holds(name):
            return 0
        cells = codec.parse_json(self._door.read(name))["cells"]
        return sum(cell["outcome"] not in _WORTHLESS for cell in cells)

    def write_reports(self, files: Mapping[str, str | bytes]) -> None:
        """Writes the report's files by their path within the folder."""
        for name, content in files.items():
            self._door.write(name, content)
            self._pins.touch(name)

    def drop_reports(self, names: Iterable[str]) -> None:
        """Removes files of an older report, by their path within the folder, that it has no more."""
        for name in names:
            self._door.remove(name)
            self._pins.touch(name)

    def pin(self) -> None:
        """Brings the manifest up to date with what this store wrote and removed since it last did."""
        self._pins.write()

    def append_log(self, name: str, text: str) -> None:
        """Adds to ``logs/<name>.log``: a container's diary, or what the engine said."""
        text, path = hide(text), f"logs/{name}.log"
        self._door.append(path, text if text.endswith("\n") or not text else text + "\n")
        self._pins.touch(path)

    def _write(self, name: str, value: Any) -> None:
        self._door.write(name, hide(codec.dump_document(value)))
        self._pins.touch(name)


_HERE = "on this machine"

_LOCK = ".lock"

_TRIAL_BYTES = 1_000_000
"""What is written on trial: the least that a campaign leaves."""


def try_results(results: Path) -> None:
    """Tries whether a campaign could write there and would be the only one; leaves nothing behind.

    Raises:
        BusyError: another campaign is running there.
        UsageError: the folder can't be written, or the disk is full.
    """
    with _writing(results):
        # Who only asks makes no lock; one of another user's could not be taken.
        _ask(results, _LOCK, f"in {results}")


def try_machine() -> None:
    """Tries whether a campaign would be the only one on this machine; leaves nothing behind.

    Raises:
        BusyError: another campaign is running on it.
        UsageError: its lock can't be opened.
    """
    with _machine():
        _ask(find_place(), MACHINE, _HERE)


@contextlib.contextmanager
def _writing(results: Path) -> Iterator[None]:
    """Around what writes in a folder of results, once that was tried.

    Raises:
        UsageError: the folder can't be written, or the disk is full.
    """
    try:
        there = next(folder for folder in (results, *results.parents) if folder.exists())
        # Where the kernel can do it, the file never gets a name.
        with tempfile.TemporaryFile(dir=there) as trial:
            trial.write(bytes(_TRIAL_BYTES))
        yield
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise UsageError(
            f"can't write {results}: {error.strerror}",
            "make room there, or name another folder with RESULTS="
            if full
            else "name another folder with RESULTS=, or change who owns it",
        ) from error


@contextlib.contextmanager
def _machine() -> Iterator[None]:
    """Around what opens the machine's lock.

    Raises:
        UsageError: it can't be opened.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"this machine's lock can't be opened: {find_place() / MACHINE}: {error.strerror}",
            f"change who may write it, or name another folder for it in {PLACE}",
        ) from error


def _ask(folder: Path, name: str, where: str) -> None:
    if not folder.is_dir():
        return
    try:
        lock = Lock(folder, name, make=False)
    except FileNotFoundError:
        return  # no campaign has run there
    with contextlib.closing(lock):
        wait_for(lock.ask, where, 0.0, lambda _: None)


class CampaignLock:
    """What a campaign holds so that no other runs beside it: the results folder, the machine, the engine.

    ``deadline`` (of ``time.monotonic``) is until when it waits for each.
    """

    def __init__(self, held: contextlib.ExitStack, deadline: float, say: Say) -> None:
        self._held = held
        self._deadline = deadline
        self._say = say
        self._locks: list[Lock] = []

    def lock(self, folder: Path, name: str, where: str) -> None:
        """Takes a lock.

        Raises:
            BusyError: another campaign holds it.
            OSError: it can't be opened.
        """
        lock = Lock(folder, name, make=True)
        self._held.callback(lock.close)
        wait_for(lock.take, where, self._deadline, self._say)
        self._locks.append(lock)

    def claim(self, engine: Engine) -> None:
        """Takes the engine, and this machine where that is what is measured, or may be.

        Raises:
            BusyError: another campaign has one of them.
            UsageError: the machine's lock can't be opened.
            EngineError: the engine does not answer.
        """
        if engine.is_here is not False:
            with _machine():
                self.lock(find_place(), MACHINE, _HERE)
        self._held.callback(engine.release)
        wait_for(engine.claim, "on this engine", self._deadline, self._say)

    def expect(self, left_s: float | None) -> None:
        """Lets those who wait know how long it should go on; None: not known yet."""
        for lock in self._locks:
            lock.expect(left_s)


@contextlib.contextmanager
def only_campaign(
    results: Path, *, wait_s: float = 0.0, say: Say = lambda _: None
) -> Iterator[CampaignLock]:
    """Holds the lock of a results folder, and what more it is told to take: two campaigns at once
    would measure each other.

    The kernel lets go of the locks when this process ends, however it ends.  Whoever holds that of the
    results removes what killed writers left there.

    Raises:
        BusyError: another campaign holds it, and still does after so many seconds.
        UsageError: the folder can't be written, or the disk is full.
    """
    with contextlib.ExitStack() as held:
        lock = CampaignLock(held, time.monotonic() + wait_s, say)
        with _writing(results):
            results.mkdir(parents=True, exist_ok=True)
            lock.lock(results, _LOCK, f"in {results}")
        with Folder.open(results.resolve()) as here:
            _sweep(here)
        yield lock


def _sweep(results: Folder) -> None:
    for name in results.names():
        # What is not a folder, or not one that we may look into, has nothing of ours.
        with contextlib.suppress(DocumentError, OSError), results.inside(name) as campaign:
            if PLAN not in campaign.names():
                continue
            for part, own in OWN.items():
                with contextlib.suppress(DocumentError, FileNotFoundError):
                    campaign.inside(part).sweep(own)
