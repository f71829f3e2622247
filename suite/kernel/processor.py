"""The processor's name, from what the kernel says of it in /proc/cpuinfo.  Standard library only.

On x86 the processor has its name in itself; an ARM core has two numbers, its implementer and its part
(fields of MIDR_EL1).  Their names, for cores of 64 bits and as their makers write them: util-linux,
``sys-utils/lscpu-arm.c``, and for the newest a public copy of that table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

_IMPLEMENTERS: Mapping[int, str] = {
    0x41: "Arm",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "APM",
    0x51: "Qualcomm",
    0x53: "Samsung",
    0x56: "Marvell",
    0x61: "Apple",
    0x6D: "Microsoft",
    0x70: "Phytium",
    0xC0: "Ampere",
}

_PARTS: Mapping[int, Mapping[int, str]] = {
    0x41: {
        0xD02: "Cortex-A34",
        0xD03: "Cortex-A53",
        0xD04: "Cortex-A35",
        0xD05: "Cortex-A55",
        0xD06: "Cortex-A65",
        0xD07: "Cortex-A57",
        0xD08: "Cortex-A72",
        0xD09: "Cortex-A73",
        0xD0A: "Cortex-A75",
        0xD0B: "Cortex-A76",
        0xD0C: "Neoverse N1",
        0xD0D: "Cortex-A77",
        0xD0E: "Cortex-A76AE",
        0xD40: "Neoverse V1",
        0xD41: "Cortex-A78",
        0xD42: "Cortex-A78AE",
        0xD43: "Cortex-A65AE",
        0xD44: "Cortex-X1",
        0xD46: "Cortex-A510",
        0xD47: "Cortex-A710",
        0xD48: "Cortex-X2",
        0xD49: "Neoverse N2",
        0xD4A: "Neoverse E1",
        0xD4B: "Cortex-A78C",
        0xD4C: "Cortex-X1C",
        0xD4D: "Cortex-A715",
        0xD4E: "Cortex-X3",
        0xD4F: "Neoverse V2",
        0xD80: "Cortex-A520",
        0xD81: "Cortex-A720",
        0xD82: "Cortex-X4",
        0xD83: "Neoverse V3AE",
        0xD84: "Neoverse V3",
        0xD85: "Cortex-X925",
        0xD87: "Cortex-A725",
        0xD88: "Cortex-A520AE",
        0xD89: "Cortex-A720AE",
        0xD8A: "C1-Nano",
        0xD8B: "C1-Pro",
        0xD8C: "C1-Ultra",
        0xD8E: "Neoverse N3",
        0xD8F: "Cortex-A320",
        0xD90: "C1-Premium",
    },
    0x42: {0x516: "ThunderX2"},
    0x43: {
        0x0A0: "ThunderX",
        0x0A1: "ThunderX 88XX",
        0x0A2: "ThunderX 81XX",
        0x0A3: "ThunderX 83XX",
        0x0AF: "ThunderX2 99xx",
        0x0B0: "OcteonTX2",
        0x0B1: "OcteonTX2 98XX",
        0x0B2: "OcteonTX2 96XX",
        0x0B3: "OcteonTX2 95XX",
        0x0B8: "ThunderX3 T110",
    },
    0x46: {0x001: "A64FX", 0x003: "MONAKA"},
    0x48: {
        0xD01: "Kunpeng 920",
        0xD02: "TaiShan v120",
        0xD40: "Cortex-A76",
        0xD41: "Cortex-A77",
    },
    0x4E: {0x000: "Denver", 0x003: "Denver 2", 0x004: "Carmel", 0x010: "Olympus"},
    0x50: {0x000: "X-Gene"},
    0x51: {
        0x001: "Oryon",
        0x002: "Oryon",
        0x201: "Kryo",
        0x205: "Kryo",
        0x211: "Kryo",
        0x800: "Falkor V1",
        0x801: "Kryo V2",
        0x802: "Kryo 3XX Gold",
        0x803: "Kryo 3XX Silver",
        0x804: "Kryo 4XX Gold",
        0x805: "Kryo 4XX Silver",
        0xC00: "Falkor",
        0xC01: "Saphira",
    },
    0x53: {0x001: "Exynos M1", 0x002: "Exynos M3", 0x003: "Exynos M4", 0x004: "Exynos M5"},
    0x61: {
        0x020: "A14 Icestorm",
        0x021: "A14 Firestorm",
        0x022: "M1 Icestorm",
        0x023: "M1 Firestorm",
        0x024: "M1 Pro Icestorm",
        0x025: "M1 Pro Firestorm",
        0x028: "M1 Max Icestorm",
        0x029: "M1 Max Firestorm",
        0x030: "A15 Blizzard",
        0x031: "A15 Avalanche",
        0x032: "M2 Blizzard",
        0x033: "M2 Avalanche",
        0x034: "M2 Pro Blizzard",
        0x035: "M2 Pro Avalanche",
        0x036: "A16 Sawtooth",
        0x037: "A16 Everest",
        0x038: "M2 Max Blizzard",
        0x039: "M2 Max Avalanche",
    },
    0x6D: {0xD49: "Azure Cobalt 100"},
    0x70: {
        0x303: "FTC310",
        0x660: "FTC660",
        0x661: "FTC661",
        0x662: "FTC662",
        0x663: "FTC663",
        0x664: "FTC664",
        0x862: "FTC862",
    },
    0xC0: {0xAC3: "AmpereOne (Ampere-1)", 0xAC4: "AmpereOne (Ampere-1A)"},
}

_GENERIC = re.compile(r"\s*(?:(?:AArch64|ARMv\d+)\s+Processor\b.*|unknown)?\s*", re.IGNORECASE)
"""What kernels write in a name's place; a hypervisor that hides the name writes another, which stays."""


def name_processor(cpuinfo: str, architecture: str) -> str:
    """The processor's name, never empty: of /proc/cpuinfo's text, and what `platform.machine` says.

    Where its cores are of several kinds, each with how many of it there are, most first.
    """
    blocks = [_read_fields(block) for block in re.split(r"\n\s*\n", cpuinfo)]
    named = next((one["model name"] for one in blocks if "model name" in one), "")
    if not _GENERIC.fullmatch(named):
        return " ".join(named.split())
    kinds = Counter(name for one in blocks if (name := _name_core(one)))
    if len(kinds) > 1:
        return " + ".join(f"{count} × {name}" for name, count in kinds.most_common())
    return next(iter(kinds), "") or f"{architecture or 'unnamed'} processor"


def _read_fields(text: str) -> dict[str, str]:
    fields = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in fields}


def _name_core(fields: Mapping[str, str]) -> str | None:
    """The name of one ARM core; by its numbers where nobody has given it one."""
    told = (fields.get("CPU implementer", ""), fields.get("CPU part", ""))
    if not all(re.fullmatch(r"0x[0-9a-fA-F]+", text) for text in told):
        return None
    implementer, part = (int(text, 16) for text in told)
    maker = _IMPLEMENTERS.get(implementer)
    if maker is None:
        return f"ARM processor (implementer {implementer:#04x}, part {part:#05x})"
    name = _PARTS.get(implementer, {}).get(part)
    return f"{maker} {name}" if name else f"{maker} processor (part {part:#05x})"
