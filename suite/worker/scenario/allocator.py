"""The C library's allocator, held still, so that a cell's time does not depend on the cells before it.

glibc gives freed memory back to the kernel, and fetches it anew page by page, by thresholds that it moves
as it sees larger blocks come and go, until somebody sets them. TensorFlow 2.21 does: with the first
``Dataset.from_generator`` of a process, and only then, to 128 KiB, from when on each step of a small network
pays for hundreds of page faults, and takes twice to three times as long.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

from suite.model import Scalar

MMAP_THRESHOLD = 32 << 20
TRIM_THRESHOLD = 2 * MMAP_THRESHOLD
"""In bytes, the highest to which glibc moves them by itself (mallopt(3)): as in a process that has once freed
a block of that size.  Larger blocks are fetched and given back at each call, as always."""

GENERATOR_THRESHOLD = 128 << 10
"""What TensorFlow sets, in bytes."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3

_SETS_IT = "_ZN10tensorflow4data25ApplyPython311MemoryPatchEv"
"""The function that does, as a TensorFlow that has it exports it."""


def hold_still() -> dict[str, Scalar]:
    """Sets the thresholds, until something else does.

    Returns:
        as the fact ``malloc`` what glibc was told; None: this C library has no such thresholds, or something
        else allocates, such as a jemalloc that was preloaded: mallopt then sets what nobody uses.
    """
    values = {_M_MMAP_THRESHOLD: MMAP_THRESHOLD, _M_TRIM_THRESHOLD: TRIM_THRESHOLD}
    held = all(_set(name, value) for name, value in values.items()) and _allocates()
    told = f"mmap from {MMAP_THRESHOLD} bytes, trim from {TRIM_THRESHOLD} bytes"
    return {"malloc": told if held else None}


def follow_generator(libraries: str) -> bool:
    """Sets the threshold that TensorFlow sets with a process's first generator, where it is one that does: so
    has each cell with a generator what a script with one has, and not only the first such cell.

    Args:
        libraries: TensorFlow's folder of libraries.
    """
    path = Path(libraries, "libtensorflow_cc.so.2")
    sets_it = path.exists() and hasattr(ctypes.CDLL(str(path)), _SETS_IT)
    return sets_it and _set(_M_MMAP_THRESHOLD, GENERATOR_THRESHOLD)


class _Counts(ctypes.Structure):
    """What mallinfo(3) counts, of which the blocks that came from the kernel one by one are asked for."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd")),
        *((name, ctypes.c_int) for name in ("usmblks", "fsmblks", "uordblks", "fordblks")),
        ("keepcost", ctypes.c_int),
    )


def _allocates() -> bool:
    """Whether glibc is who allocates: a block of the threshold's size, which nobody touches, is counted."""
    process = ctypes.CDLL(None)
    try:
        count, malloc, free = process.mallinfo, process.malloc, process.free
    except AttributeError:
        return False
    count.restype, malloc.restype = _Counts, ctypes.c_void_p
    malloc.argtypes, free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
    before = count().hblks
    block = malloc(MMAP_THRESHOLD)
    counted = count().hblks > before
    free(block)
    return bool(block) and counted


def _set(name: int, value: int) -> bool:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(name, value))
