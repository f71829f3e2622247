"""Counters of the kernel's: evidence that something else was at work while a cell was measured.

Reads /proc and /sys before and after, and gives differences; a counter that this machine does not
have is None.  The analysis judges them.
"""

from __future__ import annotations

import math
import os
import re
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from suite import clock
from suite.procfs import groups, read_text, read_times

_MOST_CLOCKS = 16
"""No more CPUs' clocks are read: on some kernels each reading wakes the CPU that it is about."""


@dataclass(frozen=True, kw_only=True)
class Counters:
    """The kernel's cumulative counters at one instant, in seconds; None: not there.

    ``busy_s`` and ``steal_s`` are of the CPUs that this process may use, ``own_s`` is this process's
    own CPU time, ``pressure_s`` the time in which some task of the machine waited for a CPU.
    ``throttled_s`` is by control group for how long its quota has held it back, summed over CPUs.
    ``page_faults`` are this process's that needed no disk.
    ``thermal_events`` counts how often these CPUs, or their package, slowed down for heat;
    ``clock_mhz`` is their mean clock, and ``wall_s`` when that was, of ``time.monotonic``.
    """

    wall_s: float
    busy_s: float | None
    steal_s: float | None
    own_s: float
    page_faults: int
    throttled_s: Mapping[str, float]
    pressure_s: float | None
    thermal_events: float | None
    clock_mhz: float | None
    cpus: int


def read(root: Path = Path("/")) -> Counters:
    """The counters now."""
    cpus = os.sched_getaffinity(0)
    busy_s, steal_s = read_times(root, cpus)
    used = os.times()
    return Counters(
        wall_s=time.monotonic(),
        busy_s=busy_s,
        steal_s=steal_s,
        own_s=used.user + used.system,
        page_faults=resource.getrusage(resource.RUSAGE_SELF).ru_minflt,
        throttled_s=groups.read_throttled(groups.list_groups("cpu", root)),
        pressure_s=_pressure_s(root),
        thermal_events=_thermal_events(root, cpus),
        clock_mhz=_clock_mhz(root, cpus),
        cpus=len(cpus),
    )


def compare(before: Counters, after: Counters) -> dict[str, float | None]:
    """What happened in between; shares are per second of wall time.

    Returns:
        ``throttled_share``: seconds for which a CPU quota held back the worst of the control groups,
        summed over CPUs, so that it can be over 1; ``steal_share``: of the usable CPUs' time, taken by
        the hypervisor; ``foreign_cpus``: usable CPUs kept busy by others;
        ``own_cpus``: CPUs kept busy by this process; ``page_faults``: its that needed no disk, a second;
        ``pressure_share``: of the time, some task of
        the machine waited for a CPU (this process's own threads count in it); ``thermal_events``: how
        often the usable CPUs slowed down for heat; ``clock_mhz``: their mean clock at the end, before
        they idle; ``from_s`` and ``to_s``: when it was, in seconds since 1970 (UTC).  None: unknown.
    """
    wall = max(after.wall_s - before.wall_s, 1e-9)
    own = (after.own_s - before.own_s) / wall
    busy = _rise(before.busy_s, after.busy_s, wall)
    steal = _rise(before.steal_s, after.steal_s, wall)
    return {
        "throttled_share": _throttled_share(before, after, wall),
        "steal_share": None if steal is None else steal / after.cpus,
        "foreign_cpus": None if busy is None else max(0.0, busy - own),
        "own_cpus": own,
        "page_faults": (after.page_faults - before.page_faults) / wall,
        "pressure_share": _rise(before.pressure_s, after.pressure_s, wall),
        "thermal_events": _rise(before.thermal_events, after.thermal_events),
        "clock_mhz": after.clock_mhz,
        "from_s": clock.to_timestamp(before.wall_s),
        "to_s": clock.to_timestamp(after.wall_s),
    }


def _rise(before: float | None, after: float | None, per: float = 1.0) -> float | None:
    return None if before is None or after is None else max(0.0, after - before) / per


def _throttled_share(before: Counters, after: Counters, wall: float) -> float | None:
    """The worst, not the sum: where one group lies within the other, both can have waited at once."""
    both = before.throttled_s.keys() & after.throttled_s.keys()
    rises = (after.throttled_s[name] - before.throttled_s[name] for name in both)
    return max(0.0, *rises) / wall if both else None


def _pressure_s(root: Path) -> float | None:
    """Seconds in which some task waited for a CPU (pressure stall information, ``some``)."""
    match = re.search(r"^some.*total=(.*)", read_text(root / "proc/pressure/cpu"), re.MULTILINE)
    return int(match[1]) / 1e6 if match else None


def _thermal_events(root: Path, cpus: set[int]) -> float | None:
    """How often these CPUs' cores have slowed down for heat, and their packages, so far.

    Newer engines hide these counters from containers; then the telemetry from outside has them.
    """
    folders = [root / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle" for cpu in sorted(cpus)]
    cores = [_number(folder / "core_throttle_count") for folder in folders]
    packages = [_number(folder / "package_throttle_count") for folder in folders]
    counts = [count for count in cores if count is not None]
    # Every CPU of a package has the package's one counter.
    package = max((count for count in packages if count is not None), default=None)
    if not counts and package is None:
        return None
    return float(sum(counts) + (package or 0))


def _clock_mhz(root: Path, cpus: set[int]) -> float | None:
    """The mean clock of these CPUs, from cpufreq, else from the kernel's list of processors."""
    folder = root / "sys/devices/system/cpu"
    clocks = [
        kilohertz / 1e3
        for cpu in sorted(cpus)[:_MOST_CLOCKS]
        if (kilohertz := _number(folder / f"cpu{cpu}/cpufreq/scaling_cur_freq")) is not None
    ]
    if not clocks and len(cpus) <= _MOST_CLOCKS:
        processor = -1
        for line in read_text(root / "proc/cpuinfo").splitlines():
            name, _, value = (part.strip() for part in line.partition(":"))
            if name == "processor" and value.isdigit():
                processor = int(value)
            elif name == "cpu MHz" and processor in cpus:
                clocks.append(float(value))
    return math.fsum(clocks) / len(clocks) if clocks else None


def _number(path: Path) -> int | None:
    text = read_text(path).strip()
    return int(text) if text.isdigit() else None
