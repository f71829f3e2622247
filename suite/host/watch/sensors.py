"""The processor's clocks, its heat, and what holds it back, by the kernel.  Linux only; reads only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from suite.kernel import groups, read_text
from suite.model import Scalar

MOST_CLOCKS = 16
"""No more CPUs' clocks are read: on some kernels each reading wakes the CPU that it is about."""

_HEAT = (
    ("thermal/thermal_zone*", "type", ("x86_pkg_temp", "cpu-thermal", "cpu_thermal"), "temp"),
    ("hwmon/hwmon*", "name", ("coretemp", "k10temp", "zenpower", "cpu_thermal"), "temp*_input"),
)
"""Where the kernel lists sensors, what tells a sensor's kind there, which are the processor's, and what has
their temperatures; what is found first is taken."""

_CPU = "sys/devices/system/cpu"

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
        self._clocks = [
            path
            for cpu in self._clocked
            if (path := root / f"{_CPU}/cpu{cpu}/cpufreq/scaling_cur_freq").exists()
        ]
        self._counts = [
            path
            for cpu in self._cpus
            for name in ("core_throttle_count", "package_throttle_count")
            if (path := root / f"{_CPU}/cpu{cpu}/thermal_throttle/{name}").exists()
        ]
        self._temperatures = _find_temperatures(root)
        # Whatever is above all others holds back containers as well, which can't see it themselves.
        self._groups = groups.list_groups("cpu", root)[-1:]
        self._sought: dict[str, int] = {}
        self._quotas: list[float] = []
        self._followed = False
        self._throttled = groups.read_throttled(self._groups)
        self._throttled_s = 0.0
        self.absent: dict[str, str] = {}

    def follow(self, container: str) -> None:
        """The groups of this container, and all above them, are watched as well from the next sample on.

        From inside only those below the root of its namespace can be seen, which is mostly its own.
        """
        self._sought[container] = _TRIES

    def facts(self) -> dict[str, Scalar]:
        """``cpu.quota``: the least quota of the groups that bound the containers, in CPUs, or ``none``;
        nothing where none of their groups was seen."""
        if not self._followed:
            return {}
        return {"cpu.quota": f"{min(self._quotas):g}" if self._quotas else "none"}

    def sample(self) -> dict[str, float | None]:
        """Every series' value now: the CPUs' mean and least clock, the times that one of them has
        slowed down for heat so far, the hottest sensor, and for how long a quota above the worker has held
        it back since the first look, summed over CPUs."""
        self._find_containers()
        clocks = self._read_clocks()
        counts = [number for path in self._counts if (number := _number(path)) is not None]
        heat = [number for path in self._temperatures if (number := _number(path)) is not None]
        values = {
            "cpu.clock_mhz": math.fsum(clocks) / len(clocks) if clocks else None,
            "cpu.clock_least_mhz": min(clocks, default=None),
            "cpu.throttle_events": sum(counts) if counts else None,
            "cpu.temperature_c": max(heat) / 1e3 if heat else None,
            "cpu.throttled_s": self._count_throttled(),
        }
        reasons = {
            "cpu.clock_mhz": "neither cpufreq nor /proc/cpuinfo tells it",
            "cpu.clock_least_mhz": "neither cpufreq nor /proc/cpuinfo tells it",
            "cpu.throttle_events": "no thermal_throttle counters under /sys/devices/system/cpu",
            "cpu.temperature_c": "no sensor of the processor under /sys/class",
            "cpu.throttled_s": "the control groups that are seen count no throttling",
        }
        for name, value in values.items():
            if value is None:
                self.absent.setdefault(name, reasons[name])
        return values

    def _find_containers(self) -> None:
        for container, left in list(self._sought.items()):
            pid = _find_process(self._root, container)
            self._sought[container] = left - 1
            if pid is not None or left == 1:
                del self._sought[container]
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
        if self._clocks:
            found = (_number(path) for path in self._clocks)
            return [number / 1e3 for number in found if number is not None]
        clocks, cpu = [], -1
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


def _number(path: Path) -> int | None:
    text = read_text(path).strip()
    return int(text) if text.lstrip("-").isdigit() else None
