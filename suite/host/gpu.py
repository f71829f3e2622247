"""How to ask for this machine's GPU.  Pure, apart from looking at device nodes; imports neither
docker nor an NVIDIA library.  What the refusals mean is in ``gpu_refusals``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from suite.errors import GpuError, NoGpuError
from suite.host.engine import GpuRequest
from suite.host.kernel_driver import read_version

CAPABILITIES = ["gpu", "compute", "utility"]
"""What the classic request asks NVIDIA's hook to mount: CUDA and nvidia-smi's library."""

LOOKED_AT = "/dev/nvidia[0-9]*, /proc/driver/nvidia/gpus, /dev/dxg"


GPU_PROBE = (
    "import glob; print(*glob.glob('/dev/nvidia[0-9]*') + glob.glob('/dev/dxg')"
    " + glob.glob('/dev/nvhost-gpu') + glob.glob('/dev/nvgpu'), sep='\\n', end='')"
)
"""Python that prints the GPU device nodes that it sees, one a line, and nothing where there is none;
the last two are those of NVIDIA's single-board computers."""


def machine_gpus(root: Path = Path("/")) -> tuple[str, ...]:
    """What on this machine says that it has an NVIDIA GPU, one entry a GPU; empty: none is seen.

    Device nodes first (they exist in containers, too), then the driver's own list, then WSL's
    single node, which stands for all of its GPUs.
    """
    nodes = sorted(
        (p for p in (root / "dev").glob("nvidia[0-9]*") if p.name[6:].isdigit()),
        key=lambda p: int(p.name[6:]),
    )
    if nodes:
        return tuple(p.name for p in nodes)
    listed = root / "proc/driver/nvidia/gpus"
    if listed.is_dir() and (entries := sorted(p.name for p in listed.iterdir())):
        return tuple(entries)
    return ("dxg",) if (root / "dev/dxg").exists() else ()


HARDWARE_PROBE = (
    "import glob; vendor = lambda d: open(d + '/vendor').read().strip();"
    " kind = lambda d: open(d + '/class').read()[:4];"
    " print(*[d for d in glob.glob('/sys/bus/pci/devices/*')"
    " if vendor(d) == '0x10de' and kind(d) == '0x03']"
    " + glob.glob('/proc/driver/nvidia/gpus/*'), sep='\\n', end='')"
)
"""Python that prints what a container sees of its machine's NVIDIA GPUs without having been given
one (the kernel's PCI list, the driver's list), one a line, and nothing where there is none."""


def pci_gpus(root: Path = Path("/")) -> tuple[str, ...]:
    """The PCI addresses of NVIDIA's display controllers (vendor 10de, class 03), driver or not."""

    def read(path: Path) -> str:
        return path.read_text(encoding="utf-8").strip() if path.is_file() else ""

    return tuple(
        sorted(
            device.name
            for device in (root / "sys/bus/pci/devices").glob("*")
            if read(device / "vendor") == "0x10de" and read(device / "class").startswith("0x03")
        )
    )


def no_gpu(root: Path = Path("/")) -> GpuError:
    """The error for a machine that shows no device node: it has no GPU, or has no driver for it."""
    undriven = pci_gpus(root)
    if undriven:
        return GpuError(
            f"this machine has an NVIDIA GPU (PCI {', '.join(undriven)}) and no device node for "
            f"it: no driver is loaded (looked at {LOOKED_AT})",
            "install the driver, or `sudo modprobe nvidia`; `nvidia-smi` must work",
        )
    return NoGpuError(
        f"no NVIDIA GPU on this machine: looked at {LOOKED_AT}",
        "run where there is one (`nvidia-smi` must work there), or ARMS=cpu",
    )


def find_local_gpu(wanted: str, root: Path = Path("/")) -> GpuRequest:
    """The GPU ``wanted`` (an index or UUID) for a plain process of this machine.

    Raises:
        GpuError: the machine shows no GPU, or no such one.
    """
    gpus = machine_gpus(root)
    if not gpus:
        raise no_gpu(root)
    if wanted.isdigit():
        # WSL's single node stands for all, so any index is left to TensorFlow.
        known = int(wanted) < len(gpus) or gpus == ("dxg",)
        shown = f"{len(gpus)}, counted from 0"
    else:
        listed = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
        uuids = re.findall(
            r"GPU UUID:\s*(\S+)", "\n".join(p.read_text(encoding="utf-8") for p in listed)
        )
        # MIG instances have UUIDs that the driver's list does not hold.
        known = not uuids or wanted.startswith("MIG-") or wanted in uuids
        shown = ", ".join(uuids)
    if not known:
        raise GpuError(f"no GPU {wanted} on this machine: it shows {shown}", "`nvidia-smi -L`")
    return GpuRequest(driver="none", devices=(wanted,), kernel_driver=read_version(root))


def _version(info: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", str(info.get("ServerVersion", "")))[:2])


def choose_request(info: Mapping[str, Any], wanted: str, *, podman: bool = False) -> GpuRequest:
    """How to ask the engine that gives this ``info`` for the GPU ``wanted`` (an index or UUID).

    CDI where the engine lists NVIDIA devices (28.2 and later), or where it has folders for
    specifications (25.0 to 28.1 with the feature on, which do not list); else NVIDIA's hook.
    Podman knows CDI alone and says nothing of it; any other request it takes and drops (tried: 5.4).
    The engine says only at start whether it works, so the choice is to be probed.
    """
    devices = {
        str(device.get("ID", ""))
        for device in info.get("DiscoveredDevices") or []
        if str(device.get("ID", "")).startswith("nvidia.com/gpu=")
    }
    folders_only = bool(info.get("CDISpecDirs")) and (25, 0) <= _version(info) < (28, 2)
    if podman or devices or folders_only:
        return GpuRequest(driver="cdi", devices=(f"nvidia.com/gpu={wanted}",))
    return GpuRequest(driver="nvidia", devices=(wanted,))
