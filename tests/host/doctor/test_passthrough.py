"""How a GPU gets into containers: toolkits, CDI specifications, rootless engines and Podman."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from suite.errors import GpuError
from suite.host.gpu.choice import VISIBLE, hide_all
from suite.host.gpu.remedies import explain_refusal
from tests.fakes.doctor_machine import sees
from tests.host.doctor.rows import DEAD, FOLDERS, UNTRIED, Row, a10g, h100, hold

pytestmark = pytest.mark.simulated

ETC, RUN = "etc/cdi/nvidia.yaml", "var/run/cdi/nvidia.yaml"
MOUNTS = "containerEdits:\n  mounts:\n  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{}\n"
STALE, MADE = MOUNTS.format("550.54.15"), MOUNTS.format("570.86.15")
NODES = (
    "devices:\n- name: '0'\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n"
    "containerEdits:\n  deviceNodes:\n  - path: /dev/nvidiactl\n"
)
"""The device nodes of a specification, but for the one by which CUDA manages memory."""
NO_UVM = sees(
    refused="TensorFlow sees no GPU here",
    diary="failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_UNKNOWN: "
    "unknown error\n",
)
SLOW = GpuError("a trivial container did not answer within 8 s", "`nvidia-smi` must work")
SLOW.__cause__ = TimeoutError()

ROWS: Mapping[str, Row] = {
    "a shell that hides every GPU, and no engine between": a10g(
        "toolkit=- passthrough=x tensorflow=- base=+",
        engine={"isolation": "none", "gpu": hide_all({VISIBLE: "NoDevFiles"})},
        question={"engine": "local", "environment": {VISIBLE: "NoDevFiles"}},
        says={
            "passthrough": "CUDA_VISIBLE_DEVICES=NoDevFiles hides every GPU of this machine from this"
        },
    ),
    "a trial that takes too long, which is no refusal": a10g(
        "passthrough=? tensorflow=?", engine={"gpu": SLOW}
    ),
    "CDI switched on, and no specification": a10g(
        "toolkit=x " + DEAD,
        toolkit={},
        engine={
            "gpu": explain_refusal("unresolvable CDI devices nvidia.com/gpu=0"),
            "support": replace(FOLDERS, runtimes=()),
        },
        says={"passthrough": "cdi generate"},
    ),
    "a CDI specification without the device for memory": h100(
        "toolkit=x tensorflow=x4",
        files={ETC: MADE + NODES},
        engine={"view": NO_UVM},
        says={
            "toolkit": f"/{ETC} does not name /dev/nvidia-uvm, without which CUDA can't start "
            "`sudo nvidia-modprobe -u -c=0` makes the device, then `sudo nvidia-ctk cdi generate "
            f"--output=/{ETC}`",
            "tensorflow": "a CDI specification must name /dev/nvidia-uvm",
        },
    ),
    "a stale CDI specification for an engine that reads no other folder": h100(
        "toolkit=x " + UNTRIED,
        files={ETC: STALE, RUN: MADE},
        engine={"support": replace(FOLDERS, cdi_folders=("/etc/cdi",)), "built": ()},
        says={"toolkit": f"/{ETC} was written for driver 550.54.15, and 570.86.15 is loaded"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ROWS[name], tmp_path)
