"""The GPUs that a machine shows: `python -m suite.host.gpu.visible_devices` lists them as JSON.

NVIDIA's library is asked in a process of its own, which ends with its answer: a driver that hangs
holds up nobody, and nothing of it stays loaded beside what is measured.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from suite.codec import parse_json
from suite.errors import GpuError, NoGpuError
from suite.fingerprint import SUITE
from suite.host.engine import Card
from suite.host.gpu.nvml import NoLibrary, list_gpus, load_library, normalise_pci
from suite.host.gpu.refusals import JETSON, USE_JETSON, WORDS
from suite.host.machine.surroundings import find_container, sees_every_device
from suite.procfs import read_text

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
            WORDS["GIVE_GPU"],
        )
    if undriven:
        return GpuError(
            f"this machine has an NVIDIA GPU (PCI {', '.join(undriven)}) and no device node for "
            f"it: no driver is loaded (looked at {LOOKED_AT})",
            WORDS["LOAD_DRIVER"],
        )
    return NoGpuError(
        f"no NVIDIA GPU on this machine: looked at {LOOKED_AT}",
        "run where there is one (`nvidia-smi` must work there), or ARMS=cpu",
    )


LIBRARY_S = 10.0
"""A driver that is not kept loaded takes seconds to answer the first time."""


def list_driver(root: Path) -> Iterator[str]:
    """The driver's list, by GPU one line of JSON: its PCI address, and what the driver says of it.
    Empty where it keeps none (as on WSL).  A container sees it without having been given
    a GPU, and runs these very lines, so that they use nothing of the suite's.
    """

    def read(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    for folder in (root / "proc/driver/nvidia/gpus").glob("*"):
        yield json.dumps([folder.name, read(folder / "information")])


DRIVER_PROBE = (
    "from __future__ import annotations\nimport json\nfrom pathlib import Path\n"
    f"{inspect.getsource(list_driver)}\nprint(*list_driver(Path('/')), sep='\\n')"
)
"""Python that prints the driver's list."""


def read_probe(lines: Iterable[str]) -> tuple[Card, ...]:
    """The GPUs by what `DRIVER_PROBE` printed; nvidia-smi counts them by their PCI addresses, too."""
    rows = []
    for line in lines:
        try:
            pci, information = msgspec.convert(parse_json(line), tuple[str, str])
        except ValueError:
            continue  # what else a container's Python may have to say
        rows.append((normalise_pci(pci), information))
    rows.sort(key=lambda row: row[0] or "")
    return tuple(
        Card(
            index=index,
            name=_find(r"^Model:\s*(\S.*?)\s*$", information),
            # Unread, it is written as question marks.
            uuid=_find(r"^GPU UUID:\s*(GPU-[0-9a-f-]{36})\s*$", information),
            pci=pci,
        )
        for index, (pci, information) in enumerate(rows)
    )


def _find(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, re.MULTILINE)
    return found[1] if found else None


def machine_cards(root: Path = Path("/")) -> tuple[Card, ...]:
    """The GPUs of this machine: by NVIDIA's library, else by the driver's list, else by nodes.

    WSL's single node says nothing of how many there are, so that only the library can tell.
    """
    nodes = machine_gpus(root)
    if not nodes:
        return ()
    cards = ask_library() or read_probe(list_driver(root))
    if not cards and nodes != ("dxg",):
        return tuple(Card(index=index) for index in range(len(nodes)))
    return cards


def ask_library() -> tuple[Card, ...] | None:
    """The GPUs by NVIDIA's library, asked in a process of its own; None: it does not answer."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "suite.host.gpu.visible_devices"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIBRARY_S,
            check=False,
            cwd=SUITE.parent,
        )
        if done.returncode == 0:
            return msgspec.json.decode(done.stdout, type=tuple[Card, ...])
    except (OSError, subprocess.TimeoutExpired, ValueError):
        pass
    return None


def main() -> int:
    """Lists them; 1 where NVIDIA's library does not answer."""
    try:
        cards = list_gpus(load_library())
    except NoLibrary as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    sys.stdout.write(msgspec.json.encode(cards).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
