"""Proof that the GPU which TensorFlow lists can do the work, at the start and at the end.

A GPU can be listed and be unable to run this build's kernels, and it can go away in mid-run.
"""

from __future__ import annotations

import ctypes
import re
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from suite import codec
from suite.errors import LOCKED_BUILD, OTHER_BUILD, TOO_OLD
from suite.model import SIMULATED, Scalar
from suite.procfs import read_version
from suite.worker.proof.libraries import find, mapped

SIZE = 64
"""Rows of what proves a GPU: its whole numbers are exact in float32, whatever the order of the sums."""

OLDEST_MAJOR, NEWEST_MAJOR = 6, 9
"""The locked build holds machine code from compute capability 6.0 (Pascal) on, and compiles for devices up
to 9.0; it fails on Blackwell (10 and later), although its intermediate code should in principle do
(TensorFlow's issue tracker has many)."""

_BUILT = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")

Library = Callable[[str], Any]
"""Opens a shared library that is in this process already, by its path."""


def judge_capability(device: Sequence[int], built: Sequence[str]) -> str | None:
    """Why a build's kernels can't run on a device of this compute capability, or None.

    Args:
        device: major and minor, such as (9, 0).
        built: what TensorFlow was built for, such as ``["sm_80", "sm_89", "compute_90"]``: machine
            code runs on devices of its own major version from its minor one up, intermediate code
            (``compute``) on any later device, which compiles it at first use.  With an ``a`` behind
            it either is for that very device alone, with an ``f`` for its major version.  Empty:
            not told.
    """
    major, minor = device[0], device[1]
    codes = [
        (m[1], (int(m[2]), int(m[3])), m[4]) for text in built if (m := _BUILT.fullmatch(text))
    ]
    if not codes:
        return None
    newest = max(of for _, of, _ in codes)
    beyond = major > NEWEST_MAJOR and newest[0] <= NEWEST_MAJOR
    if any(
        _runs(of, bound, device) and (of[0] == major if kind == "sm" else not beyond)
        for kind, of, bound in codes
    ):
        return None
    why = "not among those that this TensorFlow was built for"
    if beyond or newest < (major, minor):
        why = "newer than this TensorFlow's CUDA can compile for"
    elif major < OLDEST_MAJOR:
        why = "older than this TensorFlow was built for"
    remedy = TOO_OLD if major < OLDEST_MAJOR else OTHER_BUILD
    if OLDEST_MAJOR <= major <= NEWEST_MAJOR:
        remedy = LOCKED_BUILD
    return (
        f"the GPU has compute capability {major}.{minor}, which is {why} (built for "
        f"{', '.join(built)}); {remedy}"
    )


def _runs(of: tuple[int, int], bound: str, device: Sequence[int]) -> bool:
    """Whether code for ``of`` runs on a device that is no older, as ``bound`` allows."""
    major, minor = device[0], device[1]
    if bound == "a":
        return of == (major, minor)
    return of <= (major, minor) and (bound != "f" or of[0] == major)


def find_trouble(device: str) -> str | None:
    """Why the device does not do a small product, alone and in a graph, and a small sum right, or None;
    waits for them.

    A product is cuBLAS's, whose kernels are machine code.  A sum by elements is TensorFlow's own: one of
    the kernels that its wheel holds as PTX for compute capability 9.0.  A driver that is too old for them
    refuses each with a warning alone, and what comes out is whatever lay in that memory.  On GPUs newer than
    the build, products have been right and every graph failed (tensorflow/tensorflow#112272).

    Args:
        device: such as ``/GPU:0``.
    """
    import numpy as np
    import tensorflow as tf

    whole = np.random.default_rng(SIZE).integers(-9, 9, (2, SIZE, SIZE))
    left, right = whole.astype(np.float32)
    for what, work, expected in (
        ("product", tf.matmul, whole[0] @ whole[1]),
        ("graph", tf.function(tf.matmul, jit_compile=False), whole[0] @ whole[1]),
        ("sum by elements", tf.add, whole[0] + whole[1]),
    ):
        try:
            with tf.device(device):
                result = work(tf.constant(left), tf.constant(right))
            place = result.backing_device.rsplit("device:", 1)[-1]
            given = result.numpy()
        except (tf.errors.OpError, RuntimeError) as error:
            return f"{device} refuses a small {what}: {' '.join(str(error).split())[:300]}"
        if f"/{place}" != device:
            return f"a small {what} for {device} was made on {place}"
        if not np.array_equal(given, expected.astype(np.float32)):
            return f"{device} gives a wrong result for a small {what} of whole numbers"
    return None


def loaded_versions(root: Path = Path("/"), library: Library = ctypes.CDLL) -> dict[str, Scalar]:
    """Versions of the driver and of CUDA's libraries as they are loaded in this process.

    None: not loaded (cuDNN and NCCL are loaded at their first use), or it does not say.
    """
    paths = mapped(root)
    return {
        "gpu.driver": read_version(root),
        "cuda.driver_api": _ask(library, paths, "libcuda.so", "cuDriverGetVersion"),
        "cuda.runtime": _ask(library, paths, "libcudart.so", "cudaRuntimeGetVersion"),
        "cuda.nccl": _ask(library, paths, "libnccl.so", "ncclGetVersion"),
        "cuda.cudnn": _cudnn(library, paths),
    }


STAND_IN = "crossover_stand_in"
"""A driver's library that has this name is one of our tests', which no GPU stands behind."""


def simulation_facts(root: Path = Path("/"), library: Library = ctypes.CDLL) -> dict[str, Scalar]:
    """Whether the driver's library in this process is a stand-in without a GPU."""
    path = find(mapped(root), "libcuda.so")
    try:
        return {SIMULATED: path is not None and hasattr(library(path), STAND_IN)}
    except OSError:
        return {SIMULATED: None}


def device_identity(root: Path = Path("/"), library: Library = ctypes.CDLL) -> dict[str, Scalar]:
    """Where CUDA's first device sits (its PCI address) and which it is (a hash of its UUID), so that
    whoever watches from outside can tell whether it watches the same; None: CUDA does not say.

    CUDA counts the devices that this process may see, as TensorFlow does.
    """
    identity: dict[str, Scalar] = {"gpu.0.pci": None, "gpu.0.uuid": None}
    device, address, digits = (
        ctypes.c_int(),
        ctypes.create_string_buffer(32),
        (ctypes.c_ubyte * 16)(),
    )
    cuda = _open(library, mapped(root), "libcuda.so")
    try:
        if cuda.cuDeviceGet(ctypes.byref(device), 0) != 0:
            return identity
        if cuda.cuDeviceGetPCIBusId(address, len(address), device) == 0:
            identity["gpu.0.pci"] = address.value.decode(errors="replace").lower()
        # The first version gives that of the whole GPU where it is cut into instances.
        if cuda.cuDeviceGetUuid_v2(digits, device) == 0:
            identity["gpu.0.uuid"] = codec.hash_uuid(str(uuid.UUID(bytes=bytes(digits))))
    except AttributeError:
        return identity
    return identity


def _open(library: Library, paths: Sequence[str], name: str) -> Any:
    """The library of that name; None, which has none of its functions, where it can't be had."""
    path = find(paths, name)
    try:
        return None if path is None else library(path)
    except OSError:
        return None


def _ask(library: Library, paths: Sequence[str], name: str, function: str) -> int | None:
    """What a library's function of one integer pointer gives; 0 is success in all of them."""
    version = ctypes.c_int()
    ask = getattr(_open(library, paths, name), function, None)
    return version.value if ask is not None and ask(ctypes.byref(version)) == 0 else None


def _cudnn(library: Library, paths: Sequence[str]) -> int | None:
    function = getattr(_open(library, paths, "libcudnn.so"), "cudnnGetVersion", None)
    if function is None:
        return None
    function.restype = ctypes.c_size_t
    return int(function())
