"""A worker that says what its script holds and takes its time, as a real one does.

    python3 paced_worker.py SCRIPT SAID COMMAND…

Runs in a container and as a plain process alike, so that it knows the standard library only.  SAID is the
file into which it writes of each cell that it will now have told of it; ``-``: into none.  A signal is an
order to behave badly from then on (`ORDERS`).
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

PACE_S = 0.06
"""Between two lines."""

COMPLAINT_BYTES = 200 * 2**20


class PacedWorker:
    """What it was asked, and how it speaks."""

    def __init__(self, script: dict[str, Any], said: str) -> None:
        self._script = script
        self._said = None if said == "-" else Path(said)
        self._piece: int | None = None

    def work(self, words: list[str]) -> None:
        """Says all lines, from the first to the last."""
        for line in self._script["greeting"]:
            self._say(line)
        for word in words if words[0] == "measure" else ():
            identity, _, calls = word.partition("@")
            if identity in self._script["cells"]:
                calls = calls.partition(":")[0]
                self._tell(identity, int(calls) if calls else None)
        self._say(json.dumps({"record": "bye"}))

    def _tell(self, identity: str, calls: int | None) -> None:
        self._say(json.dumps({"record": "cell_started", "id": identity}))
        now = datetime.now(timezone.utc).isoformat()
        cell = {**self._script["cells"][identity], "started": now, "ended": now}
        if calls is not None and cell["calls_per_sample"] != 1:
            cell["calls_per_sample"] = calls
        self._say(json.dumps({"record": "cell", "cell": cell}), identity)

    def _say(self, line: str, identity: str = "") -> None:
        time.sleep(PACE_S)
        if identity and self._said:
            with self._said.open("a") as file:
                file.write(f"{identity}\n")
        text = f"{line}\n".encode()
        size = self._piece or len(text)
        for begin in range(0, len(text), size):
            os.write(1, text[begin : begin + size])

    def split(self) -> None:
        """Says every line byte by byte."""
        self._piece = 1

    def eat(self) -> None:
        """Takes memory until there is none."""
        taken = []
        while True:
            taken.append(b"x" * 2**20)

    def fork(self) -> None:
        """Starts processes until it may not, or has as many as its script holds, and dies of it."""
        with suppress(OSError):
            for _ in range(self._script["forks"]):
                if os.fork() == 0:
                    signal.pause()
        os._exit(1)

    def flood(self) -> None:
        """Standard output without a newline, until somebody ends it."""
        while True:
            os.write(1, b"x" * 65536)

    def flood_lines(self) -> None:
        """Standard output by lines that are no records, until somebody ends it."""
        while True:
            os.write(1, b"no record\n" * 6000)

    def complain(self) -> None:
        """Standard error in long lines, and then goes on."""
        for _ in range(COMPLAINT_BYTES // 2**20):
            sys.stderr.write(f"{'e' * (2**20 - 1)}\n")


ORDERS: dict[signal.Signals | int, Callable[[PacedWorker], None]] = {
    signal.SIGUSR1: PacedWorker.split,
    signal.SIGUSR2: PacedWorker.eat,
    signal.SIGALRM: PacedWorker.fork,
    signal.SIGVTALRM: PacedWorker.flood,
    signal.SIGPROF: PacedWorker.flood_lines,
    signal.SIGIO: PacedWorker.complain,
}
"""What a signal makes it do."""


def order(what: Callable[[PacedWorker], None]) -> signal.Signals:
    """The signal that makes it do that."""
    return signal.Signals(next(number for number, one in ORDERS.items() if one is what))


def main() -> None:
    script, said, *words = sys.argv[1:]
    worker = PacedWorker(json.loads(Path(script).read_bytes()), said)
    for number, what in ORDERS.items():
        signal.signal(number, lambda *_, what=what: what(worker))
    worker.work(words)


if __name__ == "__main__":
    main()
