"""Which driver has which CUDA, which is a GPU's last, and what an image demands, in its own numbers."""

from __future__ import annotations

import pytest

from suite.host.gpu.drivers import REQUIREMENT, last_branch
from suite.host.gpu.remedies import find_refusal

CLI = "nvidia-container-cli: requirement error: unsatisfied condition: "
PLEASE = ", please update your driver to a newer version, or use an earlier cuda container"


@pytest.mark.parametrize(
    ("text", "cause", "remedy"),
    [
        (
            f"{CLI}cuda>=12.8{PLEASE}: unknown",
            "older than the image needs",
            "570.26 or later for CUDA 12.8",
        ),
        (f"{CLI}cuda >= 9.0\\n", "a driver for CUDA 9.0 or later", "410.48 or later for CUDA 9.0"),
        # There was no release of it.
        (f"{CLI}cuda>=12.7{PLEASE}", "CUDA 12.7", "570.26 or later for CUDA 12.7"),
        (f"{CLI}cuda>=14.1{PLEASE}", "CUDA 14.1", "the one of CUDA 14.1 or later"),
        # NVIDIA's newer program adds what it found.
        (
            "unsatisfied condition: cuda>=13.0 (cuda=12.4)",
            "the image demands a driver for CUDA 13.0 or later",
            "580.65.06 or later for CUDA 13.0",
        ),
        (f"{CLI}driver>=535", "a driver of version 535 or later", "535 or later"),
        (
            f"{CLI}driver<550",
            "the image demands a driver of version before 550",
            "take an image that demands less (CUDA_IMAGE=, BASE_IMAGE=;",
        ),
        (
            f"{CLI}arch>=7.5",
            "a GPU of compute capability 7.5 or later",
            "rent a GPU of compute",
        ),
        (f"{CLI}brand=tesla", "not for this machine", "rent a GPU of the brand tesla"),
        (
            f"{CLI}brand=tesla,driver>=470,driver<471",
            "the brand tesla and a driver of version 470 or later and a driver of version before 471",
            "rent a GPU of the brand tesla",
        ),
        (f"{CLI}os=plan9", REQUIREMENT.cause, "docker inspect"),
        (
            "nvidia-container-cli: requirement error: invalid expression",
            REQUIREMENT.cause,
            "docker inspect",
        ),
    ],
)
def test_a_demand_is_told_in_its_own_numbers(text: str, cause: str, remedy: str) -> None:
    row = find_refusal(f"runc create failed: Auto-detected mode as 'legacy'\n{text}")
    assert row is not None
    assert cause in row.cause
    assert remedy in row.remedy
    assert "525" not in row.remedy
    assert not row.remedy.startswith("or ")
    assert "(CUDA_IMAGE=, BASE_IMAGE=" in row.remedy


@pytest.mark.parametrize(
    ("condition", "has_580"),
    [
        ("cuda>=12.8", True),
        ("cuda>=13.0", True),
        ("driver>=580.65", True),
        ("cuda>=13.1", False),
        ("cuda>=14.1", False),
        ("driver>=590", False),
        ("driver>=r590", False),
    ],
)
def test_no_driver_is_offered_that_is_older_than_the_one_demanded(
    condition: str, has_580: bool
) -> None:
    row = find_refusal(f"{CLI}{condition}{PLEASE}")
    assert row is not None
    assert ("cuda-drivers-580" in row.remedy) == has_580
    last = "(the last for Maxwell, Pascal and Volta cards is branch 580)"
    assert (last in row.remedy) != has_580


@pytest.mark.parametrize(
    ("capability", "name", "branch"),
    [
        (2.0, "Tesla M2090", 390),
        (3.7, "Tesla K80", 470),
        (None, "Tesla K80", 470),
        (None, "GRID K520", 470),
        (None, "NVIDIA GeForce GTX 780 Ti", 470),
        (None, "GeForce GTX 750 Ti", None),
        (None, "Quadro K2200", None),
        (None, "Tesla T4", None),
        (None, None, None),
        (5.2, "Tesla M60", 580),
        (6.0, "Tesla P100-PCIE-16GB", 580),
        (7.0, "Tesla V100-SXM2-16GB", 580),
        (7.5, "Tesla T4", None),
        (12.0, "NVIDIA GeForce RTX 5090", None),
    ],
)
def test_the_last_branch_of_a_gpu(
    capability: float | None, name: str | None, branch: int | None
) -> None:
    assert last_branch(capability, name) == branch
