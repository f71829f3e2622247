"""The processor's clocks, its heat, and what holds it back, by the kernel.  Linux only; reads only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from suite.kernel import groups, read_text

MOST_CLOCKS = 16
"""No more CPUs' clocks are read: on some kernels each reading wakes the CPU that it is about."""

_HEAT = (
    ("thermal/thermal_zone*", "type", ("x86_pkg_temp", "cpu-thermal", "cpu_thermal"), "temp"),
    ("hwmon/hwmon*", "name", ("coretemp", "k10temp", "zenpower", "cpu_thermal"), "temp*_input"),
)
"""Where the kernel lists sensors, what tells a sensor's kind there, which are the processor's, and what has
their temperatures; what is found first is taken."""

_CPU = "sys/devices/system/cpu"


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
        self._topmost = groups.list_groups("cpu", root)[-1:]
        self.absent: dict[str, str] = {}

    def sample(self) -> dict[str, float | None]:
        """Every series' value now: the CPUs' mean and least clock, the times that one of them has
        slowed down for heat so far, the hottest sensor, and for how long a quota of all that runs here has
        held it back so far, summed over CPUs."""
        clocks = self._read_clocks()
        counts = [number for path in self._counts if (number := _number(path)) is not None]
        heat = [number for path in self._temperatures if (number := _number(path)) is not None]
        values = {
            "cpu.clock_mhz": math.fsum(clocks) / len(clocks) if clocks else None,
            "cpu.clock_least_mhz": min(clocks, default=None),
            "cpu.throttle_events": sum(counts) if counts else None,
            "cpu.temperature_c": max(heat) / 1e3 if heat else None,
            "cpu.throttled_s": max(groups.read_throttled(self._topmost).values(), default=None),
        }
        reasons = {
            "cpu.clock_mhz": "neither cpufreq nor /proc/cpuinfo tells it",
            "cpu.clock_least_mhz": "neither cpufreq nor /proc/cpuinfo tells it",
            "cpu.throttle_events": "no thermal_throttle counters under /sys/devices/system/cpu",
            "cpu.temperature_c": "no sensor of the processor under /sys/class",
            "cpu.throttled_s": "the topmost control group counts no throttling",
        }
        for name, value in values.items():
            if value is None:
                self.absent.setdefault(name, reasons[name])
        return values

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
