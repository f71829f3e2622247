"""What the control groups that this process is in allow it: of each resource the least of its own group and
all groups above it, as far as they can be seen.

A limit can stand in any of them: systemd's in a slice, Slurm's in ``step_0/user`` above the task's own group,
Kubernetes' in the pod's.  Version 1, version 2 and both side by side, as the kernel's
``admin-guide/cgroup-v2.rst`` and cgroups(7) have them; in a cgroup namespace every path is relative to the
namespace's root, and what lies above that shows as ``..`` (cgroup_namespaces(7)).  Standard library only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.procfs import read_text

UNLIMITED_BYTES = 2**60
"""Version 1 writes "no limit" as the largest multiple of a page below 2**63."""

_UP = ".."


@dataclass(frozen=True)
class Group:
    """A control group that bounds this process: its ``folder``, and its ``name`` below the mount's top."""

    folder: Path
    name: str


@dataclass(frozen=True)
class Bound:
    """A limit, in CPUs (a quota) or bytes (memory), and the group that sets it."""

    value: float
    group: Group


@dataclass(frozen=True, kw_only=True)
class _Mount:
    """A mounted hierarchy: ``top`` is its folder here, ``root`` what of the hierarchy is there."""

    top: Path
    root: tuple[str, ...]
    unified: bool
    controllers: frozenset[str]


def list_groups(controller: str, root: Path = Path("/"), pid: int | None = None) -> list[Group]:
    """The groups that bound this process, or the one of that number, in a controller (``cpu``, ``memory``,
    ``cpuset``): its own first, the topmost that can be seen from here last.  Empty: none can be seen.

    Which hierarchy has the controller is told by /proc/self/cgroup, where that is mounted by mountinfo.
    """
    process = "self" if pid is None else str(pid)
    unified, path = _find_path(controller, read_text(root / "proc" / process / "cgroup"))
    if path is None:
        return []
    chains = []
    for mount in _list_mounts(read_text(root / "proc/self/mountinfo"), root):
        if mount.unified == unified and (unified or controller in mount.controllers):
            own = _locate(mount, path, os.getpid() if pid is None else pid)
            chains.append([] if own is None else list(_climb(mount.top, own)))
    # Another mount can show less of the hierarchy: a part of it that was bound elsewhere.
    return max(chains, key=len, default=[])


def find_quota(groups: list[Group]) -> Bound | None:
    """The least CPU quota of these groups, in CPUs; None: none of them has one."""
    quotas = []
    for group in groups:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        two = read_text(group.folder / "cpu.max")
        text = two or " ".join(read_text(group.folder / name) for name in names)
        quota, period = (*text.split(), "", "")[:2]
        if quota.isdigit() and period.isdigit() and int(period):
            quotas.append(Bound(int(quota) / int(period), group))
    return _least(quotas)


def find_memory(groups: list[Group]) -> Bound | None:
    """The least memory limit of these groups, in bytes; None: none of them has one.

    ``memory.high`` is one as well: beyond it the kernel takes back pages and slows the process down rather
    than let it grow.  Version 1's ``hierarchical_memory_limit`` also knows groups that can't be seen.
    """
    bounds = []
    for group in groups:
        texts = [
            read_text(group.folder / name).strip()
            for name in ("memory.max", "memory.high", "memory.limit_in_bytes")
        ]
        stat = read_text(group.folder / "memory.stat")
        texts += re.findall(r"^hierarchical_memory_limit (\d+)$", stat, re.MULTILINE)
        limits = (int(text) for text in texts if text.isdigit())
        bounds += [Bound(limit, group) for limit in limits if limit < UNLIMITED_BYTES]
    return _least(bounds)


def find_cpuset(groups: list[Group]) -> str | None:
    """The CPUs that a process in the first of these groups may use, as the kernel writes them.

    What is effective in a group accounts for those above it; without the controller its parent's counts.
    """
    for group in groups:
        for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
            if text := read_text(group.folder / name).strip():
                return text
    return None


def read_throttled(groups: list[Group]) -> dict[str, float]:
    """The seconds for which a quota has held back each of these groups so far, by the group's folder.

    Summed over CPUs by the kernel.  A group that is held back by the one above it does not count that, so
    two groups' times are neither apart nor the same.
    """
    throttled = {}
    for group in groups:
        for line in read_text(group.folder / "cpu.stat").splitlines():
            key, _, value = line.partition(" ")
            if key in ("throttled_usec", "throttled_time") and value.isdigit():
                throttled[str(group.folder)] = int(value) / (
                    1e6 if key == "throttled_usec" else 1e9
                )
    return throttled


def _least(bounds: list[Bound]) -> Bound | None:
    return min(bounds, key=lambda bound: bound.value, default=None)


def _find_path(controller: str, text: str) -> tuple[bool, str | None]:
    """Whether the controller is version 2's, and the process's path in that hierarchy; None: it has none.

    What no hierarchy of version 1 has taken is the unified one's.
    """
    unified = None
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if controller in names.split(","):
            return False, path
        if number == "0" and not names:
            unified = path
    return True, unified


def _list_mounts(text: str, root: Path) -> Iterator[_Mount]:
    """The control groups' mounts in a mountinfo (proc(5)), in the order of mounting."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or len(kind) < 3 or kind[0] not in ("cgroup", "cgroup2"):
            continue
        yield _Mount(
            top=root / _unescape(fields[4]).lstrip("/"),
            root=_split(_unescape(fields[3])),
            unified=kind[0] == "cgroup2",
            controllers=frozenset(kind[2].split(",")),
        )


def _unescape(text: str) -> str:
    """As the kernel escapes spaces, tabs, line ends and backslashes there: in octal."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def _split(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.removesuffix(" (deleted)").split("/") if part)


def _locate(mount: _Mount, text: str, pid: int) -> Path | None:
    """The folder of a process's group; None: it is not below what is mounted there.

    Both paths are relative to the root of this process's cgroup namespace.  Where a mount begins above that,
    the names between are not told (Podman mounts no file system of the namespace's own); then it is the one
    group at that depth that lists the process.
    """
    path = _split(text)
    ups = _count_ups(mount.root)
    missing = ups - _count_ups(path)
    if missing < 0 or (missing > 0 and ups < len(mount.root)):
        return None
    if missing == 0:
        below = path[: len(mount.root)] == mount.root
        return mount.top.joinpath(*path[len(mount.root) :]) if below else None
    names = path[_count_ups(path) :]
    pattern = "/".join(["*"] * missing)
    for folder in sorted(mount.top.glob(pattern)):
        own = folder.joinpath(*names)
        if str(pid) in read_text(own / "cgroup.procs").split():
            return own
    return None


def _count_ups(path: tuple[str, ...]) -> int:
    return next((index for index, part in enumerate(path) if part != _UP), len(path))


def _climb(top: Path, own: Path) -> Iterator[Group]:
    """From a group to the mount's top."""
    for folder in (own, *own.parents):
        yield Group(folder, "/" + "/".join(folder.relative_to(top).parts))
        if folder == top:
            return
