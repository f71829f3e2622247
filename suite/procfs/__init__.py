"""What the kernel says of this machine in its small files (/proc, /sys), to the host as in a container.

Standard library only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path

_PLACES = ("/proc/driver/nvidia/version", "/sys/module/nvidia/version")
"""Of NVIDIA's driver: its own file, which NVIDIA's hook leaves visible in containers, then its module's."""

_VERSION = re.compile(r"(?:Module\s+(?:for \S+\s+)?|^\s*)(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)
"""The first file has a line about the module and one about a compiler; the second only a number."""

VERSION_PROBE = (
    f"import pathlib; [print(p.read_text()) for p in map(pathlib.Path, {_PLACES!r}) if p.is_file()]"
)
"""Python that prints what a container sees of both files, and nothing where it sees neither."""


def read_text(path: Path) -> str:
    """The text of a file; empty where it can't be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_times(root: Path, cpus: Collection[int]) -> tuple[float | None, float | None]:
    """Busy and stolen seconds of these CPUs; the fields of proc_stat(5), in clock ticks."""
    text = read_text(root / "proc/stat")
    if not text:
        return None, None
    tick = os.sysconf("SC_CLK_TCK")
    busy = steal = 0.0
    for line in text.splitlines():
        name, *fields = line.split()
        if name[3:].isdigit() and name.startswith("cpu") and int(name[3:]) in cpus:
            user, nice, system, _idle, _iowait, irq, softirq, stolen = map(int, fields[:8])
            busy += (user + nice + system + irq + softirq) / tick
            steal += stolen / tick
    return busy, steal


def find_version(text: str) -> str | None:
    """The version of NVIDIA's driver in the text of one of its files or both; None: it does not say."""
    match = _VERSION.search(text)
    return match[1] if match else None


def read_version(root: Path = Path("/")) -> str | None:
    """The version of this machine's driver; None: none is loaded, or it can't be told (WSL)."""
    for place in _PLACES:
        if version := find_version(read_text(root / place.lstrip("/"))):
            return version
    return None


def memory_total() -> int | None:
    """The machine's memory in bytes; None where the kernel does not say."""
    match = re.search(r"^MemTotal:\s*(\d+)", read_text(Path("/proc/meminfo")), re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def write_cpus(cpus: Iterable[int]) -> str:
    """CPU numbers as the kernel writes them: ``0-3,8``."""
    parts: list[tuple[int, int]] = []
    for cpu in sorted(cpus):
        if parts and parts[-1][1] == cpu - 1:
            parts[-1] = (parts[-1][0], cpu)
        else:
            parts.append((cpu, cpu))
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
