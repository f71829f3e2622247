"""What is done to a campaign: to its command, its worker and its folder, whatever engine it runs on."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.fakes.paced_worker import PacedWorker, order
from tests.faults.trials import STARTED_S, Trial

Act = Callable[[Trial], None]

INTERPOSED = "interposed.so"


def kill(pid: int, number: int) -> None:
    """Sends a signal; who has ended by itself is not there."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def send(number: int) -> Act:
    """A signal to the command."""
    return lambda trial: kill(trial.pid, number)


def send_all(trial: Trial) -> None:
    """As a terminal does for Ctrl-C."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(trial.pid, signal.SIGINT)


def send_twice(trial: Trial) -> None:
    """Ctrl-C by somebody who is in a hurry."""
    kill(trial.pid, signal.SIGINT)
    time.sleep(trial.draw.uniform(0, 0.3))
    kill(trial.pid, signal.SIGINT)


def send_worker(number: int) -> Act:
    """A signal to the worker, as soon as there is one."""

    def act(trial: Trial) -> None:
        for pid in trial.await_workers():
            kill(pid, number)

    return act


def make_worker(what: Callable[[PacedWorker], None]) -> Act:
    """An order to the worker, as soon as there is one that takes it."""
    number = order(what)

    def act(trial: Trial) -> None:
        for pid in trial.await_workers():
            until = time.monotonic() + STARTED_S
            while not catches(pid, number) and time.monotonic() < until:
                time.sleep(0.02)
            kill(pid, number)

    return act


def catches(pid: int, number: int) -> bool:
    """Whether a process has something to do for a signal; one that has ended has."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def pause(
    whom: Callable[[Trial], Iterable[int]],
    least_s: float = 0.5,
    most_s: float = 2.0,
    meanwhile: Act = lambda _trial: None,
) -> Act:
    """Stops processes, and continues them."""

    def act(trial: Trial) -> None:
        pids = list(whom(trial))
        for pid in pids:
            kill(pid, signal.SIGSTOP)
        meanwhile(trial)
        time.sleep(trial.draw.uniform(least_s, most_s))
        for pid in pids:
            kill(pid, signal.SIGCONT)

    return act


def kill_all(trial: Trial) -> None:
    """As a machine that loses its power, but for what the kernel has not written yet."""
    for pid in (trial.pid, *trial.workers()):
        kill(pid, signal.SIGKILL)


def mount_small(trial: Trial) -> None:
    """A disk of 3 MB under the results."""
    trial.results.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,nr_inodes=200", "tmpfs", str(trial.results)],
        check=True,
    )


def fill(trial: Trial) -> None:
    """Until there is no room."""
    with contextlib.suppress(OSError), (trial.results / "full").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def use_up_inodes(trial: Trial) -> None:
    """Until there is none."""
    with contextlib.suppress(OSError):
        (trial.results / "many").mkdir()
        for number in range(1000):
            (trial.results / "many" / str(number)).touch()


def make_room(trial: Trial) -> None:
    """What is in the small disk comes to a large one."""
    (trial.results / "full").unlink(missing_ok=True)
    shutil.rmtree(trial.results / "many", ignore_errors=True)
    aside = trial.folder / "aside"
    shutil.copytree(trial.results, aside)
    subprocess.run(["umount", str(trial.results)], check=True)
    shutil.copytree(aside, trial.results, dirs_exist_ok=True)


def begin_with(shell: str) -> Act:
    """What a shell does before it becomes the command."""

    def act(trial: Trial) -> None:
        trial.shell = shell

    return act


def open_full(*names: str) -> Act:
    """A full disk under standard output or standard error."""

    def act(trial: Trial) -> None:
        trial.streams = {name: os.open("/dev/full", os.O_WRONLY) for name in names}

    return act


def leave_unread(trial: Trial) -> None:
    """Nobody reads what the command says."""
    read, write = os.pipe()
    os.close(read)
    trial.streams = {"stdout": write, "stderr": write}


def compile_interposed(folder: Path) -> None:
    """Makes the library of `interpose`, for all trials whose folders are in that one."""
    source = Path(__file__).with_name("interposed.c")
    words = ["gcc", "-shared", "-fPIC", "-O1", "-o", folder / INTERPOSED, source, "-ldl"]
    subprocess.run(words, check=True)


def interpose(trial: Trial) -> None:
    """Lays a library between the command and the C library, which does as `write_fault` says."""
    library = trial.folder.parent / INTERPOSED
    # What has a budget looks at the time.
    trial.words = ("--budget", "30m")
    trial.variables = {"LD_PRELOAD": str(library), "FAULTS": str(trial.folder / "faults")}


def write_fault(words: str) -> Act:
    """From now on the wall clock is off by so many seconds, and so many renames, and so many processes
    and threads, fail."""
    return lambda trial: (trial.folder / "faults").write_text(words) and None


def move_elsewhere(trial: Trial) -> None:
    """Another time zone, or one that does not exist, and another language."""
    trial.variables = {
        "TZ": trial.draw.choice(["Pacific/Kiritimati", "America/St_Johns", "Nowhere/Land"]),
        "LC_ALL": trial.draw.choice(["tr_TR.UTF-8", "de_DE.UTF-8", "C"]),
        "LANGUAGE": "de",
    }


def damage(how: Callable[[Path], object]) -> Act:
    """Something becomes of a document that is finished."""

    def act(trial: Trial) -> None:
        documents = sorted(trial.campaign.glob("cpu-0*.json"))
        how(trial.draw.choice(documents))

    return act


def flip(path: Path) -> None:
    """A byte in its middle."""
    text = bytearray(path.read_bytes())
    text[len(text) // 2] ^= 0xFF
    path.write_bytes(text)


def stretch(path: Path) -> None:
    """To 200 MB, without data."""
    os.truncate(path, 200_000_000)


def link_out(path: Path) -> None:
    """A link to what is not the campaign's."""
    path.unlink()
    path.symlink_to("/etc/passwd")
