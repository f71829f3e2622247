"""What can happen to a campaign from outside, and what its command may end with.

A fault happens at a random moment after the plan is written, or is there from the start.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.faults.trials import Trial

Act = Callable[[Trial], None]

DONE = frozenset({0})
ENDED = frozenset({0, 130})
"""Interrupted, unless it came when all was done."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """``before`` is done to the command before it starts, ``during`` at a random moment, ``after``
    between its end and `RESUME`.

    ``statuses`` are what the command may end with, ``resumed`` what `RESUME` may; where nothing but 0 may be,
    the campaign comes to all that it comes to undisturbed.  ``cells`` are as many
    as may be lost: those that the worker told of, and no document has.  ``needs`` is a program without
    which it can't be tried.
    """

    name: str
    statuses: Collection[int]
    before: Act | None = None
    during: Act | None = None
    after: Act | None = None
    resumed: Collection[int] = DONE
    cells: int = 1
    needs: str | None = None


def _signal(number: int) -> Act:
    def act(trial: Trial) -> None:
        _kill(trial.pid, number)

    return act


def _kill(pid: int, number: int) -> None:
    # Who has ended by itself is not there.
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _signal_all(trial: Trial) -> None:
    """As a terminal does for Ctrl-C."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(trial.pid, signal.SIGINT)


def _signal_twice(trial: Trial) -> None:
    _kill(trial.pid, signal.SIGINT)
    time.sleep(trial.draw.uniform(0, 0.3))
    _kill(trial.pid, signal.SIGINT)


def _signal_worker(number: int) -> Act:
    def act(trial: Trial) -> None:
        until = time.monotonic() + 5
        while not (found := trial.workers()) and time.monotonic() < until:
            time.sleep(0.02)
        for pid in found:
            _kill(pid, number)

    return act


def _pause(whom: Callable[[Trial], Iterable[int]]) -> Act:
    def act(trial: Trial) -> None:
        pids = list(whom(trial))
        for pid in pids:
            _kill(pid, signal.SIGSTOP)
        time.sleep(trial.draw.uniform(0.5, 2))
        for pid in pids:
            _kill(pid, signal.SIGCONT)

    return act


def _kill_all(trial: Trial) -> None:
    """As a machine that loses its power, but for what the kernel has not written yet."""
    for pid in (trial.pid, *trial.workers()):
        _kill(pid, signal.SIGKILL)


def _mount(trial: Trial) -> None:
    trial.results.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,nr_inodes=200", "tmpfs", str(trial.results)],
        check=True,
    )


def _fill(trial: Trial) -> None:
    # Until there is no room, which is what it is for.
    with contextlib.suppress(OSError), (trial.results / "full").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def _use_up_inodes(trial: Trial) -> None:
    with contextlib.suppress(OSError):
        (trial.results / "many").mkdir()
        for number in range(1000):
            (trial.results / "many" / str(number)).touch()


def _unmount(trial: Trial) -> None:
    """Makes room again: what is in the small disk comes to a large one."""
    (trial.results / "full").unlink(missing_ok=True)
    shutil.rmtree(trial.results / "many", ignore_errors=True)
    aside = trial.folder / "aside"
    shutil.copytree(trial.results, aside)
    subprocess.run(["umount", str(trial.results)], check=True)
    shutil.copytree(aside, trial.results, dirs_exist_ok=True)


def _limit_files(trial: Trial) -> None:
    """No file over 20 KB, as by a quota; the signal that comes with it is ignored, as a shell can."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    trial.limits = limit


def _few_descriptors(trial: Trial) -> None:
    trial.limits = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))


def _ignore_hangup(trial: Trial) -> None:
    trial.limits = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _full(*names: str) -> Act:
    def act(trial: Trial) -> None:
        trial.streams = {name: os.open("/dev/full", os.O_WRONLY) for name in names}

    return act


def _closed(*numbers: int) -> Act:
    def act(trial: Trial) -> None:
        trial.limits = lambda: [os.close(number) for number in numbers] and None

    return act


def _gone_reader(trial: Trial) -> None:
    read, write = os.pipe()
    os.close(read)
    trial.streams = {"stdout": write, "stderr": write}


@cache
def _compile(folder: Path) -> Path:
    library = folder / "interposed.so"
    source = Path(__file__).with_name("interposed.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def _interpose(trial: Trial) -> None:
    library = _compile(trial.folder.parent)
    # What has a budget looks at the time.
    trial.words = ("--budget", "30m")
    trial.variables = {"LD_PRELOAD": str(library), "FAULTS": str(trial.folder / "faults")}


def _write_fault(words: str) -> Act:
    return lambda trial: (trial.folder / "faults").write_text(words) and None


def _elsewhere(trial: Trial) -> None:
    trial.variables = {
        "TZ": trial.draw.choice(["Pacific/Kiritimati", "America/St_Johns", "Nowhere/Land"]),
        "LC_ALL": trial.draw.choice(["tr_TR.UTF-8", "de_DE.UTF-8", "C"]),
        "LANGUAGE": "de",
    }


def _damage(how: Callable[[Path], object]) -> Act:
    def act(trial: Trial) -> None:
        documents = sorted(trial.campaign.glob("cpu-0*.json"))
        how(trial.draw.choice(documents))

    return act


def _flip(path: Path) -> None:
    text = bytearray(path.read_bytes())
    text[len(text) // 2] ^= 0xFF
    path.write_bytes(text)


def _sparse(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(200_000_000)


FAULTS = (
    Fault(name="SIGINT", statuses=ENDED, during=_signal(signal.SIGINT)),
    Fault(name="SIGINT, twice", statuses=ENDED, during=_signal_twice),
    Fault(name="Ctrl-C in a terminal: the worker gets it too", statuses=ENDED, during=_signal_all),
    Fault(name="SIGTERM", statuses=ENDED, during=_signal(signal.SIGTERM)),
    Fault(name="SIGHUP", statuses=ENDED, during=_signal(signal.SIGHUP)),
    Fault(
        name="SIGHUP under nohup",
        statuses=DONE,
        before=_ignore_hangup,
        during=_signal(signal.SIGHUP),
    ),
    Fault(name="SIGKILL", statuses=(0, -9), during=_signal(signal.SIGKILL)),
    Fault(name="power lost: all killed", statuses=(0, -9), during=_kill_all),
    Fault(name="stopped and continued", statuses=DONE, during=_pause(lambda trial: [trial.pid])),
    Fault(name="worker stopped and continued", statuses=DONE, during=_pause(Trial.workers)),
    *(
        # The cell in flight has failed, and an invocation that is complete is kept.
        Fault(
            name=f"worker: {number.name}",
            statuses=(0, 1),
            during=_signal_worker(number),
            resumed=(0, 1),
        )
        for number in (
            signal.SIGKILL,
            signal.SIGTERM,
            signal.SIGSEGV,
            signal.SIGABRT,
            signal.SIGBUS,
        )
    ),
    Fault(
        name="disk full",
        statuses=(0, 1),
        before=_mount,
        during=_fill,
        after=_unmount,
        needs="mount",
    ),
    Fault(
        name="no inode left",
        statuses=(0, 1),
        before=_mount,
        during=_use_up_inodes,
        after=_unmount,
        needs="mount",
    ),
    Fault(name="no file over 20 KB", statuses=(1, 2), before=_limit_files),
    Fault(name="24 open files", statuses=(0, 1, 3), before=_few_descriptors),
    Fault(name="standard output full", statuses=DONE, before=_full("stdout")),
    Fault(name="standard error full", statuses=DONE, before=_full("stderr")),
    Fault(name="both streams full", statuses=DONE, before=_full("stdout", "stderr")),
    Fault(name="standard output closed", statuses=DONE, before=_closed(1)),
    Fault(name="all streams closed", statuses=DONE, before=_closed(0, 1, 2)),
    Fault(name="nobody reads what it says", statuses=DONE, before=_gone_reader),
    Fault(
        name="clock an hour forward",
        statuses=DONE,
        before=_interpose,
        during=_write_fault("3600 0"),
        needs="gcc",
    ),
    Fault(
        name="clock a year back",
        statuses=DONE,
        before=_interpose,
        during=_write_fault("-31536000 0"),
        needs="gcc",
    ),
    Fault(
        name="one rename fails",
        statuses=(0, 1),
        before=_interpose,
        during=_write_fault("0 1"),
        needs="gcc",
    ),
    Fault(name="another time zone and language", statuses=DONE, before=_elsewhere),
    *(
        Fault(name=f"a document {what}", statuses=DONE, after=_damage(how), resumed=(0, 5))
        for what, how in (
            ("of 0 bytes", lambda path: path.write_bytes(b"")),
            ("cut in two", lambda path: path.write_bytes(path.read_bytes()[:200])),
            ("with a flipped byte", _flip),
            ("of 200 MB, sparse", _sparse),
            ("that is gone", Path.unlink),
            ("that is a link out", lambda path: (path.unlink(), path.symlink_to("/etc/passwd"))),
        )
    ),
)
"""Everything that is tried."""
