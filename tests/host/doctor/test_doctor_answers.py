"""What the doctor makes of nvidia-smi's answers, and of a GPU on which it lists nobody."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from suite.errors import GpuError
from suite.host.doctor.finding import Unknown
from suite.host.gpu.remedies import explain_refusal
from suite.host.gpu.smi import FIELDS
from tests.fakes.doctor_machine import GPU_FILES, UUIDS, line, ran, smi
from tests.host.doctor.rows import DEAD, NO_CUDA, SILENT, Row, a10g, hold, smi_says

pytestmark = pytest.mark.simulated

NOT_GIVEN = GpuError("the engine refused the GPU", "`nvidia-smi`")

HANDLE = "Unable to determine the device handle for GPU"
ROM = "WARNING: infoROM is corrupted at gpu 0000:00:1E.0"
ERRORS = ", ".join(["0", *["[Unknown Error]"] * 10])
LOST_0 = f"{HANDLE}0000:01:00.0: GPU is lost.  Reboot the system to recover this GPU"
KEPLER = {"name": "Tesla K80", "driver": "470.256.02"}


def ends(code: int, *lines: str) -> dict[str, Any]:
    """An nvidia-smi that prints this and ends so."""
    return {**smi_says(smi()), "nvidia-smi --query-gpu": ran(code=code, text="\n".join(lines))}


ANSWERED: Mapping[str, Row] = {
    "a row, and a corrupted infoROM": a10g(
        smi=ends(14, smi(), ROM),
        says={
            "driver": "caution: the card's own record of itself (infoROM) is corrupted; it still"
        },
    ),
    "a row, and an exit code that nobody knows": a10g(
        smi=ends(77, smi(), "the moon is full"),
        says={"driver": "caution: nvidia-smi ends with exit code 77 (the moon is full)"},
    ),
    "an error in every field": a10g(
        SILENT + "tensorflow=x4",
        smi=ends(0, ERRORS),
        engine={"view": NO_CUDA},
        says={"driver": "GPU 0 does not answer: nvidia-smi says: Unknown Error for name"},
    ),
    "errors, and a GPU that computes": a10g(
        "driver=- capability=? idle-gpu=?", smi=ends(0, ERRORS), says={"driver": "works anyway"}
    ),
    "one sensor that fails": a10g(
        smi=ends(0, smi().replace("31", "[Unknown Error]")),
        says={"driver": "caution: nvidia-smi says 'Unknown Error' for its temperature.gpu"},
    ),
    "the GPU that was named is lost": a10g(
        SILENT + DEAD,
        smi=ends(0, LOST_0, smi().replace("0", "1", 1)),
        engine={"gpu": explain_refusal("GPU is lost")},
        says={"driver": "GPU 0 (0000:01:00.0) does not answer", "passthrough": "--gpu-reset"},
    ),
    "another GPU is lost": a10g(
        smi=ends(255, f"{HANDLE}1: 0000:02:00.0: Unknown Error", smi()),
        says={"driver": "caution: GPU 1 (0000:02:00.0) does not answer"},
    ),
    "one by its UUID, and one is lost": a10g(
        SILENT + DEAD,
        smi=ends(0, LOST_0, smi()),
        engine={"gpu": NOT_GIVEN},
        question={"gpu": UUIDS[1]},
        says={
            "driver": "it has 0: NVIDIA A10G (GPU-11111111…); GPU 1 (0000:01:00.0) does not answer"
        },
    ),
    "no devices, and an exit code of 0": a10g(
        SILENT + DEAD,
        smi=ends(0, "No devices were found"),
        engine={"gpu": NOT_GIVEN},
        says={"driver": "could not initialise any GPU"},
    ),
    "an exit code alone": a10g(
        SILENT + DEAD, smi=ends(15, ""), engine={"gpu": NOT_GIVEN}, says={"driver": "--gpu-reset"}
    ),
    "a failure that nobody knows": a10g(
        SILENT + DEAD,
        smi=ends(255, "the moon is full"),
        engine={"gpu": NOT_GIVEN},
        says={"driver": "its message is not listed here: the moon is full"},
    ),
    "an nvidia-smi that hangs": a10g(
        "driver=? capability=? idle-gpu=?",
        smi={"nvidia-smi": Unknown("`nvidia-smi` did not answer within 6 s")},
        says={"driver": "if it keeps hanging: `sudo nvidia-smi --gpu-reset"},
    ),
    "memory that waits for a reset": a10g(
        smi={**smi_says(smi()), "nvidia-smi -q": ran(code=0, text="  Pending      : Yes")},
        says={
            "driver": "caution: defective memory is waiting for a reset to be retired; `sudo nvidia-smi"
        },
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

CONTAINER = {**GPU_FILES, "proc/2/comm": "bash"}
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


def unlisted(marks: str, used: str, said: str, **of: Any) -> Row:
    """A GPU on which no process is listed."""
    return a10g(marks, smi=smi_says(smi(used=used)), says={"idle-gpu": said}, **of)


REFUSED_APPS = {
    **smi_says(smi(used="[N/A]")),
    "nvidia-smi --query-compute-apps": ran(code=3, text="No."),
}

UNSEEN: Mapping[str, Row] = {
    "nobody": unlisted("", "4 MiB", "no other process computes on it"),
    "nobody, and an nvidia-smi that does not say how much is used": unlisted(
        "", "[N/A]", "no other"
    ),
    "nobody, and memory that somebody has": unlisted(
        "idle-gpu=?", "20000 MiB", "but graphics programs and what"
    ),
    "a container, and little memory": unlisted(
        "",
        "4 MiB",
        "4 MiB of its memory are used, too little for a process that computes",
        files=CONTAINER,
    ),
    "a container, and some memory": unlisted(
        "idle-gpu=?",
        "700 MiB",
        "is unknown: this is a container",
        files=CONTAINER,
    ),
    "a container, and much memory": unlisted(
        "idle-gpu=x",
        "20480 MiB",
        "someone uses 20.0 GiB of its memory, and can't be seen from here: this is a container",
        files=CONTAINER,
    ),
    "a container, and memory that is not told": unlisted(
        "idle-gpu=?",
        "[N/A]",
        "how much of its memory is used is not reported",
        files=CONTAINER,
    ),
    "a query that is refused": a10g(
        "idle-gpu=?", smi=REFUSED_APPS, says={"idle-gpu": "nvidia-smi does not list processes: No."}
    ),
    "a query that answers nothing": a10g(
        "idle-gpu=?",
        smi=smi_says(smi(used="900 MiB"), apps="[N/A], [N/A], [N/A]"),
        says={"idle-gpu": "nvidia-smi answers [N/A]"},
    ),
    "a corrupted infoROM, and nobody": a10g(
        smi={**smi_says(smi()), "nvidia-smi --query-compute-apps": ran(code=14, text=ROM)},
        says={"idle-gpu": "no other process computes on it"},
    ),
    "a slice of a card": a10g(
        "idle-gpu=?",
        smi=smi_says(smi(name="NVIDIA A10-8Q", used="0 MiB")),
        says={"idle-gpu": "it is a slice of a card (vGPU), and the tenants of the other slices"},
    ),
}
"""Whether nobody is there where nobody is listed."""


@pytest.mark.parametrize("name", {**ANSWERED, **UNSEEN})
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold({**ANSWERED, **UNSEEN}[name], tmp_path)


@pytest.mark.parametrize("name", BUS)
def test_a_gpu_of_the_bus_that_the_driver_does_not_list_is_told(name: str, tmp_path: Path) -> None:
    row, told = BUS[name]
    found, _ = hold(row, tmp_path)
    words = "caution: the PCI bus has 2 NVIDIA GPUs, and nvidia-smi does not list 1 of them: "
    assert (words in line(found, "driver").text) is told
    assert told or "PCI bus" not in line(found, "driver").text
