"""Lists of CPUs as the kernel writes them: ``0-3,8``."""

from __future__ import annotations

import re

from suite.errors import UsageError
from suite.ranges import RANGES


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
