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
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from suite.errors import CrossoverError
from tests.fuzz import doors as outside
from tests.fuzz.doors import DOORS, Door

LIMIT_S = 2.0
"""Of processor time for one input, which a busy machine does not stretch."""

STUCK_S = 120.0
"""Of the clock on the wall: whoever waits uses no processor."""

MEMORY = 2**30
"""Bytes that the process may have for itself."""


class Hang(BaseException):
    """An input took longer than any may."""


@dataclass
class Tally:
    """What a door answered."""

    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    slowest: str = ""
    faults: Counter[str] = field(default_factory=Counter)
    example: dict[str, str] = field(default_factory=dict)

    def tell(self, name: str) -> str:
        """Its row of the table."""
        faults = self.faults.total()
        accepted = self.inputs - self.refused - faults
        return f"{name:28s} {self.inputs:6d} {self.refused:7d} {accepted:8d} {faults:10d}"


@contextmanager
def limited() -> Iterator[None]:
    """Ends what takes too long."""

    def stop(number: int, _: Any) -> None:
        raise Hang(signal.Signals(number).name)

    for kind, number, limit_s in (
        (signal.ITIMER_PROF, signal.SIGPROF, LIMIT_S),
        (signal.ITIMER_REAL, signal.SIGALRM, STUCK_S),
    ):
        signal.signal(number, stop)
        signal.setitimer(kind, limit_s)
    try:
        yield
    finally:
        for kind in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(kind, 0)


class Unclocked:
    """What makes a file wrong, whose time is not its reader's."""

    spent_s = 0.0

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *words: Any) -> Any:
        """As the function, the clock stopped meanwhile."""
        left_s, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        began = time.process_time()
        try:
            return self._function(*words)
        finally:
            Unclocked.spent_s += time.process_time() - began
            signal.setitimer(signal.ITIMER_PROF, left_s)


def try_once(door: Door, seed: str, room: Path, tally: Tally) -> None:
    """One input, in a folder of its own."""
    at = room / "input"
    at.mkdir()
    tally.inputs += 1
    began, unclocked = time.process_time(), Unclocked.spent_s
    fault = None
    try:
        with limited():
            door.attempt(at, Random(seed))
    except CrossoverError as error:
        tally.refused += 1
        if error.exit_status not in door.statuses or not error.what:
            fault = f"ended with {error.exit_status}: {error.what[:99]}"
    except (Exception, Hang) as error:  # noqa: BLE001  the whole point
        frames = traceback.extract_tb(error.__traceback__)
        last = ([one for one in frames if "/suite/" in one.filename] or frames)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        fault = f"{type(error).__name__} at {where}: {str(error)[:99]!r}"
    spent = time.process_time() - began - (Unclocked.spent_s - unclocked)
    if spent > tally.slowest_s:
        tally.slowest_s, tally.slowest = spent, seed
    if fault is not None:
        kind = fault.partition(": ")[0]
        tally.faults[kind] += 1
        tally.example.setdefault(kind, f"{fault} (seed {seed!r})")
    shutil.rmtree(at)


def watch_writes(room: Path) -> list[str]:
    """Notes whatever is opened to be written, made, moved or removed by a full path elsewhere.

    Relative ones are told by what lies around the folder in the end.
    """
    elsewhere: list[str] = []
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

    def hear(event: str, words: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = words
            told = [path] if isinstance(flags, int) and flags & writing else []
        elif event in {"os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.link", "os.symlink"}:
            told = [word for word in words if isinstance(word, str | bytes | os.PathLike)]
        else:
            return
        for one in told:
            if isinstance(one, int):
                continue
            path = os.fsdecode(one)
            if Path(path).is_absolute() and not path.startswith((f"{room}/", "/dev/null")):
                elsewhere.append(f"{event} {path}")

    sys.addaudithook(hear)
    return elsewhere


def main() -> int:
    """Prints a line a door as it is done."""
    words = argparse.ArgumentParser()
    words.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    words.add_argument("--inputs", type=int, default=13_000, help="for all doors together")
    words.add_argument("--door", help="only doors whose names begin so")
    words.add_argument("--once", help="a single input again, by the seed that was told")
    given = words.parse_args()
    doors = [door for door in DOORS if door.name.startswith(given.door or "")]
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.RLIM_INFINITY))
    sys.stdout.write(f"seed {given.seed}\n")
    sys.stdout.write(f"{'kind':28s} inputs refused accepted tracebacks slowest\n")
    for name in ("mutate", "mutate_lines"):
        setattr(outside, name, Unclocked(getattr(outside, name)))
    total = Tally()
    with tempfile.TemporaryDirectory() as name:
        elsewhere = watch_writes(Path(name))
        room = Path(name) / "room"
        room.mkdir()
        sys.dont_write_bytecode = True
        for door in doors:
            tally = Tally()
            count = 1 if given.once else -(-given.inputs // len(doors))
            for index in range(count):
                seed = given.once or f"{given.seed} {door.name} {index}"
                try_once(door, seed, room, tally)
            total.inputs += tally.inputs
            total.refused += tally.refused
            total.faults += tally.faults
            told = f"{tally.slowest_s:6.2f} s ({tally.slowest!r})"
            sys.stdout.write(f"{tally.tell(door.name)} {told}\n")
            for kind, count in tally.faults.most_common():
                sys.stdout.write(f"    {count} × {tally.example[kind]}\n")
            sys.stdout.flush()
        strange = sorted(path.name for path in Path(name).iterdir() if path.name != "room")
        strange += sorted(set(elsewhere))
    sys.stdout.write(
        f"{total.tell('together')}\n"
        f"largest resident size {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB; "
        f"written elsewhere: {', '.join(strange) or 'nothing'}\n"
    )
    return int(bool(total.faults or strange))


if __name__ == "__main__":
    sys.exit(main())
