"""Names of processors, from /proc/cpuinfo as kernels write it."""

from __future__ import annotations

import pytest

from suite.procfs.processor import name_processor


def arm(*cores: tuple[int, int]) -> str:
    """The kernel's list of cores, each by its implementer and part."""
    blocks = (
        f"processor\t: {number}\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd evtstrm aes\n"
        f"CPU implementer\t: {implementer:#04x}\nCPU architecture: 8\nCPU variant\t: 0x3\n"
        f"CPU part\t: {part:#05x}\nCPU revision\t: 1\n"
        for number, (implementer, part) in enumerate(cores)
    )
    return "\n".join(blocks) + "\n"


@pytest.mark.parametrize(
    ("core", "name"),
    [
        ((0x41, 0xD0C), "Arm Neoverse N1"),
        ((0x41, 0xD84), "Arm Neoverse V3"),
        ((0x41, 0xD08), "Arm Cortex-A72"),
        ((0xC0, 0xAC3), "Ampere AmpereOne (Ampere-1)"),
        ((0x43, 0x0AF), "Cavium ThunderX2 99xx"),
        ((0x61, 0x023), "Apple M1 Firestorm"),
        # Nobody has named it yet, or a hypervisor hides it.
        ((0x41, 0xDFF), "Arm processor (part 0xdff)"),
        ((0x61, 0x000), "Apple processor (part 0x000)"),
        ((0x00, 0x051), "ARM processor (implementer 0x00, part 0x051)"),
    ],
)
def test_an_arm_core_has_its_name_or_its_numbers(core: tuple[int, int], name: str) -> None:
    assert name_processor(arm(*[core] * 4), "aarch64") == name


def test_cores_of_several_kinds_are_all_named_and_counted() -> None:
    text = arm(*[(0x41, 0xD05)] * 4, *[(0x41, 0xD41)] * 3, (0x41, 0xD44))
    assert name_processor(text, "aarch64") == (
        "4 × Arm Cortex-A55 + 3 × Arm Cortex-A78 + 1 × Arm Cortex-X1"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("processor : 0\nmodel name\t: AMD EPYC 7R32\n\nprocessor : 1\n", "AMD EPYC 7R32"),
        ("model name : QEMU Virtual CPU version 2.5+", "QEMU Virtual CPU version 2.5+"),
        # Some kernels for ARM have a name of the machine's maker, others only the architecture's.
        ("model name : Phytium,FT-2000+/64\n" + arm((0x70, 0x662)), "Phytium,FT-2000+/64"),
        ("model name : ARMv8 Processor rev 1 (v8l)\n" + arm((0x41, 0xD0C)), "Arm Neoverse N1"),
        ("Processor\t: AArch64 Processor rev 1\n\n" + arm((0x50, 0x000)), "APM X-Gene"),
        ("model name : unknown\n", "x86_64 processor"),
        ("CPU implementer : many\nCPU part : 0xd0c", "x86_64 processor"),
        ("", "x86_64 processor"),
    ],
)
def test_a_name_that_the_kernel_has_stays(text: str, name: str) -> None:
    assert name_processor(text, "x86_64") == name
