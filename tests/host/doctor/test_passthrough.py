"""How a GPU gets into containers: toolkits, CDI specifications, rootless engines and Podman."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite.errors import GpuError
from suite.host.engine import GpuSupport
from suite.host.gpu.choice import VISIBLE, hide_all
from suite.host.gpu.remedies import explain_refusal
from tests.fakes.doctor_machine import CDI, GPU_FILES, PLAIN, sees, smi
from tests.host.doctor.rows import DEAD, UNTRIED, Row, a10g, h100, hold, smi_says

pytestmark = pytest.mark.simulated

FOLDERS = GpuSupport(devices=(), cdi_folders=("/etc/cdi", "/var/run/cdi"), runtimes=("runc",))
ETC, RUN = "etc/cdi/nvidia.yaml", "var/run/cdi/nvidia.yaml"
KIND = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"
MOUNTS = "containerEdits:\n  mounts:\n  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{}\n"
STALE, MADE = MOUNTS.format("550.54.15"), MOUNTS.format("570.86.15")
NODES = (
    "devices:\n- name: '0'\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n"
    "containerEdits:\n  deviceNodes:\n  - path: /dev/nvidiactl\n"
)
"""The device nodes of a specification, but for the one by which CUDA manages memory."""
UVM = "  - path: /dev/nvidia-uvm\n"
RIGHT = MADE + NODES + UVM
IN_JSON = (
    '{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "containerEdits": '
    '{"mounts": [{"hostPath": "/usr/lib/libcuda.so.550.54.15"}]}}'
)
CLUSTERS = '{"cdiVersion": "0.6.0", "kind": "k8s.device-plugin.nvidia.com/gpu"}'
NO_UVM = sees(
    refused="TensorFlow sees no GPU here",
    diary="failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_UNKNOWN: "
    "unknown error\n",
)
ALL_THE_SAME = "but it works anyway (see "
WRITTEN = "was written for driver 550.54.15, and 570.86.15 is loaded"
GENERATE = "nvidia-ctk cdi generate --output=/"
LACKS = "does not name /dev/nvidia-uvm"
NO_FILE = explain_refusal(
    "failed to fulfil mount request: open /usr/lib/libcuda.so.550.54.15: no such file or directory"
)
NO_DEVICE = explain_refusal("unresolvable CDI devices nvidia.com/gpu=0")
MOUNT = explain_refusal(
    "runc create failed: nvidia-container-cli: mount error: bpf_prog_query(BPF_CGROUP_DEVICE) failed"
)
SLOW = GpuError("a trivial container did not answer within 8 s", "`nvidia-smi` must work")
SLOW.__cause__ = TimeoutError()
ROOTLESS = {"facts": {"rootless": True}}
NO_PROBE = {"built": (), "probe_image": False}
HOOK_CONFIG = "etc/nvidia-container-runtime/config.toml"


def specified(specs: Mapping[str, str], marks: str = "", says: str = "", **engine: Any) -> Row:
    """An H100 with these CDI specifications; what is said of them."""
    return h100(marks, files=specs, engine=engine, says={"toolkit": says})


def podman(
    marks: str = "", *, version: str = "5.4.2", says: Mapping[str, str], **engine: Any
) -> Row:
    files = engine.pop("files", {})
    known = {"kind": "podman", "facts": {"product": "podman", "version": version}, **engine}
    return a10g(marks, engine=known, files={**GPU_FILES, **files}, says=says)


ROWS: Mapping[str, Row] = {
    "a healthy A10G, by the hook": a10g(
        says={"toolkit": "toolkit 1.17.4", "passthrough": "NVIDIA's hook"}
    ),
    "a healthy H100, by CDI": h100(
        says={
            "driver": "driver 570.86.15: NVIDIA H100 80GB HBM3, 23028 MiB",
            "toolkit": "CDI: the engine lists nvidia.com/gpu=0, nvidia.com/gpu=GPU-11111111…, nvidia",
            "passthrough": "through CDI",
        }
    ),
    "no toolkit": a10g(
        "toolkit=x " + DEAD,
        toolkit={},
        engine={
            "gpu": explain_refusal('could not select device driver "" with capabilities: [[gpu]]')
        },
        says={"toolkit": "nvidia-ctk runtime configure", "passthrough": "nvidia-ctk runtime"},
    ),
    "a shell's GPU that does not reach containers": a10g(
        question={"environment": {VISIBLE: "1"}},
        says={
            "passthrough": "does not reach containers, and GPU was not given: GPU 0 is measured; GPU=1"
        },
    ),
    "a shell that hides every GPU, and an engine": a10g(
        question={"environment": {VISIBLE: ""}},
        says={
            "passthrough": "CUDA_VISIBLE_DEVICES='' of this shell hides every GPU from it, and not from"
        },
    ),
    "a GPU that was named beside a shell's": a10g(
        question={"environment": {VISIBLE: "1"}, "gpu": "0"},
        says={"passthrough": "GPU=0 takes precedence over CUDA_VISIBLE_DEVICES=1 of this shell"},
    ),
    "a shell's GPU, and no engine between": a10g(
        "toolkit=- passthrough=- base=+",
        smi=smi_says(smi(), smi(1)),
        engine={"isolation": "none", "gpu": PLAIN},
        question={"engine": "local", "environment": {VISIBLE: "1"}},
        says={"passthrough": "GPU 1 is measured, the first of CUDA_VISIBLE_DEVICES=1"},
    ),
    "a shell that hides every GPU, and no engine between": a10g(
        "toolkit=- passthrough=x tensorflow=- base=+",
        engine={"isolation": "none", "gpu": hide_all({VISIBLE: "NoDevFiles"})},
        question={"engine": "local", "environment": {VISIBLE: "NoDevFiles"}},
        says={
            "passthrough": "CUDA_VISIBLE_DEVICES=NoDevFiles hides every GPU of this machine from this"
        },
    ),
    "no toolkit that the shell sees, and a trial that works": a10g(
        "toolkit=-",
        toolkit={},
        says={"toolkit": ALL_THE_SAME + "passthrough", "passthrough": "a trivial container sees"},
    ),
    "no image to try it": a10g(
        "passthrough=? " + UNTRIED,
        engine={**NO_PROBE, "base_here": False},
        says={"passthrough": "`make images`", "base": "its registry answers"},
    ),
    "neither a toolkit nor an image to try it": a10g(
        "toolkit=x passthrough=x4 " + UNTRIED,
        toolkit={},
        engine=NO_PROBE,
        says={"passthrough": "nvidia-container-toolkit"},
    ),
    "a trial that takes too long, which is no refusal": a10g(
        "passthrough=? tensorflow=?", engine={"gpu": SLOW}
    ),
    "CDI switched on, and no specification": a10g(
        "toolkit=x " + DEAD,
        toolkit={},
        engine={"gpu": NO_DEVICE, "support": replace(FOLDERS, runtimes=())},
        says={"passthrough": "cdi generate"},
    ),
    "a CDI specification of another driver": specified(
        {ETC: STALE}, "toolkit=x " + DEAD, WRITTEN, gpu=NO_FILE
    ),
    "a CDI specification of another driver that works all the same": specified(
        {ETC: STALE}, "toolkit=-", f"{WRITTEN}; {ALL_THE_SAME}tensorflow)"
    ),
    "a stale CDI specification, and a right one that counts before it": specified(
        {ETC: STALE, RUN: RIGHT}, "", f"there is a specification (/{RUN})", support=FOLDERS
    ),
    # Written to the other folder it would change nothing.
    "a right CDI specification, and a stale one that counts before it": specified(
        {ETC: RIGHT, RUN: STALE},
        "toolkit=x " + DEAD,
        f"/{RUN} {WRITTEN} `sudo {GENERATE}{RUN}`",
        gpu=NO_FILE,
    ),
    "a CDI specification without the device for memory": h100(
        "toolkit=x tensorflow=x4",
        files={ETC: MADE + NODES},
        engine={"view": NO_UVM},
        says={
            "toolkit": f"/{ETC} {LACKS}, without which CUDA can't start `sudo nvidia-modprobe -u -c=0` "
            f"makes the device, then `sudo {GENERATE}{ETC}`",
            "tensorflow": "a CDI specification must name /dev/nvidia-uvm",
        },
    ),
    "a hand-made CDI specification in JSON, of another driver": specified(
        {"etc/cdi/gpu.json": IN_JSON},
        "toolkit=x " + UNTRIED,
        "/etc/cdi/gpu.json was written for driver 550.54.15",
        built=(),
    ),
    "a stale backup of a CDI specification in the folder that counts first": specified(
        {
            ETC: KIND + RIGHT,
            f"{RUN}.bak": KIND + STALE + NODES,
            f"{RUN}~": KIND + STALE + NODES,
        },
        "",
        f"there is a specification (/{ETC})",
        support=FOLDERS,
    ),
    "a stale CDI specification beside a cluster's own": specified(
        {ETC: STALE, "var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json": CLUSTERS},
        "toolkit=x " + UNTRIED,
        f"/{ETC} {WRITTEN}",
        support=FOLDERS,
        built=(),
    ),
    "a stale CDI specification for an engine that reads no other folder": specified(
        {ETC: STALE, RUN: RIGHT},
        "toolkit=x " + UNTRIED,
        f"/{ETC} {WRITTEN}",
        support=replace(FOLDERS, cdi_folders=("/etc/cdi",)),
        built=(),
    ),
    "a CDI specification of the loaded driver": specified(
        {ETC: MADE}, "", f"there is a specification (/{ETC})", support=FOLDERS
    ),
    "a CDI specification without the device for memory that nobody asks for": a10g(
        "tensorflow=x4",
        files={**GPU_FILES, ETC: NODES},
        engine={"view": NO_UVM},
        says={"toolkit": "toolkit 1.17.4"},
    ),
    "a rootless engine with the hook as it comes": a10g(
        "toolkit=x " + DEAD,
        engine={**ROOTLESS, "gpu": MOUNT},
        files={**GPU_FILES, HOOK_CONFIG: "#no-cgroups = false"},
        says={"engine": "rootless", "toolkit": "no-cgroups", "passthrough": "no-cgroups"},
    ),
    "a rootless engine with the hook set for it": a10g(
        engine=ROOTLESS, files={**GPU_FILES, HOOK_CONFIG: "no-cgroups = true"}
    ),
    "Podman 4.3": podman(
        "toolkit=x " + DEAD,
        version="4.3.1",
        gpu=GpuError("podman 4.3.1 takes a GPU request and runs without", "podman 5.4 or newer"),
        says={"passthrough": "podman 5.4", "toolkit": "nvidia-ctk cdi generate"},
    ),
    "Podman 5.4 without a CDI specification, and no image to try it": podman(
        "toolkit=x passthrough=x4 " + UNTRIED,
        **NO_PROBE,
        says={"toolkit": f"then `sudo {GENERATE}{ETC}`", "passthrough": "nvidia-ctk cdi generate"},
    ),
    "Podman 5.4 with a CDI specification": podman(
        gpu=CDI,
        files={ETC: "cdiVersion: 0.5.0"},
        says={"toolkit": f"/{ETC}", "engine": "podman 5.4.2"},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    _, engine = hold(ROWS[name], tmp_path)
    assert engine is not None
    # Where it can't be tried, nobody tries.
    assert engine.has_probe_image() or engine.gpus_asked == []
