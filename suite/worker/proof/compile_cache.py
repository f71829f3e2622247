"""What CUDA's compile cache holds: the kernels that the driver has compiled from intermediate code.

Reads names and sizes, and no content, so that a cold start stays as cold as it was.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from suite.model import CACHE, Scalar

VARIABLE = "CUDA_CACHE_PATH"
"""CUDA's environment variable that names the cache's folder."""

_INDEX = "index"
"""CUDA's list of what is there: a cache that has nothing else is empty."""


def facts(when: Literal["start", "end"]) -> dict[str, Scalar]:
    """How many compiled files the cache holds now, and their bytes; None: no cache was given, or it
    can't be read.  A folder that CUDA has yet to make holds none."""
    files, size = _count()
    return {f"{CACHE}.at_{when}.files": files, f"{CACHE}.at_{when}.bytes": size}


def _count() -> tuple[int, int] | tuple[None, None]:
    given = os.environ.get(VARIABLE)
    if not given:
        return None, None
    top = Path(given)
    if not top.exists():
        return 0, 0
    files = size = 0
    try:
        for folder, _, names in os.walk(top, onerror=_refuse):
            for name in names:
                if name == _INDEX and Path(folder) == top:
                    continue
                try:
                    size += Path(folder, name).lstat().st_size
                except FileNotFoundError:
                    continue  # a process beside this one has made room
                files += 1
    except OSError:
        return None, None
    return files, size


def _refuse(error: OSError) -> None:
    # Or os.walk would pass over the folder, and what can't be read would count as empty.
    if not isinstance(error, FileNotFoundError):
        raise error
