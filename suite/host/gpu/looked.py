"""What GPUs this machine shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from suite.errors import GpuError, NoGpuError
from suite.host.gpu.commands import INSTALL_DRIVER
from suite.host.gpu.texts.engine import JETSON, USE_JETSON
from suite.host.machine.surroundings import find_container, sees_every_device
from suite.kernel import read_text

LOOKED_AT = "/dev/nvidia[0-9]*, /proc/driver/nvidia/gpus, /dev/dxg"


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


def pci_gpus(root: Path = Path("/")) -> tuple[str, ...]:
    """The PCI addresses of NVIDIA's display controllers (vendor 10de, class 03), driver or not."""
    return tuple(
        sorted(
            device.name
            for device in (root / "sys/bus/pci/devices").glob("*")
            if read_text(device / "vendor").strip() == "0x10de"
            and read_text(device / "class").startswith("0x03")
        )
    )


def count_on_bus(
    root: Path = Path("/"), environment: Mapping[str, str] | None = None
) -> int | None:
    """How many GPUs on the PCI bus NVIDIA's driver should list to this process; None: not all need be given
    to it.

    ``environment`` is that of this process unless given.
    """
    if not sees_every_device(os.environ if environment is None else environment, root):
        return None
    devices = root / "sys/bus/pci/devices"
    return sum(not _is_lent(devices / address) for address in pci_gpus(root))


def _is_lent(device: Path) -> bool:
    """Whether it is a virtual machine's: a virtual function, or bound to a driver other than NVIDIA's."""
    driver = device / "driver"
    return (device / "physfn").exists() or (driver.exists() and driver.resolve().name != "nvidia")


def is_jetson(root: Path = Path("/")) -> bool:
    """Whether this is one of NVIDIA's single-board computers, whose GPU is part of the processor."""
    nodes = ("dev/nvhost-gpu", "dev/nvgpu", "etc/nv_tegra_release")
    compatible = read_text(root / "proc/device-tree/compatible")
    return "nvidia,tegra" in compatible or any((root / node).exists() for node in nodes)


def no_gpu(root: Path = Path("/"), environment: Mapping[str, str] | None = None) -> GpuError:
    """The error for a machine that shows no device node: it has no GPU, or has no driver for it, or did not
    give it to the container that this is.

    ``environment`` is that of this process unless given.
    """
    if is_jetson(root):
        return NoGpuError(JETSON, USE_JETSON)
    undriven = pci_gpus(root)
    container = find_container(os.environ if environment is None else environment, root)
    if undriven and container is not None:
        return NoGpuError(
            f"this container ({container}) was started without the GPU of its machine (PCI "
            f"{', '.join(undriven)}): looked at {LOOKED_AT}",
            "whoever starts it has to give it one: `docker run --gpus all`, `podman run --device "
            "nvidia.com/gpu=all`, `apptainer exec --nv`, or resources.limits nvidia.com/gpu: 1 of a pod; or "
            "ARMS=cpu",
        )
    if undriven:
        return GpuError(
            f"this machine has an NVIDIA GPU (PCI {', '.join(undriven)}) and no device node for "
            f"it: no driver is loaded (looked at {LOOKED_AT})",
            "`sudo modprobe nvidia`; if that fails, `sudo reboot`; if none is installed, rent the machine "
            f"with an image that has NVIDIA's driver, or install it: {INSTALL_DRIVER}; "
            "`nvidia-smi` must work",
        )
    return NoGpuError(
        f"no NVIDIA GPU on this machine: looked at {LOOKED_AT}",
        "run where there is one (`nvidia-smi` must work there), or ARMS=cpu",
    )


