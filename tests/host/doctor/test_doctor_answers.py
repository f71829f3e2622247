"""What the doctor makes of nvidia-smi's answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from suite.errors import GpuError
from suite.host.doctor.finding import Unknown
from suite.host.gpu.smi import FIELDS
from tests.fakes.doctor_machine import GPU_FILES, line, ran, smi
from tests.host.doctor.rows import DEAD, NO_CUDA, SILENT, Row, a10g, hold, smi_says

pytestmark = pytest.mark.simulated

NOT_GIVEN = GpuError("the engine refused the GPU", "`nvidia-smi`")

HANDLE = "Unable to determine the device handle for GPU"
ERRORS = ", ".join(["0", *["[Unknown Error]"] * 10])
KEPLER = {"name": "Tesla K80", "driver": "470.256.02"}


def ends(code: int, *lines: str) -> dict[str, Any]:
    """An nvidia-smi that prints this and ends so."""
    return {**smi_says(smi()), "nvidia-smi --query-gpu": ran(code=code, text="\n".join(lines))}


ANSWERED: Mapping[str, Row] = {
    "an error in every field": a10g(
        SILENT + "tensorflow=x4",
        smi=ends(0, ERRORS),
        engine={"view": NO_CUDA},
        says={"driver": "GPU 0 does not answer: nvidia-smi says: Unknown Error for name"},
    ),
    "errors, and a GPU that computes": a10g(
        "driver=- capability=? idle-gpu=?", smi=ends(0, ERRORS), says={"driver": "works anyway"}
    ),
    "an nvidia-smi that hangs": a10g(
        "driver=? capability=? idle-gpu=?",
        smi={"nvidia-smi": Unknown("`nvidia-smi` did not answer within 6 s")},
        says={"driver": "if it keeps hanging: `sudo nvidia-smi --gpu-reset"},
    ),
    "a card whose last driver is too old": a10g(
        "driver=x4 capability=? " + DEAD,
        smi={
            f"nvidia-smi --query-gpu={','.join(FIELDS)}": ran(
                code=2, text='Field "compute_cap" is not a valid field to query.'
            ),
            **smi_says(smi(**KEPLER).replace(" 8.6,", "")),
        },
        engine={"gpu": NOT_GIVEN},
        says={"driver": "there is none after branch 470 for this GPU (Tesla K80) rent a GPU of"},
    ),
}
"""What nvidia-smi answers, and what comes of it."""

ON_BUS = {
    **GPU_FILES,
    **{
        f"sys/bus/pci/devices/0000:0{number}:00.0/{name}": text
        for number in (1, 2)
        for name, text in (("vendor", "0x10de"), ("class", "0x030200"))
    },
}
"""Two GPUs."""

JOB = {"environment": {"SLURM_JOB_ID": "7"}}
BUS: Mapping[str, tuple[Row, bool]] = {
    "a GPU on the bus that is not listed": (a10g(files=ON_BUS), True),
    "all of the bus": (a10g(files=ON_BUS, smi=smi_says(smi(), smi(1))), False),
    "one that does not answer": (
        a10g(files=ON_BUS, smi=ends(15, smi(), f"{HANDLE}1: Lost")),
        False,
    ),
    "a batch job's GPU": (a10g(files=ON_BUS, question=JOB), False),
    "a system container's GPU": (
        a10g(files={**ON_BUS, "run/systemd/container": "lxc"}),
        False,
    ),
}
"""Machines, and whether a GPU is missing from the driver's list."""


@pytest.mark.parametrize("name", ANSWERED)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ANSWERED[name], tmp_path)


@pytest.mark.parametrize("name", BUS)
def test_a_gpu_of_the_bus_that_the_driver_does_not_list_is_told(name: str, tmp_path: Path) -> None:
    row, told = BUS[name]
    found, _ = hold(row, tmp_path)
    words = "caution: the PCI bus has 2 NVIDIA GPUs, and nvidia-smi does not list 1 of them: "
    assert (words in line(found, "driver").text) is told
    assert told or "PCI bus" not in line(found, "driver").text
