"""The driver and its GPUs: what nvidia-smi says, MIG instances, other processes, and none of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from suite.errors import GpuError
from suite.host.doctor.probe import Ran
from suite.host.engine import Card, GpuRequest, Slice
from suite.host.gpu.remedies import explain_refusal
from suite.host.gpu.smi import FIELDS, WSL_SMI
from tests.fakes.doctor_machine import (
    GPU_FILES,
    HOOK,
    UUIDS,
    FakeExamined,
    diagnose,
    make_machine,
    ran,
    sees,
    smi,
)
from tests.host.doctor.rows import (
    DEAD,
    H100,
    NO_CUDA,
    SILENT,
    WELL,
    Row,
    a10g,
    h100,
    hold,
    smi_fails,
    smi_says,
    view,
)

pytestmark = pytest.mark.simulated

WRAPPED = "runc create failed: Auto-detected mode as 'legacy'\nnvidia-container-cli: "
MIG_SMI = smi_says(smi(name=H100, driver="570.86.15", mig="Enabled", capability="9.0"))
BUSY = smi_says("", apps="7, /usr/bin/python3, 900 MiB")["nvidia-smi --query-compute-apps"]
UPGRADED = "initialization error: nvml error: driver/library version mismatch"
PCI = "sys/bus/pci/devices/0000:01:00.0"
ON_BUS = {f"{PCI}/vendor": "0x10de", f"{PCI}/class": "0x030200"}


NO_NODE = GpuError("this machine has an NVIDIA GPU and no device node", "`sudo modprobe nvidia`")
ROWS: Mapping[str, Row] = {
    "a driver that was upgraded under its module": a10g(
        SILENT + DEAD,
        smi=smi_fails("Failed to initialize NVML: Driver/library version mismatch"),
        engine={"gpu": explain_refusal(WRAPPED + UPGRADED)},
        says={"driver": "reboot", "passthrough": "reboot"},
    ),
    "a GPU without a driver": a10g(
        SILENT + DEAD,
        smi={},
        files=ON_BUS,
        engine={"gpu": NO_NODE},
        says={"driver": "no driver is loaded"},
    ),
    "an nvidia-smi that is too old to be asked everything": a10g(
        "capability=?",
        smi={
            f"nvidia-smi --query-gpu={','.join(FIELDS)}": ran(
                code=2, text='Field "compute_cap" is not a valid field to query.'
            ),
            **smi_says(smi().rpartition(",")[0]),
        },
        says={"capability": "does not say the compute capability"},
    ),
    "a stub in the hook's place": a10g(
        "driver=? capability=? idle-gpu=? tensorflow=x4",
        smi={},
        engine={"view": NO_CUDA},
        says={
            "driver": "nvidia-smi is not on PATH",
            "tensorflow": "the GPU was not passed through (failed call to cuInit: INTERNAL: CUDA error: "
            "UNKNOWN ERROR (303))",
        },
    ),
    "a MIG instance by its numbers": h100(
        smi=MIG_SMI,
        engine={
            "gpu": GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0:1",)),
            "view": view(f"{H100} MIG 3g.40gb", "9.0"),
        },
        question={"gpu": "0:1"},
        says={"driver": "using MIG 3g.40gb", "tensorflow": "MIG 3g.40gb"},
    ),
    "a MIG instance by its UUID, beside others that are busy": h100(
        "idle-gpu=?",
        smi={**MIG_SMI, "nvidia-smi --query-compute-apps": BUSY},
        engine={"gpu": HOOK, "support": None},
        question={"gpu": "MIG-bbbbbbbb-2222-3333-4444-555555555555"},
        says={"driver": "using MIG 3g.40gb", "idle-gpu": "on which one is not reported"},
    ),
    "two different GPUs, the second by UUID": a10g(
        smi=smi_says(smi(name="NVIDIA B200", capability="10.0"), smi(1)),
        engine={"gpu": GpuRequest(driver="nvidia", devices=(UUIDS[1],))},
        question={"gpu": UUIDS[1]},
        says={
            "driver": "NVIDIA A10G, 23028 MiB; 2 GPUs in all: 0: NVIDIA B200 (GPU-11111111…), 1: NVIDIA A10G",
            "capability": "8.6",
        },
    ),
    "WSL": a10g(
        "idle-gpu=?",
        smi={
            WSL_SMI + " --query-gpu": smi_says(smi(used="900 MiB"))["nvidia-smi --query-gpu"],
            WSL_SMI + " --query-compute-apps": ran(code=6, text="Not Supported"),
        },
        files={"dev/dxg": ""},
        says={"driver": "NVIDIA A10G", "idle-gpu": "Not Supported"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ROWS[name], tmp_path)


@pytest.mark.parametrize(
    ("cards", "asked"),
    [
        ((Card(index=0), Card(index=1)), "0"),
        ((Card(index=0, mig=True, slices=(Slice(index=2, uuid="MIG-a", name=None),)),), "0:2"),
        ((), "0"),
    ],
)
def test_of_all_gpus_the_first_is_looked_at(
    cards: tuple[Card, ...], asked: str, tmp_path: Path
) -> None:
    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], cards=cards, view=sees())
    diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=WELL), gpu="all")
    assert engine.gpus_asked == [asked]


def test_a_gpus_details_are_asked_for_once(tmp_path: Path) -> None:
    asked: list[int] = []

    def tell() -> Ran:
        asked.append(1)
        return ran(code=0, text="")

    engine = FakeExamined(gpu=HOOK, built=["cpu", "cuda"], view=sees())
    programs = {**WELL, "nvidia-smi -q": tell}
    diagnose(make_machine(tmp_path, engine, files=GPU_FILES, programs=programs))
    assert asked == [1]
