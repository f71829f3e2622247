"""Lists of CPUs as the kernel writes them: ``0-3,8``; and how much of them a control group may use."""

from __future__ import annotations

import re
from pathlib import Path

from suite.errors import UsageError
from suite.kernel import read_text
from suite.ranges import RANGES


def parse_cpus(text: str) -> tuple[int, ...]:
    """CPU numbers of ``0-3,8``, ascending.

    Raises:
        UsageError: it is no such list, or names a CPU that no machine has.
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


def read_quota(root: Path = Path("/")) -> float | None:
    """The quota of this process's control group, in CPUs, of version 2 first; None: there is none."""
    groups = root / "sys/fs/cgroup"
    names = ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")
    told = read_text(groups / "cpu.max") or " ".join(read_text(groups / name) for name in names)
    quota, period = (*told.split(), "", "")[:2]
    return int(quota) / int(period) if quota.isdigit() and int(period or 0) else None
