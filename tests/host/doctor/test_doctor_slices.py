"""Slices of a GPU (vGPU) under the doctor's eye: named, with a licence or without, on drivers old and new."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from suite.errors import GpuError
from tests.fakes.doctor_machine import line, ran, smi
from tests.host.doctor.rows import DEAD, Row, a10g, hold, smi_says, view

pytestmark = pytest.mark.simulated

REFUSED = GpuError("the driver is too old for this TensorFlow's CUDA", "a newer driver")


def say(
    name: str,
    driver: str,
    capability: str,
    mode: str = "VGPU",
    licence: str = "Licensed (Expiry: N/A)",
) -> dict[str, Any]:
    """What nvidia-smi says of a GPU that is, or looks like, a slice."""
    details = f"  Virtualization Mode    : {mode}\n  License Status   : {licence}\n"
    row = smi(name=name, driver=driver, memory="8192 MiB", mig="[N/A]", capability=capability)
    return {**smi_says(row), "nvidia-smi -q": ran(code=0, text=details)}


def sliced(marks: str = "", *, says: Mapping[str, str] | None = None, **how: str) -> Row:
    name = how.setdefault("name", "GRID T4-8Q")
    how.setdefault("driver", "550.90.07")
    how.setdefault("capability", "7.5")
    seen = {"view": view(name, how["capability"])}
    is_whole = how.get("mode") == "Pass-Through"
    # The tenants of a card's other slices can't be seen.
    return a10g(
        marks if is_whole else f"{marks} idle-gpu=?", smi=say(**how), engine=seen, says=says or {}
    )


SLICE = "GRID T4-8Q, 8192 MiB; a slice of T4 (vGPU): other virtual machines take turns"
ROWS: Mapping[str, Row] = {
    "a slice": sliced(says={"driver": SLICE}),
    "a slice that tells no mode": sliced(mode="N/A", says={"driver": SLICE}),
    "a whole card with a slice's kind of name": sliced(
        mode="Pass-Through", says={"driver": "GRID T4-8Q, 8192 MiB"}
    ),
    "a slice without a licence": sliced(
        "driver=x",
        licence="Unlicensed (Unrestricted)",
        says={"driver": "no licence (Unlicensed (Unrestricted)), so its driver slows it down"},
    ),
    "a whole card with a driver for slices, and no licence": sliced(
        name="Tesla T4",
        mode="Pass-Through",
        licence="Unlicensed",
        says={"driver": "driver 550.90.07: Tesla T4, 8192 MiB"},
    ),
    "a slice of an H100, on a driver too old for its PTX": sliced(
        "capability=-",
        name="NVIDIA H100-20C",
        driver="535.161.07",
        capability="9.0",
        says={"capability": "it works anyway"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_slices(name: str, tmp_path: Path) -> None:
    found, _ = hold(ROWS[name], tmp_path)
    assert found.status == 0


def test_a_slices_driver_that_is_too_old_is_nobodys_to_install(tmp_path: Path) -> None:
    row = a10g(
        "driver=x4 idle-gpu=? " + DEAD,
        smi=say("GRID T4-8Q", "470.256.03", "7.5"),
        engine={"gpu": REFUSED},
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
