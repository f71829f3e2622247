"""CUDA in this process: libraries that TensorFlow does not find by itself or that are missing, compilers, and
the cache of compiled kernels.

Asks the dynamic linker, and imports no TensorFlow.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from suite.model import CACHE, Scalar
from suite.procfs import read_text

DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
"""What the driver brings.  Without the second TensorFlow 2.21 lists no GPU and says nothing."""

TOOLKIT = (
    *("libcudart.so", "libcublas.so", "libcublasLt.so", "libcufft.so", "libcusolver.so"),
    *("libcusparse.so", "libcudnn.so"),
)
"""What TensorFlow opens before it lists a GPU; where one is missing it lists none."""

UNFOUND = ("nvidia/cusolver/lib", "libcusolver.so")
"""TensorFlow 2.21's library looks for CUDA's libraries in the folder of every package of NVIDIA's but
this one (its RUNPATH, read with readelf; the same file for Python 3.11, 3.12 and 3.13)."""

CUSOLVER = "cuda.cusolver"
"""The fact of who found that library."""

COMPILERS = "nvidia/cuda_nvcc/bin"

PTXAS = "cuda.ptxas"
"""The fact of which compiler XLA finds."""

CACHE_VARIABLE = "CUDA_CACHE_PATH"
"""CUDA's environment variable that names the cache's folder."""

_CACHE_INDEX = "index"
"""CUDA's list of what is there: a cache that has nothing else is empty."""


def mapped(root: Path = Path("/")) -> list[str]:
    """The paths of the shared libraries in this process."""
    text = read_text(root / "proc/self/maps")
    return sorted({line.split(maxsplit=5)[5] for line in text.splitlines() if ".so" in line})


def find(paths: Sequence[str], name: str) -> str | None:
    """The first of these libraries whose file's name begins so."""
    return next((path for path in paths if path.rsplit("/", 1)[-1].startswith(name)), None)


def is_loaded(name: str) -> bool:
    """Whether a library is in this process.

    Asks the linker and not TensorFlow, so that a TensorFlow that only says it has a GPU is found out.
    """
    return _opens(name, os.RTLD_NOLOAD)


def open_unfound() -> dict[str, Scalar]:
    """Opens the library that TensorFlow would not find, after which it does: the linker knows it by name.

    Has to come before TensorFlow lists its devices.  The libraries that it needs in turn (cuBLAS, cuSPARSE)
    are loaded with it, which TensorFlow then need not do.

    Returns:
        as facts who found it (``opened by the suite``; ``left to TensorFlow`` where the package is not
        here, as in an image that has the library among the system's; or why it could not be opened), and
        how many seconds that took.
    """
    began = time.perf_counter_ns()
    finder = _open()
    return {CUSOLVER: finder, f"{CUSOLVER}.seconds": (time.perf_counter_ns() - began) / 1e9}


def _open() -> str:
    folder, name = UNFOUND
    for place in sys.path:
        for path in sorted(Path(place, folder).glob(f"{name}*")):
            try:
                ctypes.CDLL(str(path))
            except OSError as error:
                # Its path is left out, which can hold a person's name.
                return f"can't be opened: {str(error).replace(str(path), path.name)}"
            return "opened by the suite"
    return "left to TensorFlow"


def lead_with_compilers() -> dict[str, Scalar]:
    """Puts the packages' own compilers first on PATH: XLA takes the first ``ptxas`` there, and another
    CUDA's would be another compiler than these libraries go with.

    Has to come before XLA compiles anything.

    Returns:
        the fact whose ``ptxas`` comes first: ``the packages' own``, or ``the first on PATH``.
    """
    for place in sys.path:
        folder = Path(place, COMPILERS)
        if (folder / "ptxas").is_file():
            os.environ["PATH"] = os.pathsep.join([str(folder), os.environ.get("PATH", os.defpath)])
            return {PTXAS: "the packages' own"}
    return {PTXAS: "the first on PATH"}


def explain_absence(root: Path = Path("/")) -> str | None:
    """Which libraries are missing where TensorFlow lists no GPU, or None where all are there."""
    lacking = [name for name in DRIVER if not _opens(name)]
    if lacking:
        return f"{' and '.join(lacking)}, which the driver brings, can't be opened"
    # Where one of these does not start TensorFlow does not come to look for the others.
    if status := ctypes.CDLL(DRIVER[1]).nvmlInit_v2():
        return f"NVML does not start (nvmlInit gives {status})"
    if status := ctypes.CDLL(DRIVER[0]).cuInit(0):
        return f"CUDA's driver does not start (cuInit gives {status})"
    here = mapped(root)
    unfound = [name for name in TOOLKIT if find(here, name) is None]
    return f"TensorFlow has not loaded {', '.join(unfound)}" if unfound else None


def _opens(name: str, mode: int = ctypes.DEFAULT_MODE) -> bool:
    try:
        ctypes.CDLL(name, mode)
    except OSError:
        return False
    return True


def cache_facts(when: Literal["start", "end"]) -> dict[str, Scalar]:
    """How many files CUDA's compile cache holds now: kernels that the driver has compiled from intermediate
    code, and their bytes; None: no cache was given, or it can't be read.  A folder that CUDA has yet to make
    holds none.  Reads names and sizes, and no content, so that a cold start stays as cold as it was.
    """
    files, size = _count_cache()
    return {f"{CACHE}.at_{when}.files": files, f"{CACHE}.at_{when}.bytes": size}


def _count_cache() -> tuple[int, int] | tuple[None, None]:
    given = os.environ.get(CACHE_VARIABLE)
    if not given:
        return None, None
    top = Path(given)
    if not top.exists():
        return 0, 0
    files = size = 0
    try:
        for folder, _, names in os.walk(top, onerror=_refuse):
            for name in names:
                if name == _CACHE_INDEX and Path(folder) == top:
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
