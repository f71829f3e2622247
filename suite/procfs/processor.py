"""The processor's name, from what the kernel says of it in /proc/cpuinfo.  Standard library only.

On x86 the processor has its name in itself; an ARM core has two numbers, its implementer and its part
(fields of MIDR_EL1).  Their names, for cores of 64 bits and as their makers write them: util-linux,
``sys-utils/lscpu-arm.c``, and for the newest a public copy of that table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

_TABLE = Path(__file__).with_name("arm_cores.txt").read_text(encoding="utf-8")
_NAMES = {(row[0], row[1]): row[2] for row in (line.split(" ", 2) for line in _TABLE.splitlines())}
"""The names of cores by the hexadecimal numbers of implementer and part; of an implementer by ``*``."""

_GENERIC = re.compile(r"\s*(?:(?:AArch64|ARMv\d+)\s+Processor\b.*|unknown)?\s*", re.IGNORECASE)
"""What kernels write in a name's place; a hypervisor that hides the name writes another, which stays."""


def name_processor(cpuinfo: str, architecture: str) -> str:
    """The processor's name, never empty: of /proc/cpuinfo's text, and what `platform.machine` says.

    Where its cores are of several kinds, each with how many of it there are, most first.
    """
    blocks = [_read_fields(block) for block in re.split(r"\n\s*\n", cpuinfo)]
    named = next((block["model name"] for block in blocks if "model name" in block), "")
    if not _GENERIC.fullmatch(named):
        return " ".join(named.split())
    kinds = Counter(name for block in blocks if (name := _name_core(block)))
    if len(kinds) > 1:
        return " + ".join(f"{count} × {name}" for name, count in kinds.most_common())
    return next(iter(kinds), "") or f"{architecture or 'unnamed'} processor"


def _read_fields(text: str) -> dict[str, str]:
    fields = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in fields}


def _name_core(fields: Mapping[str, str]) -> str | None:
    """The name of one ARM core; by its numbers where nobody has given it one."""
    numbers = (fields.get("CPU implementer", ""), fields.get("CPU part", ""))
    if not all(re.fullmatch(r"0x[0-9a-fA-F]+", text) for text in numbers):
        return None
    implementer, part = f"{int(numbers[0], 16):02x}", f"{int(numbers[1], 16):03x}"
    maker = _NAMES.get((implementer, "*"))
    if maker is None:
        return f"ARM processor (implementer 0x{implementer}, part 0x{part})"
    return f"{maker} {_NAMES.get((implementer, part), f'processor (part 0x{part})')}"
