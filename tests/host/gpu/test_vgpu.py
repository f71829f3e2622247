"""Slices of a GPU (vGPU) by what nvidia-smi prints of them, in the words of its versions."""

from __future__ import annotations

import pytest

from suite.host.gpu.smi import find_slice, newer_image

pytestmark = pytest.mark.simulated


def details(mode: str | None = "VGPU", licence: str | None = None) -> str:
    """What ``nvidia-smi -q`` prints around the two lines."""
    lines = ["==============NVSMI LOG==============", "    Product Name     : Made-Up"]
    if mode is not None:
        lines += [
            "    GPU Virtualization Mode",
            f"        Virtualization Mode               : {mode}",
        ]
        lines += ["        Host VGPU Mode                    : N/A"]
    if licence is not None:
        lines += [
            "    vGPU Software Licensed Product",
            "        Product Name          : Made-Up vWS",
        ]
        lines += [f"        License Status                    : {licence}"]
    return "\n".join([*lines, "    IBMNPU", "        Relaxed Ordering Mode             : N/A"])


@pytest.mark.parametrize(
    ("name", "mode", "what"),
    [
        ("GRID T4-8Q", "VGPU", "a slice of T4 (vGPU): other virtual machines take turns"),
        (
            "NVIDIA A100-1-5C",
            "VGPU",
            "a slice of A100 (vGPU): has parts of its processor to itself",
        ),
        ("A name unlike any", "VGPU", "a slice of a GPU (vGPU)"),
        (None, "VGPU", "a slice of a GPU (vGPU)"),
        ("NVIDIA A10-4Q", None, "a slice of A10 (vGPU)"),
        ("NVIDIA A10-4Q", "N/A", "a slice of A10 (vGPU)"),
        ("NVIDIA A10-4Q", "Pass-Through", None),
        ("NVIDIA A10", "Pass-Through", None),
        ("NVIDIA A10", "None", None),
        ("NVIDIA A10", "Host VGPU", None),
        ("NVIDIA A10", None, None),
    ],
)
def test_a_slice_is_known_by_its_mode_and_else_by_its_name(
    name: str | None, mode: str | None, what: str | None
) -> None:
    found = find_slice(name, details(mode))
    assert (found is None) == (what is None)
    assert found is None or what is None or found.what.startswith(what)


@pytest.mark.parametrize(
    ("told", "unlicensed"),
    [
        ("Licensed (Expiry: N/A)", False),
        ("Licensed (Expiry: 2026-6-11 23:16:50 GMT)", False),
        ("Unlicensed", True),
        ("Unlicensed (Unrestricted)", True),
        ("Unlicensed (Restricted)", True),
        ("N/A", False),
        (None, False),
    ],
)
def test_its_licence_in_the_drivers_words(told: str | None, unlicensed: bool) -> None:
    found = find_slice("GRID T4-8Q", details("VGPU", told))
    assert found is not None
    assert (found.license, found.is_unlicensed) == (told, unlicensed)


def test_what_to_do_about_its_driver_asks_nobody_to_install_one() -> None:
    text = newer_image(525)
    assert "another image, one with driver 525 or later, or another type" in text
    assert "apt" not in text
