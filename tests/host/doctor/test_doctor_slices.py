"""A slice of a GPU (vGPU) whose driver is too old, and a GPU that shares the CPU's memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.errors import GpuError
from tests.fakes.doctor_machine import line, ran, smi
from tests.host.doctor.rows import DEAD, a10g, hold, smi_says, view

pytestmark = pytest.mark.simulated


def test_a_slices_driver_that_is_too_old_is_nobodys_to_install(tmp_path: Path) -> None:
    details = ran(code=0, text="  Virtualization Mode    : VGPU\n  License Status   : Licensed\n")
    slice_ = smi(name="GRID T4-8Q", driver="470.256.03", memory="8192 MiB", capability="7.5")
    row = a10g(
        "driver=x4 idle-gpu=? " + DEAD,
        smi={**smi_says(slice_), "nvidia-smi -q": details},
        engine={"gpu": GpuError("the driver is too old", "a newer driver")},
    )
    told = line(hold(row, tmp_path)[0], "driver")
    assert told.text == (
        "driver 470.256.03 is older than CUDA 12 needs, on GRID T4-8Q, a slice of T4 (vGPU): other "
        "virtual machines take turns at the same card, so their load shows in its numbers"
    )
    assert "with another image, one with driver 525 or later, or another type" in told.remedy
    assert "apt" not in told.remedy


def test_a_gpu_that_shares_the_cpus_memory_tells_none(tmp_path: Path) -> None:
    row = a10g(
        smi=smi_says(smi(name="NVIDIA GB10", driver="580.95.05", memory="[N/A]")),
        engine={"view": view("NVIDIA GB10", "8.6")},
    )
    told = line(hold(row, tmp_path)[0], "driver").text
    assert told == "driver 580.95.05: NVIDIA GB10"
