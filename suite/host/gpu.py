"""How to ask for this machine's GPU, and what the refusals mean.  Pure, apart from looking at
device nodes; imports neither docker nor an NVIDIA library.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.errors import OTHER_BUILD, GpuError, NoGpuError
from suite.host.engine import Card, GpuRequest
from suite.host.gpu_choice import SHOWN, Choice, find_choice
from suite.host.kernel_driver import read_version

CDI_KIND = "nvidia.com/gpu="
"""What the names of NVIDIA's GPUs begin with in CDI's specifications."""

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


def find_local_gpu(wanted: str, cards: Sequence[Card], root: Path = Path("/")) -> GpuRequest:
    """The GPU ``wanted`` (see `gpu_choice`) of these for a plain process of this machine.

    Raises:
        GpuError: the machine shows no GPU, no such one, or only parts of it can be had.
    """
    if not machine_gpus(root):
        raise no_gpu(root)
    choice = find_choice(cards, wanted)
    if ":" in wanted and choice.slice is None:
        raise GpuError(
            f"CUDA takes a MIG instance by its UUID alone, and NVIDIA's library does not say which "
            f"{wanted} is",
            "`nvidia-smi -L` lists them; GPU=MIG-…",
        )
    # CUDA counts GPUs that are cut into instances in an order of its own.
    counts = "-" not in wanted and not any(card.mig for card in cards)
    device = wanted if counts else choice.uuid or wanted
    return GpuRequest(driver="none", devices=(device,), kernel_driver=read_version(root))


def _version(info: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", str(info.get("ServerVersion", "")))[:2])


def choose_request(info: Mapping[str, Any], wanted: str, cards: Sequence[Card] = ()) -> GpuRequest:
    """How to ask the engine that gives this ``info`` for the GPU ``wanted`` (see `gpu_choice`).

    CDI where the engine lists NVIDIA devices (28.2 and later), or where it has folders for
    specifications (25.0 to 28.1 with the feature on, which do not list); else NVIDIA's hook.
    The engine says only at start whether it works, so the choice is to be probed.  ``cards`` are
    the GPUs of its machine; none: not known.

    Raises:
        GpuError: there is no such GPU, or the engine lists others and not this one.
    """
    choice = find_choice(cards, wanted)
    listed = {
        name.removeprefix(CDI_KIND)
        for device in info.get("DiscoveredDevices") or []
        if (name := str(device.get("ID", ""))).startswith(CDI_KIND)
    }
    folders_only = bool(info.get("CDISpecDirs")) and (25, 0) <= _version(info) < (28, 2)
    if listed:
        return request_cdi(pick_listed(listed, choice))
    return request_cdi(unlisted_name(choice)) if folders_only else request_hook(choice)


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

    Raises:
        GpuError: it lists none.
    """
    name = next((name for name in choice.names if name in listed), None)
    if name is None and choice.card is None:
        begun = [one for one in listed if "-" in choice.wanted and one.startswith(choice.wanted)]
        name = begun[0] if len(begun) == 1 else None
    if name is None:
        raise GpuError(
            f"the engine lists no {CDI_KIND}{choice.wanted} among its CDI devices; it lists "
            + ", ".join(_shorten(one) for one in sorted(listed)),
            "name one of these with GPU=; where the specification is stale, "
            "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` writes it anew",
        )
    return name


def _shorten(name: str) -> str:
    return f"{name[:SHOWN]}…" if "-" in name else name


def wants_cdi(text: str) -> bool:
    """Whether NVIDIA's hook says that it is to be asked through CDI."""
    return "NVIDIA Container Runtime Hook directly" in text


@dataclass(frozen=True, kw_only=True)
class GpuRefusal:
    """A text of the engine, NVIDIA's hook or TensorFlow, what causes it, and what to do next."""

    pattern: str
    cause: str
    remedy: str


_CONFIGURE = "`sudo nvidia-ctk runtime configure --runtime=docker` and restart docker"

REFUSALS: tuple[GpuRefusal, ...] = (
    GpuRefusal(
        pattern=r"invoking the NVIDIA Container Runtime Hook directly.*not supported",
        cause="the NVIDIA container toolkit runs in CDI mode",
        remedy='an engine with CDI (28.2 or newer, or {"features":{"cdi":true}} in its '
        "daemon.json), or the toolkit in legacy mode",
    ),
    GpuRefusal(
        pattern=r"bpf_prog_query\(BPF_CGROUP_DEVICE\) failed",
        cause="a rootless engine with NVIDIA's legacy hook",
        remedy="use CDI, or set no-cgroups=true in the toolkit's config.toml",
    ),
    GpuRefusal(
        pattern=r"driver/library version mismatch",
        cause="the driver was upgraded under a loaded kernel module",
        remedy="reboot, and hold the driver's packages",
    ),
    GpuRefusal(
        pattern=r"couldn't communicate with the NVIDIA driver",
        cause="the driver's kernel module is not loaded, or was built for another kernel",
        remedy="`sudo modprobe nvidia`; if that fails, install the driver again",
    ),
    GpuRefusal(
        pattern=r"nvml error: driver not loaded",
        cause="the driver's kernel module is not loaded",
        remedy="`sudo modprobe nvidia`; if that fails, install the driver again",
    ),
    GpuRefusal(
        pattern=r"libnvidia-ml\.so\.1: cannot open shared object file",
        cause="no NVIDIA driver on the engine's machine",
        remedy="install it; `nvidia-smi` must work there, outside any container",
    ),
    GpuRefusal(
        pattern=r"unsatisfied condition: cuda\s*>=",
        cause="the driver is older than the image needs",
        remedy="a newer driver: 525 or later for CUDA 12",
    ),
    GpuRefusal(
        pattern=r"system not yet initialized|error 802",
        cause="an NVSwitch machine without its fabric manager",
        remedy="start nvidia-fabricmanager of the driver's own version",
    ),
    GpuRefusal(
        pattern=r"could not select device driver \"cdi\"",
        cause="the engine has CDI switched off, or is older than 25",
        remedy='an engine of 28.2 or newer, or {"features":{"cdi":true}} in its daemon.json',
    ),
    GpuRefusal(
        pattern=r"unresolvable CDI devices",
        cause="the machine's CDI specification is missing or stale, or has no such device",
        remedy="`nvidia-ctk cdi list` shows what there is; "
        "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` writes it",
    ),
    GpuRefusal(
        pattern=r"unknown or invalid runtime name: nvidia",
        cause="NVIDIA's runtime is not configured in the engine",
        remedy=_CONFIGURE,
    ),
    GpuRefusal(
        pattern=r"could not select device driver \"\" with capabilities",
        cause="the NVIDIA container toolkit is missing, or newer than the running engine process, "
        "or this is another engine than you think",
        remedy=f"install nvidia-container-toolkit, then {_CONFIGURE}",
    ),
    GpuRefusal(
        pattern=r"CUDA_ERROR_NO_DEVICE|no CUDA-capable device",
        cause="the GPU is hidden (CUDA_VISIBLE_DEVICES, or MIG without instances)",
        remedy="unset CUDA_VISIBLE_DEVICES; `nvidia-smi -L` lists MIG instances",
    ),
    GpuRefusal(
        pattern=r"failed call to cuInit.*UNKNOWN ERROR \(303\)",
        cause="libcuda is not in the container: the GPU was not passed through",
        remedy="check the container toolkit; `docker run --rm --gpus all IMAGE nvidia-smi`",
    ),
    GpuRefusal(
        pattern=r"Cannot dlopen some GPU libraries",
        cause="CUDA libraries are missing from the image",
        remedy="build it again; TF_CPP_MAX_VLOG_LEVEL=3 shows which",
    ),
    GpuRefusal(
        pattern=r"CUDA_ERROR_INVALID_PTX|does not support target 'sm_1[0-9]{2}'",
        cause="this GPU is newer than this TensorFlow's CUDA can compile for",
        remedy=OTHER_BUILD,
    ),
    GpuRefusal(
        pattern=r"kernel version \S+ does not match DSO version",
        cause="the driver's library in the container is not of the loaded kernel module's version",
        remedy="reboot after a driver upgrade, and hold the driver's packages; with CDI, "
        "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` again",
    ),
    GpuRefusal(
        pattern=r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        cause="libcuda and the kernel module are of versions that do not go together",
        remedy="reboot after a driver upgrade; leave CUDA's compat libraries off LD_LIBRARY_PATH",
    ),
    GpuRefusal(
        pattern=r"failed call to cuInit.*CUDA_ERROR_UNKNOWN",
        cause="the driver does not answer CUDA: its module for memory is not loaded, or it hangs",
        remedy="`sudo modprobe nvidia_uvm`, then a container anew; if that fails, reboot",
    ),
    GpuRefusal(
        pattern=r"Possibly insufficient driver version|CUDA_ERROR_INSUFFICIENT_DRIVER"
        r"|CUDA driver version is insufficient",
        cause="the driver is older than this TensorFlow's CUDA needs",
        remedy="a newer driver: 525 or later for CUDA 12 (`nvidia-smi` shows which it is)",
    ),
    GpuRefusal(
        pattern=r"CUDA_ERROR_DEVICES?_UNAVAILABLE|all CUDA-capable devices are busy or unavailable",
        cause="another process has the GPU for itself, or it hangs",
        remedy="`nvidia-smi` shows who computes there; `sudo nvidia-smi -c 0` lets several",
    ),
    GpuRefusal(
        pattern=r"CUDA_ERROR_ECC_UNCORRECTABLE|uncorrectable ECC error",
        cause="the GPU's memory is defective",
        remedy="`nvidia-smi -q -d ECC,PAGE_RETIREMENT` shows it; reset the GPU, or rent another",
    ),
    GpuRefusal(
        pattern=r"Loaded runtime CuDNN library: .* but source was compiled with"
        r"|Could not create cudnn handle",
        cause="cuDNN can't be used: another version than TensorFlow's own is loaded, or the GPU's "
        "memory is taken",
        remedy="no other cuDNN on LD_LIBRARY_PATH; `nvidia-smi` shows who uses the GPU's memory",
    ),
    GpuRefusal(
        pattern=r"by allocator GPU_\d|Allocator \(GPU_\d\w*\) ran out of memory"
        r"|CUDA_ERROR_OUT_OF_MEMORY|cuMemAllocAsync failed to allocate",
        cause="the GPU's memory does not hold it",
        remedy="`nvidia-smi` shows who else uses that memory; else a GPU with more of it, or leave "
        "the cell out with ONLY=",
    ),
    GpuRefusal(
        pattern=r"CUDA_ERROR_(ILLEGAL_ADDRESS|LAUNCH_FAILED|ILLEGAL_INSTRUCTION|ASSERT|UNKNOWN)\b"
        r"|GPU has fallen off the bus",
        cause="the GPU, or a kernel on it, broke down",
        remedy="`sudo dmesg | grep -i xid` says how; `nvidia-smi` must still work there, else reset "
        "the GPU or reboot",
    ),
    GpuRefusal(
        pattern=r"its build is for CPU only",
        cause="the TensorFlow in there was built without CUDA",
        remedy="`make images` builds the locked one; CUDA_IMAGE or LOCAL_PYTHON must name one "
        "with CUDA",
    ),
    GpuRefusal(
        pattern=r"which is newer than this TensorFlow's CUDA can compile for",
        cause="this GPU is newer than that TensorFlow",
        remedy=OTHER_BUILD,
    ),
    GpuRefusal(
        pattern=r"Failed to initialize NVML: Unknown Error",
        cause="the container lost its device, as after a reload of systemd",
        remedy="a new container; CDI prevents it",
    ),
    GpuRefusal(
        pattern=r"Auto-detected mode as 'legacy'",
        cause="NVIDIA's hook failed",
        remedy="the last line above that begins with nvidia-container-cli: says why",
    ),
)
"""Every refusal that is known, the most telling first: a wrapper's text stands after what it wraps."""


def find_refusal(text: str) -> GpuRefusal | None:
    """The row that fits a text, if there is one."""
    return next(
        (r for r in REFUSALS if re.search(r.pattern, text, re.IGNORECASE | re.DOTALL)), None
    )


def explain_refusal(text: str, where: str = "") -> GpuError:
    """The error for a refusal: its cause and remedy, and the engine's own text, whole.

    ``where`` is the endpoint that was asked; a wrong one is a common cause.
    """
    at = f" at {where}" if where else ""
    row = find_refusal(text)
    if row is None:
        return GpuError(
            f"the engine{at} refused the GPU: {text}",
            "this refusal is not known here; NVIDIA's container toolkit documents its messages",
        )
    return GpuError(f"the engine{at} refused the GPU: {row.cause}: {text}", row.remedy)
