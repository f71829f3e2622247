"""Proof that the GPU which TensorFlow lists can do the work, at the start and at the end.

A GPU can be listed and be unable to run this build's kernels, and it can go away in mid-run.
"""

from __future__ import annotations

import ctypes
import os
import re
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from suite import wire
from suite.errors import OTHER_BUILD
from suite.model import Scalar

SIZE = 64
"""Rows of the product that proves a GPU: its whole numbers are exact in float32, whatever the order
of the sums."""

NEWEST_MAJOR = 9
"""The locked build compiles for devices up to compute capability 9.0; it fails on Blackwell (10 and
later), although its intermediate code should in principle do (TensorFlow's issue tracker has many)."""

_BUILT = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")

Library = Callable[[str], Any]
"""Opens a shared library that is in this process already, by its path."""


def judge_capability(device: Sequence[int], built: Sequence[str]) -> tuple[str | None, bool]:
    """Whether a build's kernels run on a device of this compute capability.

    Args:
        device: major and minor, such as (9, 0).
        built: what TensorFlow was built for, such as ``["sm_80", "sm_89", "compute_90"]``: machine
            code runs on devices of its own major version from its minor one up, intermediate code
            (``compute``) on any later device, which compiles it at first use.  With an ``a`` behind
            it either is for that very device alone, with an ``f`` for its major version.  Empty:
            not told.

    Returns:
        why it can't run there (None: it can), and whether it has to be compiled there first.
    """
    major, minor = device[0], device[1]
    found = [
        (m[1], (int(m[2]), int(m[3])), m[4]) for text in built if (m := _BUILT.fullmatch(text))
    ]
    if not found:
        return None, False
    newest = max(of for _, of, _ in found)
    beyond = major > NEWEST_MAJOR and newest[0] <= NEWEST_MAJOR
    if any(
        kind == "sm" and of[0] == major and _runs(of, bound, device) for kind, of, bound in found
    ):
        return None, False
    if not beyond and any(
        kind == "compute" and _runs(of, bound, device) for kind, of, bound in found
    ):
        return None, True
    why = (
        "newer than this TensorFlow's CUDA can compile for"
        if beyond or newest < (major, minor)
        else "older than this TensorFlow was built for"
    )
    return (
        f"the GPU has compute capability {major}.{minor}, which is {why} (built for "
        f"{', '.join(built)}); {OTHER_BUILD}"
    ), False


def _runs(of: tuple[int, int], bound: str, device: Sequence[int]) -> bool:
    """Whether code for ``of`` runs on a device that is no older, as ``bound`` allows."""
    major, minor = device[0], device[1]
    if bound == "a":
        return of == (major, minor)
    return of <= (major, minor) and (bound != "f" or of[0] == major)


def is_driver_loaded(name: str = "libcuda.so.1") -> bool:
    """Whether CUDA's driver library is in this process, without which no GPU computes for it.

    Asks the linker and not TensorFlow, so that a TensorFlow that only says it has a GPU is found out.
    """
    try:
        ctypes.CDLL(name, mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def find_trouble(device: str) -> str | None:
    """Why the device does not do a small product right, or None; waits for its result.

    Args:
        device: such as ``/GPU:0``.
    """
    import numpy as np
    import tensorflow as tf

    whole = np.random.default_rng(SIZE).integers(-9, 9, (2, SIZE, SIZE))
    left, right = whole.astype(np.float32)
    try:
        with tf.device(device):
            product = tf.matmul(tf.constant(left), tf.constant(right))
        place = product.backing_device.rsplit("device:", 1)[-1]
        found = product.numpy()
    except (tf.errors.OpError, RuntimeError) as error:
        return f"{device} refuses a small product: {' '.join(str(error).split())[:300]}"
    if f"/{place}" != device:
        return f"a small product for {device} was made on {place}"
    if not np.array_equal(found, (whole[0] @ whole[1]).astype(np.float32)):
        return f"{device} gives a wrong result for a small product of whole numbers"
    return None


def loaded_versions(root: Path = Path("/"), library: Library = ctypes.CDLL) -> dict[str, Scalar]:
    """Versions of the driver and of CUDA's libraries as they are loaded in this process.

    None: not loaded (cuDNN and NCCL are loaded at their first use), or it does not say.
    """
    paths = _mapped(root)
    return {
        "gpu.driver": _driver(root),
        "cuda.driver_api": _ask(library, paths, "libcuda.so", "cuDriverGetVersion"),
        "cuda.runtime": _ask(library, paths, "libcudart.so", "cudaRuntimeGetVersion"),
        "cuda.nccl": _ask(library, paths, "libnccl.so", "ncclGetVersion"),
        "cuda.cudnn": _cudnn(library, paths),
    }


def device_identity(root: Path = Path("/"), library: Library = ctypes.CDLL) -> dict[str, Scalar]:
    """Where CUDA's first device sits (its PCI address) and which it is (a hash of its UUID), so that
    whoever watches from outside can tell whether it watches the same; None: CUDA does not say.

    CUDA counts the devices that this process may see, as TensorFlow does.
    """
    found: dict[str, Scalar] = {"gpu.0.pci": None, "gpu.0.uuid": None}
    path = _find(_mapped(root), "libcuda.so")
    if path is None:
        return found
    device, address, digits = (
        ctypes.c_int(),
        ctypes.create_string_buffer(32),
        (ctypes.c_ubyte * 16)(),
    )
    try:
        cuda = library(path)
        if cuda.cuDeviceGet(ctypes.byref(device), 0) != 0:
            return found
        if cuda.cuDeviceGetPCIBusId(address, len(address), device) == 0:
            found["gpu.0.pci"] = address.value.decode(errors="replace").lower()
        # The first version gives that of the whole GPU where it is cut into instances.
        if cuda.cuDeviceGetUuid_v2(digits, device) == 0:
            found["gpu.0.uuid"] = wire.hash_uuid(str(uuid.UUID(bytes=bytes(digits))))
    except (OSError, AttributeError):
        return found
    return found


def _mapped(root: Path) -> list[str]:
    """The shared libraries in this process."""
    try:
        text = (root / "proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({line.split(maxsplit=5)[5] for line in text.splitlines() if ".so" in line})


def _find(paths: Sequence[str], name: str) -> str | None:
    return next((path for path in paths if path.rsplit("/", 1)[-1].startswith(name)), None)


def _ask(library: Library, paths: Sequence[str], name: str, function: str) -> int | None:
    """What a library's function of one integer pointer gives; 0 is success in all of them."""
    path = _find(paths, name)
    if path is None:
        return None
    version = ctypes.c_int()
    try:
        status = getattr(library(path), function)(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return version.value if status == 0 else None


def _cudnn(library: Library, paths: Sequence[str]) -> int | None:
    path = _find(paths, "libcudnn.so")
    if path is None:
        return None
    try:
        function = library(path).cudnnGetVersion
    except (OSError, AttributeError):
        return None
    function.restype = ctypes.c_size_t
    return int(function())


def _driver(root: Path) -> str | None:
    """The kernel module's version, from the driver's own file or the module's."""
    for name, pattern in (
        ("proc/driver/nvidia/version", r"Module\s+(?:for \S+\s+)?(\d+\.\d+(?:\.\d+)?)"),
        ("sys/module/nvidia/version", r"(\d+\.\d+(?:\.\d+)?)"),
    ):
        try:
            text = (root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        found = re.search(pattern, text)
        if found:
            return found[1]
    return None
