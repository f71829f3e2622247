"""The processor's name, from what the kernel says of it in /proc/cpuinfo.  Standard library only.

On x86 the processor has its name in itself; an ARM core has two numbers, its implementer and its part
(fields of MIDR_EL1).  Their names, for cores of 64 bits and as their makers write them: util-linux,
``sys-utils/lscpu-arm.c``, and for the newest a public copy of that table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

_TABLE = """\
41 Arm
  d02 Cortex-A34; d03 Cortex-A53; d04 Cortex-A35; d05 Cortex-A55; d06 Cortex-A65; d07 Cortex-A57;
  d08 Cortex-A72; d09 Cortex-A73; d0a Cortex-A75; d0b Cortex-A76; d0c Neoverse N1; d0d Cortex-A77;
  d0e Cortex-A76AE; d40 Neoverse V1; d41 Cortex-A78; d42 Cortex-A78AE; d43 Cortex-A65AE;
  d44 Cortex-X1; d46 Cortex-A510; d47 Cortex-A710; d48 Cortex-X2; d49 Neoverse N2; d4a Neoverse E1;
  d4b Cortex-A78C; d4c Cortex-X1C; d4d Cortex-A715; d4e Cortex-X3; d4f Neoverse V2; d80 Cortex-A520;
  d81 Cortex-A720; d82 Cortex-X4; d83 Neoverse V3AE; d84 Neoverse V3; d85 Cortex-X925;
  d87 Cortex-A725; d88 Cortex-A520AE; d89 Cortex-A720AE; d8a C1-Nano; d8b C1-Pro; d8c C1-Ultra;
  d8e Neoverse N3; d8f Cortex-A320; d90 C1-Premium
42 Broadcom
  516 ThunderX2
43 Cavium
  0a0 ThunderX; 0a1 ThunderX 88XX; 0a2 ThunderX 81XX; 0a3 ThunderX 83XX; 0af ThunderX2 99xx;
  0b0 OcteonTX2; 0b1 OcteonTX2 98XX; 0b2 OcteonTX2 96XX; 0b3 OcteonTX2 95XX; 0b8 ThunderX3 T110
46 Fujitsu
  001 A64FX; 003 MONAKA
48 HiSilicon
  d01 Kunpeng 920; d02 TaiShan v120; d40 Cortex-A76; d41 Cortex-A77
4e NVIDIA
  000 Denver; 003 Denver 2; 004 Carmel; 010 Olympus
50 APM
  000 X-Gene
51 Qualcomm
  001 Oryon; 002 Oryon; 201 Kryo; 205 Kryo; 211 Kryo; 800 Falkor V1; 801 Kryo V2; 802 Kryo 3XX Gold;
  803 Kryo 3XX Silver; 804 Kryo 4XX Gold; 805 Kryo 4XX Silver; c00 Falkor; c01 Saphira
53 Samsung
  001 Exynos M1; 002 Exynos M3; 003 Exynos M4; 004 Exynos M5
56 Marvell
61 Apple
  020 A14 Icestorm; 021 A14 Firestorm; 022 M1 Icestorm; 023 M1 Firestorm; 024 M1 Pro Icestorm;
  025 M1 Pro Firestorm; 028 M1 Max Icestorm; 029 M1 Max Firestorm; 030 A15 Blizzard;
  031 A15 Avalanche; 032 M2 Blizzard; 033 M2 Avalanche; 034 M2 Pro Blizzard; 035 M2 Pro Avalanche;
  036 A16 Sawtooth; 037 A16 Everest; 038 M2 Max Blizzard; 039 M2 Max Avalanche
6d Microsoft
  d49 Azure Cobalt 100
70 Phytium
  303 FTC310; 660 FTC660; 661 FTC661; 662 FTC662; 663 FTC663; 664 FTC664; 862 FTC862
c0 Ampere
  ac3 AmpereOne (Ampere-1); ac4 AmpereOne (Ampere-1A)
"""
"""An implementer's number and name on a line of its own, and below it its cores: each the part's number and
its name; numbers are hexadecimal."""


def _read_table() -> tuple[dict[int, str], dict[tuple[int, int], str]]:
    """The names of implementers by their numbers, and of cores by implementer and part."""
    makers: dict[int, str] = {}
    cores: dict[tuple[int, int], str] = {}
    implementer = 0
    for line in _TABLE.splitlines():
        entries = [entry.strip().split(" ", 1) for entry in line.split(";") if entry.strip()]
        if line.startswith(" "):
            cores |= {(implementer, int(part, 16)): name for part, name in entries}
        else:
            ((number, maker),) = entries
            implementer = int(number, 16)
            makers[implementer] = maker
    return makers, cores


_IMPLEMENTERS, _CORES = _read_table()

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
    implementer, part = (int(text, 16) for text in numbers)
    maker = _IMPLEMENTERS.get(implementer)
    if maker is None:
        return f"ARM processor (implementer {implementer:#04x}, part {part:#05x})"
    name = _CORES.get((implementer, part))
    return f"{maker} {name}" if name else f"{maker} processor (part {part:#05x})"
