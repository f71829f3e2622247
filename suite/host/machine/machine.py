"""What this process may use of this machine, whether an engine is on it, and which of its processes
live.  Linux only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from suite.kernel import memory_total, read_text


def cpus_allowed() -> tuple[int, ...]:
    """The logical CPUs that this process may run on, ascending."""
    return tuple(sorted(os.sched_getaffinity(0)))


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
