"""The scratch space: a folder on disk for cells that read files, and what the page cache holds of it.

The only file of the worker that writes files.  Whoever runs the worker names the folder by the
environment variable `VARIABLE`; without it those cells are skipped.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
from collections.abc import Callable
from pathlib import Path

from suite.model import Scalar
from suite.procfs import read_text
from suite.worker.scenario.scenario import Inapplicable

VARIABLE = "CROSSOVER_SCRATCH"
"""The environment variable that names the folder."""

SPARE_BYTES = 16 * 2**20
"""What has to stay free beside a cell's own files: a disk that is full to the brim is a slow one."""


def folder() -> Path:
    """The scratch space.

    Raises:
        Inapplicable: none was given, or it is not a folder.
    """
    given = os.environ.get(VARIABLE)
    if not given:
        raise Inapplicable(f"no scratch space on disk was given ({VARIABLE} names none)")
    path = Path(given)
    if not path.is_dir():
        raise Inapplicable(f"the scratch space that {VARIABLE} names is not there")
    return path


def keep(name: str, size: int, write: Callable[[Path], None]) -> Path:
    """The file of that name, written now or by an earlier invocation of the same campaign.

    Under another name until it is whole and on disk, so that one that is there is complete, and its
    pages are clean: only those can be dropped from the cache.

    Args:
        name: the file's name.
        size: at most so many bytes will be written.
        write: writes it to the path it is given.

    Raises:
        Inapplicable: there is no scratch space, too little of it, or it can't be written.
    """
    path = folder() / name
    if path.exists():
        return path
    try:
        _demand_space(path.parent, size + SPARE_BYTES)
        part = path.with_name(f"{name}.part")
        write(part)
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise Inapplicable(f"the scratch space can't be written: {error.strerror}") from error
    return path


def _demand_space(place: Path, needed: int) -> None:
    space = os.statvfs(place)
    free = space.f_bavail * space.f_frsize
    if free < needed:
        raise Inapplicable(f"the scratch space has {free} bytes free; this cell needs {needed}")


def facts(mounts: Path = Path("/proc/self/mountinfo")) -> dict[str, Scalar]:
    """The kind of the scratch space's file system, its size and what is free, in bytes; nothing
    where no scratch space was given, which most invocations have no need of."""
    try:
        path = folder()
        space = os.statvfs(path)
    except (Inapplicable, OSError):
        return {}
    return {
        "scratch.filesystem": _filesystem(path.resolve(), mounts),
        "scratch.bytes": space.f_blocks * space.f_frsize,
        "scratch.free_bytes": space.f_bavail * space.f_frsize,
    }


def _filesystem(path: Path, mounts: Path) -> str | None:
    """The kind of the file system that a path lies on, such as ``ext4``; None: can't be told.

    The innermost mount counts, and of several at one place the last; the fields are those of
    proc_pid_mountinfo(5).
    """
    kind, depth = None, -1
    for line in read_text(mounts).splitlines():
        place, _, source = line.partition(" - ")
        # Spaces in a path are written as octal escapes.
        point = Path(place.split()[4].replace("\\040", " "))
        if len(point.parts) >= depth and (path == point or point in path.parents):
            kind, depth = source.split()[0], len(point.parts)
    return kind


def drop_cache(path: Path) -> None:
    """Asks the kernel to forget a file's pages, so that the next reader waits for the disk.

    Needs no rights; only clean pages go (`keep` has synced them).  What the disk itself, or a
    hypervisor under it, remembers stays.
    """
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached_share(path: Path) -> float:
    """The share of a file's pages that are in the page cache, by mincore(2).

    The kernel tells it to a file's owner; a sandbox that will not say answers "all".

    Raises:
        OSError: it can't be asked.
    """
    size = path.stat().st_size
    pages = -(-size // mmap.PAGESIZE)
    with path.open("rb") as file:
        # Private and writable because only then its address can be had; nothing is touched.
        mapped = mmap.mmap(
            file.fileno(), size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE
        )
    try:
        first = ctypes.c_char.from_buffer(mapped)
        residency = (ctypes.c_ubyte * pages)()
        failed = ctypes.CDLL(None, use_errno=True).mincore(
            ctypes.c_void_p(ctypes.addressof(first)), ctypes.c_size_t(size), residency
        )
        del first
    finally:
        mapped.close()
    if failed:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return sum(page & 1 for page in residency) / pages


def bytes_from_disk(counters: Path = Path("/proc/self/io")) -> int | None:
    """The bytes that this process has had fetched from disks so far (``read_bytes`` of
    proc_pid_io(5)); None: the kernel does not count them."""
    match = re.search(r"^read_bytes:(.*)", read_text(counters), re.MULTILINE)
    return int(match[1]) if match else None
