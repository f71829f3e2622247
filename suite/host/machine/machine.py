"""What this process may use of this machine, whether an engine is on it, and which of its processes
live.  Linux only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from suite.errors import UsageError
from suite.input_limits import RANGES
from suite.model import Scalar
from suite.procfs import groups, memory_total, read_text


def parse_cpus(text: str) -> tuple[int, ...]:
    """CPU numbers of ``0-3,8``, ascending.

    Raises:
        UsageError: it is not such a list, or names a CPU that no machine has.
    """
    cpus: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,99})(?:-(\d{1,99}))?", part.strip())
        if match is None or (match[2] is not None and int(match[2]) < int(match[1])):
            raise UsageError(f"{text[:99]!r} is not a list of CPUs", "write 0-3 or 0,2,4")
        first, last = int(match[1]), int(match[2] or match[1])
        if complaint := RANGES["cpus"].refuse(last):
            raise UsageError(
                f"{text[:99]!r} is not a list of CPUs: {complaint}", "write 0-3 or 0,2,4"
            )
        cpus.update(range(first, last + 1))
    return tuple(sorted(cpus))


def cpus_allowed() -> tuple[int, ...]:
    """The logical CPUs that this process may run on, ascending."""
    return tuple(sorted(os.sched_getaffinity(0)))


_ALLOCATED = ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE")
"""How many CPUs a job has asked for, and has been given on this machine; each may be missing."""


def cpus_withheld(
    allowed: Iterable[int] = (),
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The CPUs that this process is given, and those among them on which it may not run all the same:
    ``allowed`` (none: it is asked) is what `cpus_allowed` says.

    The control groups give them, or else Slurm by binding alone, where it says in ``environment`` (this
    process's unless given) that the job was to have no more.  What withholds some is a pinned shell, a
    binding that nobody asked for, or CPUs that the kernel was told to isolate.  None: what the groups give
    can't be seen.
    """
    cpuset = groups.find_cpuset(groups.list_groups("cpuset", root))
    if cpuset is None:
        return None
    every, usable = parse_cpus(cpuset), tuple(sorted(allowed or cpus_allowed()))
    allocated = map((os.environ if environment is None else environment).get, _ALLOCATED)
    # Slurm rounds up to whole cores.
    if any(number and number.isdigit() and 0 < int(number) <= len(usable) for number in allocated):
        every = tuple(cpu for cpu in every if cpu in usable)
    return every, tuple(sorted(set(every) - set(usable)))


def describe_binding(
    root: Path = Path("/"), environment: Mapping[str, str] | None = None
) -> dict[str, Scalar]:
    """Facts for the document: how many cores this process is given, and of how many it may use no CPU."""
    if (found := cpus_withheld(root=root, environment=environment)) is None:
        return {}
    every, withheld = found
    cores = find_cores(every, root)
    idle = sum(set(core) <= set(withheld) for core in cores)
    return {"cores": len(cores), "cores_withheld": idle}


def is_this_machine(info: Mapping[str, Any]) -> bool | None:
    """Whether the engine that gives this ``info`` over a local socket runs on this machine.

    A socket file proves little: it can be forwarded (``ssh -L``) or lead into a virtual machine
    (Docker Desktop).  Another kernel release: no.  The same kernel release, host name, number of
    CPUs and memory to the byte: yes; twins from one cloud image share all but the name.  Anything
    between, such as a socket mounted into a development container with a name of its own: None.
    """
    here = os.uname()
    if info.get("KernelVersion") != here.release:
        return False
    same = (
        info.get("Name") == here.nodename
        and info.get("NCPU") == os.cpu_count()
        and info.get("MemTotal") == memory_total()
    )
    return True if same else None


def _start_ticks(pid: int | str) -> str:
    # Field 22; the second field, the name in parentheses, may hold spaces.
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]


def _place() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"


def own_token() -> str:
    """Names this process among all that ever were: boot, process namespace, id, start time."""
    return f"{_place()}|{os.getpid()}@{_start_ticks('self')}"


def is_alive(token: str) -> bool | None:
    """Whether the process of that token still runs; None: it can't be seen from here."""
    place, _, rest = token.rpartition("|")
    if place != _place():
        return None
    pid, _, ticks = rest.partition("@")
    try:
        return _start_ticks(pid) == ticks
    except (OSError, IndexError):
        return False


def find_cores(cpus: Iterable[int], root: Path = Path("/")) -> list[tuple[int, ...]]:
    """These CPUs by the core that they are threads of, ascending; one by one where that is not told."""
    cores: dict[str, list[int]] = {}
    for cpu in sorted(cpus):
        path = root / f"sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
        siblings = read_text(path).strip() or f"cpu{cpu}"
        cores.setdefault(siblings, []).append(cpu)
    return [tuple(threads) for threads in cores.values()]
