"""Makes whatever comes from outside wrong, ten thousand times, and counts what the suite answers.

``python -m tests.fuzz.bench [--seed N] [--inputs N] [--door NAME]``; ``nox -s fuzz`` runs it.  It ends with 1
where an input ended in anything but an answer: a traceback, no end, too much memory, or a file elsewhere.
"""

from __future__ import annotations

import argparse
import os
import resource
import secrets
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from suite.errors import CrossoverError
from tests.fuzz.doors import DOORS, Door

LIMITS = ((signal.ITIMER_PROF, signal.SIGPROF, 10.0), (signal.ITIMER_REAL, signal.SIGALRM, 120.0))
"""Seconds for one input, making it wrong included: of processor time, which a busy machine does not
stretch, and of the clock on the wall, since whoever waits uses no processor."""

MEMORY = 2**30
"""Bytes that the process may have for itself."""


class Hang(BaseException):
    """An input took longer than any may."""


@contextmanager
def limited() -> Iterator[None]:
    """Ends what takes too long."""

    def stop(number: int, _: Any) -> None:
        raise Hang(signal.Signals(number).name)

    for timer, number, limit_s in LIMITS:
        signal.signal(number, stop)
        signal.setitimer(timer, limit_s)
    try:
        yield
    finally:
        for timer, _, _ in LIMITS:
            signal.setitimer(timer, 0)


def try_once(door: Door, seed: str, room: Path) -> str:
    """One input in a folder of its own: ``accepted``, ``refused``, or what went wrong."""
    at = room / "input"
    at.mkdir()
    try:
        with limited():
            door.attempt(at, Random(seed))
    except CrossoverError as error:
        if error.exit_status in door.statuses and error.what:
            return "refused"
        return f"ended with {error.exit_status}: {error.what[:99]}"
    except (Exception, Hang) as error:  # noqa: BLE001  the whole point
        frames = traceback.extract_tb(error.__traceback__)
        last = ([frame for frame in frames if "/suite/" in frame.filename] or frames)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return f"{type(error).__name__} at {where}: {str(error)[:99]!r}"
    else:
        return "accepted"
    finally:
        shutil.rmtree(at)


def watch_writes(room: Path) -> list[str]:
    """Notes whatever is opened to be written, made, moved or removed by a full path elsewhere.

    Relative ones are told by what lies around the folder in the end.
    """
    elsewhere: list[str] = []
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    changing = {"os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.link", "os.symlink"}

    def hear(event: str, words: tuple[Any, ...]) -> None:
        is_open = event == "open" and isinstance(words[2], int) and words[2] & writing
        if not is_open and event not in changing:
            return
        for word in words[:1] if is_open else words:
            path = os.fsdecode(word) if isinstance(word, str | bytes | os.PathLike) else ""
            if path.startswith("/") and not path.startswith((f"{room}/", "/dev/null")):
                elsewhere.append(f"{event} {path}")

    sys.addaudithook(hear)
    return elsewhere


def main() -> int:
    """Prints a line a door as it is done."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    parser.add_argument("--inputs", type=int, default=14_000, help="for all doors together")
    parser.add_argument("--door", default="", help="only doors whose names begin so")
    parser.add_argument("--once", help="a single input again, by the seed that was printed")
    given = parser.parse_args()
    doors = [door for door in DOORS if door.name.startswith(given.door)]
    seeds = range(1 if given.once else -(-given.inputs // len(doors)))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.RLIM_INFINITY))
    sys.stdout.write(f"seed {given.seed}\n{'door':28s} inputs refused accepted faults\n")
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        elsewhere = watch_writes(Path(name))
        room = Path(name) / "room"
        room.mkdir()
        sys.dont_write_bytecode = True
        for door in doors:
            answers: Counter[str] = Counter()
            for index in seeds:
                seed = given.once or f"{given.seed} {door.name} {index}"
                answer = try_once(door, seed, room)
                answers[answer] += 1
                if answer not in {"accepted", "refused"}:
                    faults += 1
                    sys.stdout.write(f"    {answer} (--once {seed!r})\n")
            refused, accepted = answers["refused"], answers["accepted"]
            wrong = answers.total() - refused - accepted
            row = f"{door.name:28s} {answers.total():6d} {refused:7d} {accepted:8d} {wrong:6d}"
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
        around = [str(path) for path in Path(name).iterdir() if path != room]
        strange = sorted({*elsewhere, *around})  # before the folder itself is removed
    sys.stdout.write(
        f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB; "
        f"written elsewhere: {', '.join(strange) or 'nothing'}\n"
    )
    return int(bool(faults or strange))


if __name__ == "__main__":
    sys.exit(main())
