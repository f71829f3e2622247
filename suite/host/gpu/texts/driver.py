"""What NVIDIA's driver says of a GPU that does not work, and what to do: of nvidia-smi and of whatever
asks the same library (NVML), such as NVIDIA's hook; which driver has which CUDA, and what an image demands
of both.

Pure.  nvidia-smi's exit status is NVML's code.  Who rented the machine can't mend a card, and seldom a
driver: so first a reset, then a reboot, then another machine, and a new driver last.

An image says what it demands in NVIDIA_REQUIRE_* (conditions on cuda, driver, arch and brand; a comma is
"and", a space "or"); NVIDIA's toolkit refuses with the first alternative that is not met.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from suite.host.engine import Refusal, find_row
from suite.host.gpu.commands import INSTALL_DRIVER, newer_driver

AGAIN = (
    "`sudo reboot`; if that does not help on a rented instance, stop and start it from the provider's "
    "console (copy the results first: local disks, address and GPU may not come back)"
)

REPAIR = (
    "`sudo nvidia-smi --gpu-reset -i N` (N: the GPU's number) while nothing uses it; if that is refused or "
    f"does not help, {AGAIN}; if the fault comes back, rent another machine: only the provider can "
    "repair this one; `sudo dmesg | grep -iE 'xid|nvrm'` says what happened"
)
"""What to do about a GPU that was there and no longer answers."""

_OR_INSTALL = (
    f"{AGAIN}; if that does not help, rent another machine, or on one of your own install the driver "
    f"again: {INSTALL_DRIVER}"
)

ANSWERS: tuple[Refusal, ...] = (
    Refusal(
        pattern=r"driver/library version mismatch|NVML/RM version mismatch",
        cause="the driver was upgraded while the old kernel module was loaded",
        remedy="`sudo reboot`; `sudo apt-mark hold 'nvidia-*' 'libnvidia-*'` keeps it from happening again",
    ),
    Refusal(
        pattern=r"could\s?n.t communicate with (the )?NVIDIA driver",
        cause="the driver's kernel module is not loaded, or was built for another kernel",
        remedy=f"`sudo modprobe nvidia`; if that fails, {_OR_INSTALL}",
    ),
    Refusal(
        pattern=r"driver (is )?not loaded",
        cause="the driver's kernel module is not loaded",
        remedy=f"`sudo modprobe nvidia`; if that fails, {_OR_INSTALL}",
    ),
    Refusal(
        pattern=r"couldn.t find libnvidia-ml|NVML Shared Library|could not load NVML",
        cause="NVIDIA's management library (NVML) is missing, so the driver is incomplete",
        remedy="`ldconfig -p | grep libnvidia-ml` shows whether it is installed; in a rented instance take "
        f"an image with the driver's tools (NVIDIA_DRIVER_CAPABILITIES=compute,utility); else {_OR_INSTALL}",
    ),
    Refusal(
        pattern=r"(in|not have )suf+i\w+ permissions?",
        cause="this user, or what it runs in, may not open the GPU's device nodes",
        remedy="`ls -l /dev/nvidia*` shows who may open them; if that is a group, `sudo usermod -aG GROUP "
        "$USER` and log in again; on a rented instance, stop and start it to attach the GPU again",
    ),
    Refusal(
        pattern=r"requires? (a )?reset\b|reset (is )?required",
        cause="the GPU has to be reset after an error before it can be used again",
        remedy=REPAIR,
    ),
    Refusal(
        # The worker's own "the GPU is lost" has the reason behind it, which has a row of its own.
        pattern=r"(?<!the )GPU is lost|unable to \w+ the device handle|fallen off the bus"
        r"|timeout waiting for RPC|GSP\b[^\n]{0,30}\btimed? ?out",
        cause="the GPU no longer answers its driver: it fell off the bus, got too hot, or broke down",
        remedy=REPAIR,
    ),
    Refusal(
        # XLA's "no supported devices found for platform CUDA" follows what CUDA said before it.
        pattern=r"no (supported )?(devices?|GPUs?) (were |was )?found(?! for platform)",
        cause="the driver is loaded but could not initialise any GPU",
        remedy=f"{AGAIN}; if that does not help, rent another machine; `sudo dmesg | grep -i nvrm` says why: "
        'on one of your own "requires use of the NVIDIA open kernel modules" (Blackwell) means '
        "`sudo apt-get install nvidia-open` from NVIDIA's CUDA repository",
    ),
    Refusal(
        pattern=r"insufficient (external )?power|power cables",
        cause="the card lacks power: its power cable is not plugged in",
        remedy="plug it in; if rented, rent another and send the provider the output of "
        "`sudo dmesg | grep -i nvrm`",
    ),
    Refusal(
        pattern=r"interrupt (request )?issue",
        cause="the GPU's interrupts do not arrive",
        remedy=f"{AGAIN}; if that does not help, rent another machine; on one of your own the BIOS may keep "
        "the slot from having any",
    ),
    Refusal(
        pattern=r"GPU access blocked by the operating system",
        cause="Windows does not expose its GPU to WSL, or a sandbox blocks this program",
        remedy="`wsl --shutdown` in Windows, and open WSL again; then NVIDIA's newest driver for Windows "
        "and `wsl --update`; in a sandbox, run it outside",
    ),
    Refusal(
        pattern=r"function not found|doesn't implement this function",
        cause="the driver's library (NVML) and what asks it are of different versions",
        remedy=_OR_INSTALL,
    ),
    Refusal(
        pattern=r"system not yet initialized|error 802|CUDA_ERROR_SYSTEM_NOT_READY"
        r"|fabric manager[^\n]{0,80}not (running|initiali[sz]ed)"
        r"|(fabric|NVSwitch)[^\n]{0,80}not (yet )?initiali[sz]ed|not ready for the request",
        cause="an NVSwitch machine without its fabric manager, or a confidential-computing GPU that has not "
        "been set to the ready state",
        remedy="`sudo systemctl start nvidia-fabricmanager`, of the driver's own version; if you rented "
        "only a part of such a machine, its provider has to start it: rent another; in a confidential one "
        "`sudo nvidia-smi conf-compute -srs 1`",
    ),
)
"""The most telling first."""

INFOROM = Refusal(
    pattern=r"infoROM is corrupted|corrupted infoROM",
    cause="the card's own record of itself (infoROM) is corrupted; it still computes, but its ECC error "
    "counts can't be trusted",
    remedy="no command fixes this: tell the provider, or rent another if you need reliable ECC counts",
)
"""What nvidia-smi says beside a GPU that works."""

_CODES: Mapping[int, str] = {
    4: "insufficient permissions",
    6: "no devices were found",
    8: "insufficient power",
    9: "driver not loaded",
    10: "interrupt issue",
    11: "interrupt issue",
    12: "NVML shared library",
    13: "function not found",
    14: "infoROM is corrupted",
    15: "GPU is lost",
    16: "GPU requires reset",
    17: "GPU access blocked by the operating system",
    18: "driver/library version mismatch",
}
"""nvidia-smi's exit statuses (nvidia-smi(1), and NVML's codes beyond it), as a text that has its row."""


def find_code(code: int | None) -> Refusal | None:
    """The row of an exit status of nvidia-smi's, for where it does not say more."""
    return find_row(_CODES.get(code or 0, ""), (*ANSWERS, INFOROM))


CUDA_DRIVERS: Mapping[tuple[int, int], str] = {
    (10, 0): "410.48",
    (10, 1): "418.39",
    (10, 2): "440.33",
    (11, 0): "450.36.06",
    (11, 1): "455.23",
    (11, 2): "460.27.03",
    (11, 3): "465.19.01",
    (11, 4): "470.42.01",
    (11, 5): "495.29.05",
    (11, 6): "510.39.01",
    (11, 7): "515.43.04",
    (11, 8): "520.61.05",
    (12, 0): "525.60.13",
    (12, 1): "530.30.02",
    (12, 2): "535.54.03",
    (12, 3): "545.23.06",
    (12, 4): "550.54.14",
    (12, 5): "555.42.02",
    (12, 6): "560.28.03",
    (12, 8): "570.26",
    (12, 9): "575.51.03",
    (13, 0): "580.65.06",
    (13, 1): "590.44.01",
    (13, 2): "595.45.04",
}
"""By version of CUDA the first driver for Linux that has it: the releases' own, by table 3 of NVIDIA's
"CUDA Toolkit Release Notes" (13.2)."""

_LAST_BRANCHES = ((3.0, 390), (5.0, 470), (7.5, 580))
"""The last driver branch for GPUs below a compute capability: Fermi, Kepler, and Maxwell to Volta."""

_KEPLER = re.compile(
    r"\b(Tesla|Quadro|GRID) K(?!(620|1200|2200)\b)\d|GeForce GTX? (6\d\d|7(?!(45|50)\b)\d\d)\b"
)
"""Names of cards with Kepler, whose drivers are too old to say a compute capability; the K and 700 series
have a few of Maxwell."""

_CONDITION = re.compile(r"\b(cuda|driver|arch|brand)\s*(>=|<=|!=|=|<|>)\s*([\w.]+)", re.IGNORECASE)

_ORDER = {
    ">=": "{} or later",
    "<=": "{} or earlier",
    "!=": "other than {}",
    "=": "{}",
    "<": "before {}",
    ">": "after {}",
}
_NAMES = {
    "cuda": "a driver for CUDA",
    "driver": "a driver of version",
    "arch": "a GPU of compute capability",
    "brand": "a GPU of the brand",
}

_OF_DRIVER = ("cuda", "driver")

_SMALLER = (
    "take an image that demands less (CUDA_IMAGE=, BASE_IMAGE=; `docker inspect IMAGE` shows its "
    "NVIDIA_REQUIRE_CUDA)"
)


def last_branch(capability: float | None, name: str | None) -> int | None:
    """The last driver branch, such as 470, for a GPU by its compute capability, or where that is not told
    by its name; None: new ones still support it, or it is not known."""
    if capability is None:
        return 470 if _KEPLER.search(name or "") else None
    return next((branch for below, branch in _LAST_BRANCHES if capability < below), None)


def find_driver(cuda: str) -> str | None:
    """The first driver that has this version of CUDA or a later one; None: newer than the table."""
    numbers = tuple(int(part) for part in cuda.split(".")[:2] if part.isdigit())
    return next((driver for of, driver in CUDA_DRIVERS.items() if of >= numbers), None)


def describe_requirement(text: str) -> Refusal | None:
    """What an image demands that this machine does not have, by the toolkit's refusal; None: no condition
    stands in it."""
    _, _, said = text.partition("unsatisfied condition:")
    # The toolkit's newer program adds what it found in brackets.
    said = re.split(r", please|\(|\n|: unknown", said)[0]
    conditions = [(key.lower(), how, value) for key, how, value in _CONDITION.findall(said)]
    if not conditions:
        return None
    wanted, remedies = [], []
    for key, how, value in conditions:
        wanted.append(f"{_NAMES[key]} {_ORDER[how].format(value)}")
        if key in ("arch", "brand"):
            remedies.append(f"rent {wanted[-1]}")
        elif how in (">=", ">", "="):
            remedies.append(_demand_driver(key, value))
    older = len(remedies) == len(conditions) and all(key in _OF_DRIVER for key, *_ in conditions)
    lead = (
        "the driver is older than the image needs" if older else "the image is not for this machine"
    )
    return Refusal(
        pattern=UNSATISFIED,
        cause=f"{lead}: the image demands {' and '.join(wanted)}",
        # Of a brand and its drivers the first: another card has another driver.
        remedy="; or ".join([*remedies[:1], _SMALLER]),
    )


def _demand_driver(key: str, value: str) -> str:
    """What to do about the driver that is demanded, by its own version or by that of its CUDA."""
    least = value if key == "driver" else find_driver(value)
    words = f"{least} or later" if least else f"the one of CUDA {value} or later"
    if least and key == "cuda":
        words += f" for CUDA {value}"
    branch = re.match(r"\d+", least or "")
    kept = branch is not None and int(branch[0]) <= _LAST_BRANCHES[-1][1]
    return newer_driver(words, past_volta=not kept)


UNSATISFIED = r"unsatisfied condition:|requirement error:"
"""How NVIDIA's toolkit refuses an image."""

REQUIREMENT = Refusal(
    pattern=UNSATISFIED,
    cause="the image demands something of the driver or the GPU that this machine does not have",
    remedy="`docker inspect IMAGE` shows it (NVIDIA_REQUIRE_CUDA); another image (CUDA_IMAGE=, BASE_IMAGE=), "
    "or another machine",
)
"""Its row, for where it does not say which condition it is."""
