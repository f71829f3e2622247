"""A slice of a GPU (vGPU) as its virtual machine sees it: what it is, its licence, and its driver.  Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from suite.slices import read_virtual_gpu

UNLICENSED = (
    "ask the provider to license it (the slowdown starts about 20 minutes after boot), or rent another "
    "image or machine type; `nvidia-smi -q` shows the License Status, and `sudo journalctl -u nvidia-gridd` "
    "why there is no licence"
)
"""What to do about a slice without a licence."""


@dataclass(frozen=True, kw_only=True)
class VgpuState:
    """A slice: in words what it is, and the driver's License Status (None: unknown)."""

    what: str
    license: str | None

    @property
    def is_unlicensed(self) -> bool:
        """Whether its driver says so: ``Unlicensed``, or with ``(Unrestricted)`` or ``(Restricted)``."""
        return (self.license or "").lower().startswith("unlicensed")


def find_slice(name: str | None, details: str) -> VgpuState | None:
    """What a GPU is a slice of, by its name and by what ``nvidia-smi -q`` prints of it; None: it is none."""
    mode, licence = (
        re.search(rf"^\s*{field}\s*:\s*(\S.*?)\s*$", details, re.MULTILINE)
        for field in ("Virtualization Mode", "License Status")
    )
    known, named = mode[1] if mode and mode[1] != "N/A" else None, read_virtual_gpu(name)
    if known != "VGPU" and (known is not None or named is None):
        return None
    card = f"a slice of {named.card}" if named else "a slice of a GPU"
    shares = (
        "has parts of its processor to itself"
        if named and named.is_part
        else "other virtual machines take turns at the same card, so their load shows in its numbers"
    )
    return VgpuState(what=f"{card} (vGPU): {shares}", license=licence[1] if licence else None)


def newer_image(least: int) -> str:
    """What to do about a slice's driver that is too old for TensorFlow."""
    return (
        f"rent this machine type with another image, one with driver {least} or later, or another type: a "
        "slice's driver has to fit the provider's host, so you can't update it yourself"
    )
