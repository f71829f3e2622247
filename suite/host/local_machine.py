"""What this process may use of this machine, and whether an engine is on it.  Linux only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def cpus_allowed() -> tuple[int, ...]:
    """The logical CPUs that this process may run on, ascending."""
    return tuple(sorted(os.sched_getaffinity(0)))


def memory_total() -> int | None:
    """The machine's memory in bytes; None where the kernel does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


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
