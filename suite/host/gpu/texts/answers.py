"""What NVIDIA's driver says of a GPU that does not work, and what to do: of nvidia-smi and of whatever
asks the same library (NVML), such as NVIDIA's hook.

Pure.  nvidia-smi's exit status is NVML's code.  Who rented the machine can't mend a card, and seldom a
driver: so first a reset, then a reboot, then another machine, and a new driver last.
"""

from __future__ import annotations

from collections.abc import Mapping

from suite.host.gpu.commands import INSTALL_DRIVER
from suite.host.machine.refusal import Refusal, find_row

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
