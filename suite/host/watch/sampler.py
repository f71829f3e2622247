"""A process of its own that samples the GPU and the host: `python -m suite.host.watch.sampler`.

It shares nothing with the campaign but a file that it writes to and a pipe that it waits on, so it can
neither disturb it nor take it along.  The pipe's end is its end; between samples it sleeps there.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from suite.host.gpu.nvml import Gpu, NoLibrary, load_library
from suite.host.gpu.request import count_on_bus
from suite.host.machine.cpus import parse_cpus
from suite.host.watch.sensors import HostSensors

NICE = 19
"""It takes what others leave: a sample may come late, and says when it was taken."""

Wait = Callable[[float], list[str] | None]
"""Waits so many seconds at most for lines of the campaign's; None: it has ended."""

Clock = Callable[[], float]
"""Seconds that only grow."""


class Owners:
    """Which processes are the worker's: those of containers and sessions that it was told of."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._containers: set[str] = set()
        self._sessions: set[int] = set()

    def tell(self, line: str) -> str | None:
        """``container ID``, which is given back, or ``process PID``, the first of its session; anything else
        is ignored."""
        kind, _, name = line.strip().partition(" ")
        if kind == "container" and name:
            self._containers.add(name)
            return name
        if kind == "process" and name.isdigit():
            self._sessions.add(int(name))
        return None

    def is_own(self, pid: int) -> bool | None:
        """Whether the process is the worker's; None: it can't be seen from here."""
        folder = self._root / "proc" / str(pid)
        try:
            groups = (folder / "cgroup").read_text(encoding="utf-8", errors="replace")
            fields = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            # Field 6, counted behind the name, which may hold spaces.
            session = int(fields.rpartition(")")[2].split()[3])
        except (OSError, ValueError, IndexError):
            return None
        return session in self._sessions or any(name in groups for name in self._containers)


def sample_until_told(
    out: IO[str],
    *,
    gpu: Gpu | None,
    host: HostSensors,
    owners: Owners,
    every_s: float,
    wait: Wait,
    absent: Mapping[str, str],
    on_bus: int | None = None,
    clock: Clock = time.monotonic,
) -> None:
    """Writes one line of facts, one a sample, and a last one about itself.

    The first says by ``clock`` when it began: the campaign's process reads the same clock, and knows what day
    it was then.  ``on_bus`` is how many GPUs the driver should list (None: not known).
    """
    began = clock()
    facts: dict[str, Any] = {} if gpu is None else {**gpu.facts(), "gpu.on_bus": on_bus}
    _write(out, {"began_s": began, "facts": {**facts, "sampler.every_s": every_s}})

    def look() -> None:
        at_s = clock() - began
        values = host.sample()
        if gpu is not None:
            values |= gpu.sample(owners.is_own)
        _write(out, {"at_s": round(at_s, 4), "values": values})

    def tell(line: str) -> None:
        if container := owners.tell(line):
            host.follow(container)

    due, told = began, True
    while told:
        look()
        due = max(due + every_s, clock())
        told = _listen(due, wait, tell, clock)
    # Counters are wanted on both sides of the last cell, too.
    look()
    used = os.times()
    missing = {**absent, **host.absent, **({} if gpu is None else gpu.absent)}
    own = {
        "sampler.cpu_s": round(used.user + used.system, 4),
        "sampler.wall_s": round(clock() - began, 4),
    }
    _write(out, {"facts": {**host.facts(), **own}, "absent": missing})


def _listen(until: float, wait: Wait, tell: Callable[[str], None], clock: Clock) -> bool:
    """Waits until then and takes what is told; False once nothing more will be."""
    while True:
        told = wait(max(0.0, until - clock()))
        if told is None:
            return False
        for line in told:
            tell(line)
        if clock() >= until:
            return True


def _write(out: IO[str], line: dict[str, Any]) -> None:
    out.write(json.dumps(line, separators=(",", ":")) + "\n")
    out.flush()


def _wait_on(descriptor: int) -> Wait:
    """Lines of a pipe, as they come."""
    rest = b""

    def wait(seconds: float) -> list[str] | None:
        nonlocal rest
        if not select.select([descriptor], [], [], seconds)[0]:
            return []
        chunk = os.read(descriptor, 65536)
        if not chunk:
            return None
        *lines, rest = (rest + chunk).split(b"\n")
        return [line.decode(errors="replace") for line in lines]

    return wait


def main(argv: Sequence[str] | None = None) -> int:
    """Samples until standard input ends."""
    parser = argparse.ArgumentParser(prog="python -m suite.host.watch.sampler", description=__doc__)
    parser.add_argument("--every", type=float, required=True, metavar="SECONDS")
    parser.add_argument("--cpus", type=parse_cpus, default=())
    parser.add_argument("--gpu")
    options = parser.parse_args(argv)
    os.nice(NICE)
    gpu: Gpu | None = None
    absent: dict[str, str] = {}
    if options.gpu is not None:
        try:
            gpu = Gpu(load_library(), options.gpu)
        except NoLibrary as reason:
            absent["gpu"] = str(reason)
    sample_until_told(
        sys.stdout,
        gpu=gpu,
        host=HostSensors(options.cpus),
        owners=Owners(),
        every_s=options.every,
        wait=_wait_on(sys.stdin.fileno()),
        absent=absent,
        on_bus=count_on_bus(),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
