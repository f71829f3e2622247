"""Every way in which the suite gives up: one root, an exit status each, and what to do next.

Library code raises these and never prints; ``cli.main`` is the only place that catches them.
"""

from __future__ import annotations

VENDOR_IMAGE = "nvcr.io/nvidia/tensorflow:25.02-tf2-py3"
"""An example for CUDA_IMAGE: NVIDIA's last image of TensorFlow (2.17, CUDA 12.8).  On compute capability
12.0 some have run it, and for others every graph failed (tensorflow/tensorflow#112272)."""

OTHER_BUILD = (
    f"name an image with another build of TensorFlow, such as NVIDIA's last: `make bench "
    f"CUDA_IMAGE={VENDOR_IMAGE}`; whether it runs on this GPU is not certain, and its start-up check says so "
    "before anything is measured; without a container LOCAL_PYTHON=path of an interpreter that has one; or "
    "rent a GPU of compute capability 6.0 to 9.0 (Pascal to Hopper)"
)
"""What to do about a GPU that is newer than the locked TensorFlow has code for."""

TOO_OLD = (
    "rent a GPU of compute capability 6.0 to 9.0 (Pascal to Hopper), or measure without it: `make bench "
    "ARMS=cpu`; no newer driver helps: TensorFlow 2.16 was the last with code for Maxwell (5.x), and older "
    "GPUs lost theirs before"
)
"""What to do about a GPU that is older than any TensorFlow at hand has code for."""

LOCKED_BUILD = (
    "`make bench` without CUDA_IMAGE and LOCAL_PYTHON: the locked TensorFlow has code for compute capability "
    "6.0 to 9.0"
)
"""What to do about a GPU for which a TensorFlow of somebody else's has no code, and the locked one has."""

ARM_BUILD = (
    f"name an image whose TensorFlow has it: `make bench CUDA_IMAGE={VENDOR_IMAGE}` (for servers such as "
    "Grace or AWS G5g; a Jetson needs one for its JetPack release), without a container LOCAL_PYTHON=path of "
    "an interpreter that has one; or `ARMS=cpu` measures the CPU alone"
)
"""What to do where an arm needs CUDA on an ARM processor: PyPI's wheels for aarch64 are built without
(tensorflow/tensorflow#121157)."""

MORE_DISK = (
    "free some (`docker system df` shows what holds it), or move the images: `data-root` in the "
    "engine's daemon.json, and with containerd's image store (`docker info` says "
    "io.containerd.snapshotter) `root` in /etc/containerd/config.toml; both images together need 20 GB"
)
"""What to do about an engine's disk that is too full for the images."""

DELEGATE = (
    '[Service] Delegate="cpu cpuset io memory pids" in '
    "/etc/systemd/system/user@.service.d/delegate.conf, `sudo systemctl daemon-reload` and log in "
    "again; or an engine that runs as root"
)
"""What to do about an engine that can't bind containers to CPUs."""


class CrossoverError(Exception):
    """The root: ``what`` happened and where we looked, and ``remedy``, what to do next."""

    exit_status = 1

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy


class UsageError(CrossoverError):
    """The command's words do not fit: an unknown name or value, or a folder that is not ours."""

    exit_status = 2


class NotInstalledError(UsageError):
    """A library that only some commands need is not there; ``lock`` of ``requirements`` has it."""

    def __init__(self, what: str, lock: str) -> None:
        super().__init__(f"{what} is not installed", f"`make .venv/{lock}.stamp`")


class EngineError(CrossoverError):
    """There is no engine, it does not answer, or it refused: no image, no disk, no rights."""

    exit_status = 3


class RightsError(EngineError):
    """The engine is there, and this user may not talk to it."""


class GpuError(CrossoverError):
    """A GPU was asked for and is not to be had."""

    exit_status = 4


class NoGpuError(GpuError):
    """The machine has no GPU at all: `ARMS=auto` then does without one, and says so."""


class DocumentError(CrossoverError):
    """A document can't be read: names the file, the field and what is wrong with it."""

    exit_status = 5


class BusyError(CrossoverError):
    """Another campaign is running in this results folder, on this machine or on this engine."""

    exit_status = 6


class UnsoundError(CrossoverError):
    """``STOP_IF=unsound``: the machine is not what its parts promise, and no further block mends that."""

    exit_status = 7


class UndecidedError(CrossoverError):
    """A sheet of requirements is neither met nor missed: a line of it is undecided."""

    exit_status = 8


class ScriptError(CrossoverError):
    """A person's script fails by itself, or trains nothing."""


class Interrupted(CrossoverError):
    """A person broke it off, and something was left behind."""

    exit_status = 130


def tell_left(error: BaseException, left: str) -> BaseException:
    """The error with what was left behind and how to remove it, if anything was."""
    if left and isinstance(error, KeyboardInterrupt):
        return Interrupted("interrupted", left)
    if left and isinstance(error, CrossoverError):
        error.remedy = f"{error.remedy}; {left}"
    return error
