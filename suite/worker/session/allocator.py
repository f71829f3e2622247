"""The C library's allocator, held still, so that a cell's time does not depend on the cells before it.

glibc gives freed memory back to the kernel, and fetches it anew page by page, by thresholds that it moves
as it sees larger blocks come and go, until somebody sets them. TensorFlow 2.21 does: with the first
``Dataset.from_generator`` of a process (``ApplyPython311MemoryPatch``) to 128 KiB, from when on each step
of a small network pays for hundreds of page faults, and takes twice to three times as long.
"""

from __future__ import annotations

import ctypes

from suite.model import Scalar

MMAP_THRESHOLD = 32 << 20
TRIM_THRESHOLD = 2 * MMAP_THRESHOLD
"""In bytes, the highest to which glibc moves them by itself (mallopt(3)): as in a process that has once freed
a block of that size.  Larger blocks are fetched and given back at each call, as always."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def hold_still() -> dict[str, Scalar]:
    """Sets the thresholds, until something else does.

    Returns:
        as the fact ``malloc`` what they are; None: this C library has no such thresholds.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    values = {_M_MMAP_THRESHOLD: MMAP_THRESHOLD, _M_TRIM_THRESHOLD: TRIM_THRESHOLD}
    held = mallopt is not None and all(mallopt(name, value) for name, value in values.items())
    told = f"mmap from {MMAP_THRESHOLD} bytes, trim from {TRIM_THRESHOLD} bytes"
    return {"malloc": told if held else None}
