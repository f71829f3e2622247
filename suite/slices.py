"""Slices of a GPU (vGPU), by the names that NVIDIA's driver gives them in a virtual machine.

Standard library only.  A MIG instance of a whole GPU is something else, and has another kind of name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"(?:(?:NVIDIA|GRID)\s+)*(?P<card>\S.*?)-(?:(?P<part>\d)-)?\d+[ABCQ](?:\d|ME)*")
"""As NVIDIA's virtual GPU user guide has it: the card, on a card cut by MIG how many of its parts, the
memory in GB (0: half of one), the series by its letter; then displays, or ME for media engines."""


@dataclass(frozen=True)
class VirtualGpu:
    """A slice: of which ``card``, and whether it has parts of the processor to itself (``is_part``), or takes
    turns at the whole of it with other virtual machines."""

    card: str
    is_part: bool


def read_virtual_gpu(name: str | None) -> VirtualGpu | None:
    """What a GPU's name, such as ``GRID T4-8Q``, says of a slice; None: it is not a slice's name."""
    match = _NAME.fullmatch(name or "")
    if match is None:
        return None
    return VirtualGpu(match["card"], is_part=match["part"] is not None)


def is_piece(name: str) -> bool:
    """Whether a GPU's name is that of a slice, or of a MIG instance: less than the card that it names."""
    return read_virtual_gpu(name) is not None or " MIG " in name
