"""A process of its own that samples the GPU and the host: `python -m suite.host.telemetry.sampler`.

It shares nothing with the campaign but a file that it writes to and a pipe that it waits on, so it can
neither disturb it nor take it along.  The pipe's end is its end; between samples it sleeps there.
Of the host it reads the processor's clocks, its heat, and what holds it back, by the kernel.  Linux only.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import select
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from suite.host.gpu.nvml import Gpu, NoLibrary, load_library
from suite.host.gpu.visible_devices import count_on_bus
from suite.host.machine.machine import parse_cpus
from suite.model import Scalar
from suite.procfs import groups, read_text, read_times

MOST_CLOCKS = 16
"""No more CPUs' clocks are read: on some kernels each reading wakes the CPU that it is about."""

_HEAT = (
    ("thermal/thermal_zone*", "type", ("x86_pkg_temp", "cpu-thermal", "cpu_thermal"), "temp"),
    ("hwmon/hwmon*", "name", ("coretemp", "k10temp", "zenpower", "cpu_thermal"), "temp*_input"),
)
"""Where the kernel lists sensors, what tells a sensor's kind there, which are the processor's, and what has
their temperatures; what is found first is taken."""

_WHY_ABSENT = {
    "cpu.clock_mhz": "neither cpufreq nor /proc/cpuinfo tells it",
    "cpu.clock_least_mhz": "neither cpufreq nor /proc/cpuinfo tells it",
    "cpu.throttle_events": "no thermal_throttle counters under /sys/devices/system/cpu",
    "cpu.temperature_c": "no sensor of the processor under /sys/class",
    "cpu.throttled_s": "the control groups that are seen count no throttling",
    "cpu.steal_s": "/proc/stat does not tell it",
}

_TRIES = 20
"""Samples in which the process of a container is looked for; an engine that makes no group of its name (a
rootless one with version 1) has none."""


class HostSensors:
    """The sensors of these CPUs; ``absent`` says which are not there, and where was looked."""

    def __init__(self, cpus: Sequence[int], root: Path = Path("/")) -> None:
        self._root = root
        self._cpus = tuple(cpus)
        # Evenly picked, so that both sockets of a large machine are among them.
        step = -(-len(self._cpus) // MOST_CLOCKS) if self._cpus else 1
        self._clocked = self._cpus[::step]
        folders = {cpu: root / f"sys/devices/system/cpu/cpu{cpu}" for cpu in self._cpus}
        self._clocks = [folders[cpu] / "cpufreq/scaling_cur_freq" for cpu in self._clocked]
        self._counts = [
            folder / f"thermal_throttle/{name}_throttle_count"
            for folder in folders.values()
            for name in ("core", "package")
            if (folder / f"thermal_throttle/{name}_throttle_count").exists()
        ]
        self._temperatures = _find_temperatures(root)
        # Whatever is above all others holds back containers as well, which can't see it themselves.
        self._groups = groups.list_groups("cpu", root)[-1:]
        # The worker's containers, and in how many samples each is still looked for.
        self._containers: dict[str, int] = {}
        self._sessions: set[int] = set()
        self._quotas: list[float] = []
        self._followed = False
        self._throttled = groups.read_throttled(self._groups)
        self._throttled_s = 0.0
        self.absent: dict[str, str] = {}

    def tell(self, line: str) -> None:
        """``container ID`` or ``process PID``, the first of its session: those are the worker's; anything
        else is ignored.

        The groups of a container, and all above them, are watched as well from the next sample on: from
        inside only those below the root of its namespace can be seen, which is mostly its own.
        """
        kind, _, name = line.strip().partition(" ")
        if kind == "container" and name:
            self._containers[name] = _TRIES
        elif kind == "process" and name.isdigit():
            self._sessions.add(int(name))

    def is_own(self, pid: int) -> bool | None:
        """Whether the process is the worker's; None: it can't be seen from here."""
        folder = self._root / "proc" / str(pid)
        names, stat = read_text(folder / "cgroup"), read_text(folder / "stat")
        try:
            # Field 6, counted behind the name, which may hold spaces.
            session = int(stat.rpartition(")")[2].split()[3])
        except (ValueError, IndexError):
            return None
        return session in self._sessions or any(name in names for name in self._containers)

    def facts(self) -> dict[str, Scalar]:
        """``cpu.quota``: the least quota of the groups that bound the containers, in CPUs, or ``none``;
        nothing where none of their groups was seen."""
        if not self._followed:
            return {}
        return {"cpu.quota": f"{min(self._quotas):g}" if self._quotas else "none"}

    def sample(self) -> dict[str, float | None]:
        """Every series' value now: the CPUs' mean and least clock, the times that one of them has
        slowed down for heat so far, the hottest sensor, and for how long a quota above the worker has held
        it back since the first look, and the hypervisor took these CPUs, both summed over CPUs."""
        self._find_containers()
        clocks = self._read_clocks()
        counts, heat = _read_numbers(self._counts), _read_numbers(self._temperatures)
        values = {
            "cpu.clock_mhz": math.fsum(clocks) / len(clocks) if clocks else None,
            "cpu.clock_least_mhz": min(clocks, default=None),
            "cpu.throttle_events": sum(counts) if counts else None,
            "cpu.temperature_c": max(heat) / 1e3 if heat else None,
            "cpu.throttled_s": self._count_throttled(),
            "cpu.steal_s": read_times(self._root, self._cpus)[1],
        }
        for name, value in values.items():
            if value is None:
                self.absent.setdefault(name, _WHY_ABSENT[name])
        return values

    def _find_containers(self) -> None:
        for container, left in self._containers.items():
            pid = _find_process(self._root, container) if left else None
            self._containers[container] = 0 if pid is not None else max(0, left - 1)
            above = [] if pid is None else groups.list_groups("cpu", self._root, pid)
            if above:
                self._followed = True
                self._groups = list(dict.fromkeys([*self._groups, *above]))
                if quota := groups.find_quota(above):
                    self._quotas.append(quota.value)

    def _count_throttled(self) -> float | None:
        """Of groups within each other each waits with the one above it, so that the worst rise counts."""
        now = groups.read_throttled(self._groups)
        both = now.keys() & self._throttled.keys()
        self._throttled_s += max([0.0, *(now[name] - self._throttled[name] for name in both)])
        self._throttled = now
        return self._throttled_s if now else None

    def _read_clocks(self) -> list[float]:
        """In MHz: what cpufreq says of each CPU, else the kernel's list of processors."""
        clocks = [number / 1e3 for number in _read_numbers(self._clocks)]
        if clocks:
            return clocks
        cpu = -1
        for line in read_text(self._root / "proc/cpuinfo").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "processor" and value.strip().isdigit():
                cpu = int(value)
            elif name.strip() == "cpu MHz" and cpu in self._clocked:
                clocks.append(float(value))
        return clocks


def _find_process(root: Path, container: str) -> int | None:
    """A process of a container, by the name of its control group, which holds the engine's for it."""
    for path in (root / "proc").glob("[0-9]*/cgroup"):
        if container in read_text(path):
            return int(path.parent.name)
    return None


def _find_temperatures(root: Path) -> list[Path]:
    for folders, name, known, temperatures in _HEAT:
        found = [
            path
            for sensor in sorted((root / "sys/class").glob(folders))
            if read_text(sensor / name).strip() in known
            for path in sorted(sensor.glob(temperatures))
        ]
        if found:
            return found
    return []


def _read_numbers(paths: Sequence[Path]) -> list[int]:
    """The numbers in those of these files that have one."""
    texts = (read_text(path).strip() for path in paths)
    return [int(text) for text in texts if text.lstrip("-").isdigit()]


NICE = 19
"""It takes what others leave: a sample may come late, and says when it was taken."""

Wait = Callable[[float], list[str] | None]
"""Waits so many seconds at most for lines of the campaign's; None: it has ended."""

Clock = Callable[[], float]
"""Seconds that only grow."""


def sample_until_told(
    out: IO[str],
    *,
    gpu: Gpu | None,
    host: HostSensors,
    every_s: float,
    wait: Wait,
    absent: Mapping[str, str],
    on_bus: int | None = None,
    clock: Clock = time.monotonic,
) -> None:
    """Writes one line of facts, one a sample, and a last one of what has become of them and about itself.

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
            values |= gpu.sample(host.is_own)
        _write(out, {"at_s": round(at_s, 4), "values": values})

    due = began
    lines: list[str] | None = []
    while lines is not None:
        look()
        due = max(due + every_s, clock())
        while (lines := wait(max(0.0, due - clock()))) is not None:
            for line in lines:
                host.tell(line)
            if clock() >= due:
                break
    # Counters are wanted on both sides of the last cell, too.
    look()
    last = {**host.facts(), **({} if gpu is None else gpu.last_facts())}
    used = os.times()
    missing = {**absent, **host.absent, **({} if gpu is None else gpu.absent)}
    own = {
        "sampler.cpu_s": round(used.user + used.system, 4),
        "sampler.wall_s": round(clock() - began, 4),
    }
    _write(out, {"facts": {**last, **own}, "absent": missing})


def _write(out: IO[str], line: dict[str, Any]) -> None:
    out.write(json.dumps(line, separators=(",", ":")) + "\n")
    out.flush()


def _wait_on(descriptor: int) -> Wait:
    """Lines of a pipe, which come whole: each is written at once, and short (pipe(7))."""

    def wait(seconds: float) -> list[str] | None:
        if not select.select([descriptor], [], [], seconds)[0]:
            return []
        return os.read(descriptor, 65536).decode(errors="replace").splitlines() or None

    return wait


def main(argv: Sequence[str] | None = None) -> int:
    """Samples until standard input ends."""
    parser = argparse.ArgumentParser(
        prog="python -m suite.host.telemetry.sampler", description=__doc__
    )
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
        every_s=options.every,
        wait=_wait_on(sys.stdin.fileno()),
        absent=absent,
        on_bus=count_on_bus(),
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
