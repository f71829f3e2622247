"""How to ask for this machine's GPU.  Pure, apart from looking at device nodes; imports neither
docker nor an NVIDIA library.  What the refusals mean is in ``refusals``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from suite.errors import GpuError
from suite.host.engine import Card, GpuRequest
from suite.host.gpu.choice import (
    FIRST,
    SHOWN,
    Choice,
    describe_visible,
    find_choice,
    find_whole,
    hide_all,
    read_visible,
)
from suite.host.gpu.visible_devices import machine_gpus, no_gpu
from suite.procfs import read_version

CDI_KIND = "nvidia.com/gpu="
"""What the names of NVIDIA's GPUs begin with in CDI's specifications."""

ALL = f"{CDI_KIND}all"
"""Every GPU; the only name in the specification of WSL, which can't tell them apart."""

WSL_NODE = "/dev/dxg"
"""WSL's only node, which stands for all of its GPUs: a request for one of them filters nothing."""

CAPABILITIES = ["gpu", "compute", "utility"]
"""What the classic request asks NVIDIA's hook to mount: CUDA and nvidia-smi's library."""


GPU_PROBE = (
    "import glob; print(*glob.glob('/dev/nvidia[0-9]*') + glob.glob('/dev/dxg')"
    " + glob.glob('/dev/nvhost-gpu') + glob.glob('/dev/nvgpu'), sep='\\n', end='')"
)
"""Python that prints the GPU device nodes that it sees, one a line, and nothing where there is none;
the last two are those of NVIDIA's single-board computers."""


CUDA_PROBE = (
    "import ctypes, uuid\n"
    "cuda = ctypes.CDLL('libcuda.so.1')\n"
    "count, device, digits = ctypes.c_int(), ctypes.c_int(), (ctypes.c_ubyte * 16)()\n"
    "found = cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0\n"
    "tell = getattr(cuda, 'cuDeviceGetUuid_v2', None) or cuda.cuDeviceGetUuid\n"
    "for index in range(count.value if found else 0):\n"
    "    cuda.cuDeviceGet(ctypes.byref(device), index)\n"
    "    tell(digits, device)\n"
    "    print(uuid.UUID(bytes=bytes(digits)))\n"
)
"""Python that prints the UUIDs of the GPUs that CUDA sees, in its order and without a prefix; nothing
where CUDA does not answer."""


HARDWARE_PROBE = (
    "import glob; vendor = lambda d: open(d + '/vendor').read().strip();"
    " kind = lambda d: open(d + '/class').read()[:4];"
    " print(*[d for d in glob.glob('/sys/bus/pci/devices/*')"
    " if vendor(d) == '0x10de' and kind(d) == '0x03']"
    " + glob.glob('/proc/driver/nvidia/gpus/*'), sep='\\n', end='')"
)
"""Python that prints what a container sees of its machine's NVIDIA GPUs without having been given
one (the kernel's PCI list, the driver's list), one a line, and nothing where there is none."""


def find_local_gpu(
    wanted: str | None,
    cards: Sequence[Card],
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
) -> GpuRequest:
    """The GPU ``wanted`` (see `choice`) of these for a plain process of this machine; None: the first that
    CUDA_VISIBLE_DEVICES of ``environment`` names, which is this process's unless given.

    Raises:
        GpuError: the machine shows no GPU, no such one, or only parts of it are available.
        NoGpuError: it has none, or that variable hides them all.
    """
    environment = os.environ if environment is None else environment
    if not machine_gpus(root):
        raise no_gpu(root, environment)
    visible = read_visible(environment)
    if wanted is None and visible == ():
        raise hide_all(environment)
    by_variable = wanted is None and visible is not None
    wanted = wanted or (visible or (FIRST,))[0]
    try:
        choice = find_choice(cards, wanted)
    except GpuError as error:
        if not by_variable:
            raise
        raise GpuError(
            f"{error.what}; {describe_visible(environment)} of this shell names it", error.remedy
        ) from error
    if ":" in wanted and choice.slice is None:
        raise GpuError(
            f"CUDA takes a MIG instance by its UUID alone, and NVIDIA's library does not say which "
            f"{wanted} is",
            "`nvidia-smi -L` lists them; GPU=MIG-…",
        )
    # CUDA counts GPUs that are cut into instances in an order of its own.
    counts = "-" not in wanted and not any(card.mig for card in cards)
    device = wanted if counts else choice.uuid or wanted
    return GpuRequest(
        driver="none",
        devices=(device,),
        kernel_driver=read_version(root),
        uuid=find_whole(choice, device),
    )


def choose_variables(gpu: GpuRequest | None) -> dict[str, str]:
    """What CUDA with that GPU is told: to count as nvidia-smi does (its own order has
    the fastest first), and which one it may see where the engine gives them all."""
    if gpu is None:
        return {}
    visible = {"CUDA_VISIBLE_DEVICES": gpu.visible} if gpu.visible is not None else {}
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **visible}


def choose_request(info: Mapping[str, Any], choice: Choice, *, podman: bool = False) -> GpuRequest:
    """How to ask the engine that gives this ``info`` for the GPU that was chosen.

    CDI where the engine lists NVIDIA devices (28.2 and later), or where it has folders for
    specifications (25.0 to 28.1 with the feature on, which do not list); else NVIDIA's hook.
    Podman knows CDI alone and says nothing of it; any other request it takes and drops (tried: 5.4).
    The engine says only at start whether it works, so the choice is to be probed.

    Raises:
        GpuError: the engine lists others and not this one.
    """
    listed = list_names(info)
    version = [int(n) for n in re.findall(r"\d+", str(info.get("ServerVersion", "")))[:2]]
    folders_only = bool(info.get("CDISpecDirs")) and [25, 0] <= version < [28, 2]
    if listed:
        return request_cdi(pick_listed(listed, choice))
    return request_cdi(unlisted_name(choice)) if podman or folders_only else request_hook(choice)


def list_names(info: Mapping[str, Any]) -> list[str]:
    """The names of NVIDIA's devices that the engine that gives this ``info`` lists by CDI."""
    names = (str(device.get("ID", "")) for device in info.get("DiscoveredDevices") or [])
    return sorted({name.removeprefix(CDI_KIND) for name in names if name.startswith(CDI_KIND)})


def request_cdi(name: str) -> GpuRequest:
    """The request for a GPU by its name in CDI's specification."""
    return GpuRequest(driver="cdi", devices=(f"{CDI_KIND}{name}",))


def request_hook(choice: Choice) -> GpuRequest:
    """The request for NVIDIA's hook, which takes indexes, whole UUIDs, and ``0:1``."""
    return GpuRequest(driver="nvidia", devices=(choice.names[0],))


def unlisted_name(choice: Choice) -> str:
    """The name in CDI's specification where nothing lists it: by default it holds numbers alone."""
    return choice.numbers or choice.names[0]


def pick_listed(listed: Collection[str], choice: Choice) -> str:
    """The name that an engine lists for what was chosen.

    ``all`` where it lists nothing else, as on WSL; CUDA is then to be told which one of them.

    Raises:
        GpuError: it lists none.
    """
    if set(listed) == {"all"}:
        return "all"
    name = next((name for name in choice.names if name in listed), None)
    if name is None and choice.card is None:
        begun = [
            other for other in listed if "-" in choice.wanted and other.startswith(choice.wanted)
        ]
        name = begun[0] if len(begun) == 1 else None
    if name is None:
        raise GpuError(
            f"the engine lists no {CDI_KIND}{choice.wanted} among its CDI devices; it lists "
            + ", ".join(
                f"{other[:SHOWN]}…" if "-" in other else other
                for other in sorted(listed)
                if other != "all"
            ),
            "name one of these with GPU=; where the specification is stale, "
            "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` rewrites it",
        )
    return name
