"""The doctor on made-up machines with a GPU: every line's mark, one machine a row.

No GPU stands behind any of them; the texts of drivers, hooks and engines are those that they print.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from suite.errors import GpuError, NoGpuError
from suite.host.doctor.cards import WSL_SMI
from suite.host.doctor.examine import CHECKS
from suite.host.doctor.machine import Ran
from suite.host.engine import Card, GpuRequest, GpuSupport, Slice
from suite.host.gpu.remedies import explain_refusal
from suite.host.gpu.request import choose_request
from suite.host.provision.volumes import compile_cache
from suite.model import Image, Scalar
from tests.fakes.doctor_machine import (
    CDI,
    GPU_FILES,
    HOOK,
    RECORDED,
    TOOLKIT,
    UUIDS,
    FakeExamined,
    diagnose,
    line,
    make_machine,
    marks,
    sees,
    smi,
)
from tests.fakes.engine import Life

pytestmark = pytest.mark.simulated

GB = 10**9
H100 = "NVIDIA H100 80GB HBM3"
WRAPPED = "runc create failed: Auto-detected mode as 'legacy'\nnvidia-container-cli: "
LISTED = GpuSupport(
    # As NVIDIA's toolkit names them where it is asked for indexes and UUIDs.
    devices=("nvidia.com/gpu=0", f"nvidia.com/gpu={UUIDS[0]}", "nvidia.com/gpu=all"),
    cdi_folders=(),
    runtimes=(),
)
FOLDERS = GpuSupport(devices=(), cdi_folders=("/etc/cdi", "/var/run/cdi"), runtimes=("runc",))
MADE = {"sys/class/dmi/id/sys_vendor": "Made-Up Cloud"}
DRIVER_FILE = "proc/driver/nvidia/version"
LOADED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Mon Jan 1 00:00:00 UTC 2026"
SPEC = "containerEdits:\n  mounts:\n  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{}\n"
KIND = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n"
NODES = (
    "devices:\n- name: '0'\n  containerEdits:\n    deviceNodes:\n    - path: /dev/nvidia0\n"
    "containerEdits:\n  deviceNodes:\n  - path: /dev/nvidiactl\n"
)
"""The device nodes of a specification, but for the one by which CUDA manages memory."""
UVM = "  - path: /dev/nvidia-uvm\n"
SLICES = """GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-2222-3333-4444-555555555555)
  MIG 1g.10gb     Device  0: (UUID: MIG-aaaaaaaa-2222-3333-4444-555555555555)
  MIG 3g.40gb     Device  1: (UUID: MIG-bbbbbbbb-2222-3333-4444-555555555555)
"""
MIG_CARD = Card(
    index=0,
    name=H100,
    mig=True,
    slices=(Slice(index=0, uuid="MIG-aaaaaaaa", name="MIG 1g.10gb"),),
)
LATE = Life(words=[TimeoutError()])
PTX_REFUSED = (
    "W0000 00:00:1795290143.066641       1 redzone_allocator.cc:1] CUDA_ERROR_UNSUPPORTED_PTX_VERSION: the "
    "provided PTX was compiled with an unsupported toolchain.\n"
)
NO_UVM = sees(
    refused="TensorFlow sees no GPU here",
    diary="failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: CUDA_ERROR_UNKNOWN: "
    "unknown error\n",
)
CACHE = compile_cache(
    Image(id="", content=None, base=RECORDED[0], digests=[], lock=RECORDED[1], origin=""), CDI
).name
DEAD = {"passthrough": "x4", "tensorflow": "?"}
"""What follows where no GPU can be had."""


def smi_says(*rows: str, apps: str = "") -> dict[str, Any]:
    return {
        "nvidia-smi --query-gpu": Ran(code=0, text="\n".join(rows)),
        "nvidia-smi --query-compute-apps": Ran(code=0, text=apps),
        "nvidia-smi -L": Ran(code=0, text=SLICES),
    }


def smi_fails(text: str) -> dict[str, Any]:
    return {"nvidia-smi": Ran(code=18, text=text), **TOOLKIT}


def refusal(cards: Sequence[Card], wanted: str, info: Mapping[str, Any] | None = None) -> GpuError:
    """What `find_gpu` raises for this on such a machine."""
    with pytest.raises(GpuError) as caught:
        choose_request(info or {}, wanted, cards)
    return caught.value


def view(name: str, capability: str) -> Life:
    return sees(**{"gpu.0.name": name, "gpu.0.capability": capability})


@dataclass(frozen=True, kw_only=True)
class Row:
    """A machine: what its programs say, its files, its engine; and what the doctor is to make of it.

    ``marks`` are those that are not a plain yes; ``says`` pieces of text by check, of the finding and
    its remedy together.
    """

    smi: Mapping[str, Any]
    marks: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    status: int = 0
    gpu: GpuRequest | GpuError = HOOK
    view: Life = field(default_factory=lambda: view("NVIDIA A10G", "8.6"))
    files: Mapping[str, str] = field(default_factory=lambda: GPU_FILES)
    toolkit: Mapping[str, Any] = field(default_factory=lambda: TOOLKIT)
    engine: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Scalar] = field(default_factory=dict)
    built: Sequence[str] = ("cpu", "cuda")
    free: int = 100 * GB
    question: Mapping[str, Any] = field(default_factory=dict)


def cloth(**changes: Any) -> Row:
    """An H100 with a driver that is new enough, given by CDI, but for the changes."""
    usual: dict[str, Any] = {
        "smi": smi_says(smi(name=H100, driver="570.86.15", mig="Disabled", capability="9.0")),
        "view": view(H100, "9.0"),
        "gpu": CDI,
        "engine": {"support": LISTED},
        "files": {**GPU_FILES, DRIVER_FILE: LOADED},
    }
    return Row(**{**usual, **changes})


def old_driver(**changes: Any) -> Row:
    """The same with a driver that is older than the wheel's PTX, but for the changes."""
    smi_row = smi(name=H100, driver="550.90.07", mig="Disabled", capability="9.0")
    return cloth(**{"smi": smi_says(smi_row), "files": GPU_FILES, **changes})


CLUSTERS = '{"cdiVersion": "0.6.0", "kind": "k8s.device-plugin.nvidia.com/gpu"}'
HEALTHY_SMI = smi_says(smi())
MIG_SMI = smi_says(smi(name=H100, driver="570.86.15", mig="Enabled", capability="9.0"))
ONE_CARD = (Card(index=0, name="NVIDIA A10G", uuid=UUIDS[0], mig=False),)

ROWS: Mapping[str, Row] = {
    "a healthy H100, by CDI": cloth(
        says={
            "driver": "driver 570.86.15: NVIDIA H100 80GB HBM3, 23028 MiB",
            "toolkit": "CDI: the engine lists nvidia.com/gpu=0, nvidia.com/gpu=GPU-11111111…, nvidia",
            "capability": "compute capability 9.0: TensorFlow holds code for it",
            "tensorflow": "TensorFlow 2.21.0 in the CUDA image sees NVIDIA H100 80GB HBM3 (compute "
            "capability 9.0) and computes on it",
        }
    ),
    "an H100 whose driver is older than the wheel's PTX, and computes all the same": old_driver(
        marks={"capability": "-"},
        says={
            "capability": "their results are wrong, with a warning alone; but it works all the same "
            "(see tensorflow)",
            "tensorflow": "sees NVIDIA H100 80GB HBM3 (compute capability 9.0) and computes on it",
        },
    ),
    "an H100 whose driver is older than the wheel's PTX, and adds up wrongly": old_driver(
        view=sees(
            refused="/GPU:0 gives a wrong result for a small sum by elements of whole numbers",
            diary=PTX_REFUSED,
        ),
        marks={"capability": "x4", "tensorflow": "x4"},
        says={"capability": "too old to compile", "tensorflow": "555 or later"},
        status=4,
    ),
    "an H100 whose driver is older than the wheel's PTX, and can't load it": old_driver(
        view=sees(
            refused="the GPU fails in the start-up sequence: cuModuleLoadData failed with "
            "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
        ),
        marks={"capability": "x4", "tensorflow": "x4"},
        says={"capability": "555 or later", "tensorflow": "555 or later"},
        status=4,
    ),
    "an H100 whose driver is older than the wheel's PTX, and nothing built to try it": old_driver(
        built=(),
        marks={"capability": "x4", "tensorflow": "?", "base": "+"},
        says={"capability": "555 or later", "tensorflow": "the CUDA image is not built yet"},
        status=4,
    ),
    "an H100 whose driver is older than the wheel's PTX, and that does not answer": old_driver(
        view=LATE,
        marks={"capability": "x4", "tensorflow": "?"},
        says={"capability": "555 or later"},
        status=4,
    ),
    "an H100 with the first driver that compiles the wheel's PTX": old_driver(
        smi=smi_says(smi(name=H100, driver="555.42.02", mig="Disabled", capability="9.0")),
        says={"capability": "compute capability 9.0: TensorFlow holds code for it"},
    ),
    "an H100 that comes up too late, and no compile cache yet": cloth(
        view=LATE,
        marks={"tensorflow": "?"},
        says={"tensorflow": "what is read for the first time takes longer ask again"},
    ),
    "an H100 that comes up too late on a campaign's compile cache": cloth(
        view=LATE,
        engine={"support": LISTED, "caches": (CACHE,)},
        marks={"tensorflow": "?"},
        says={"tensorflow": "what is read for the first time takes longer ask again"},
    ),
    "an A10G whose image is read for the first time": Row(
        smi=HEALTHY_SMI,
        view=LATE,
        marks={"tensorflow": "?"},
        says={"tensorflow": "read for the first time takes longer ask again"},
    ),
    "a healthy A10G, by the hook": Row(
        smi=HEALTHY_SMI, says={"toolkit": "toolkit 1.17.4", "passthrough": "NVIDIA's hook"}
    ),
    "a Pascal": Row(
        smi=smi_says(smi(name="Tesla P100-PCIE-16GB", capability="6.0")),
        view=view("Tesla P100-PCIE-16GB", "6.0"),
        says={"capability": "holds code"},
    ),
    "a Maxwell": Row(
        smi=smi_says(smi(name="Tesla M60", capability="5.2")),
        view=sees(refused="the GPU has compute capability 5.2, which is older"),
        marks={"capability": "x4", "tensorflow": "x4"},
        says={"capability": "older than the locked TensorFlow has code for"},
        status=4,
    ),
    "a Blackwell": Row(
        smi=smi_says(smi(name="NVIDIA B200", driver="580.65", capability="10.0")),
        view=sees(refused="the GPU has compute capability 10.0, which is newer"),
        marks={"capability": "x4", "tensorflow": "x4"},
        says={"capability": "Blackwell or later"},
        status=4,
    ),
    "a driver that is too old": Row(
        smi=smi_says(smi(driver="470.57.02")),
        gpu=explain_refusal(WRAPPED + "requirement error: unsatisfied condition: cuda>=12.5"),
        marks={"driver": "x4", **DEAD},
        says={"driver": "525 or later", "passthrough": "525 or later"},
        status=4,
    ),
    "a driver that was upgraded under its module": Row(
        smi=smi_fails("Failed to initialize NVML: Driver/library version mismatch"),
        gpu=explain_refusal(WRAPPED + "initialization error: nvml error: driver/library version "
                            "mismatch"),
        marks={"driver": "x4", "capability": "?", "idle-gpu": "?", **DEAD},
        says={"driver": "reboot", "passthrough": "reboot"},
        status=4,
    ),
    "a driver whose module is not loaded": Row(
        smi=smi_fails("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
        files={
            "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de",
            "sys/bus/pci/devices/0000:01:00.0/class": "0x030200",
        },
        gpu=GpuError("this machine has an NVIDIA GPU and no device node", "`sudo modprobe nvidia`"),
        marks={"driver": "x4", "capability": "?", "idle-gpu": "?", **DEAD},
        says={"driver": "modprobe nvidia", "passthrough": "modprobe"},
        status=4,
    ),
    "no toolkit": Row(
        smi=HEALTHY_SMI,
        toolkit={},
        gpu=explain_refusal('could not select device driver "" with capabilities: [[gpu]]'),
        marks={"toolkit": "x", **DEAD},
        says={"toolkit": "nvidia-ctk runtime configure", "passthrough": "nvidia-ctk runtime"},
        status=4,
    ),
    "a CDI specification of another driver": cloth(
        files={**GPU_FILES, DRIVER_FILE: LOADED, "etc/cdi/nvidia.yaml": SPEC.format("550.54.15")},
        gpu=explain_refusal("failed to fulfil mount request: open /usr/lib/libcuda.so.550.54.15: "
                            "no such file or directory"),
        marks={"toolkit": "x", **DEAD},
        says={"toolkit": "written for driver 550.54.15, and 570.86.15 is loaded"},
        status=4,
    ),
    "no toolkit that the shell sees, and a trial that works": Row(
        smi=HEALTHY_SMI,
        toolkit={},
        marks={"toolkit": "-"},
        says={
            "toolkit": "nor a CDI specification is here; but it works all the same (see passthrough)",
            "passthrough": "a trivial container sees the GPU",
        },
    ),
    "a CDI specification of another driver that works all the same": cloth(
        files={**GPU_FILES, DRIVER_FILE: LOADED, "etc/cdi/nvidia.yaml": SPEC.format("550.54.15")},
        marks={"toolkit": "-"},
        says={
            "toolkit": "written for driver 550.54.15, and 570.86.15 is loaded; but it works all the "
            "same (see tensorflow)"
        },
    ),
    "a CDI specification of another driver, and nothing built to try it": cloth(
        files={**GPU_FILES, DRIVER_FILE: LOADED, "etc/cdi/nvidia.yaml": SPEC.format("550.54.15")},
        built=(),
        marks={"toolkit": "x", "tensorflow": "?", "base": "+"},
        says={"toolkit": "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"},
    ),
    "a stale CDI specification, and a right one that counts before it": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/nvidia.yaml": SPEC.format("550.54.15"),
            "var/run/cdi/nvidia.yaml": SPEC.format("570.86.15") + NODES + UVM,
        },
        engine={"support": FOLDERS},
        says={"toolkit": "CDI is on, and there is a specification (/var/run/cdi/nvidia.yaml)"},
    ),
    "a right CDI specification, and a stale one that counts before it": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/nvidia.yaml": SPEC.format("570.86.15") + NODES + UVM,
            "var/run/cdi/nvidia.yaml": SPEC.format("550.54.15"),
        },
        gpu=explain_refusal("failed to fulfil mount request: open /usr/lib/libcuda.so.550.54.15: "
                            "no such file or directory"),
        marks={"toolkit": "x", **DEAD},
        says={
            # Written to the other folder it would change nothing.
            "toolkit": "/var/run/cdi/nvidia.yaml was written for driver 550.54.15, and 570.86.15 is "
            "loaded `sudo nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml`"
        },
        status=4,
    ),
    "a CDI specification without the device for memory": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/nvidia.yaml": SPEC.format("570.86.15") + NODES,
        },
        view=NO_UVM,
        marks={"toolkit": "x", "tensorflow": "x4"},
        says={
            "toolkit": "/etc/cdi/nvidia.yaml does not name /dev/nvidia-uvm, without which CUDA can't "
            "start `sudo nvidia-modprobe -u -c=0` makes the device, then `sudo nvidia-ctk cdi generate "
            "--output=/etc/cdi/nvidia.yaml`",
            "tensorflow": "a CDI specification must name /dev/nvidia-uvm",
        },
        status=4,
    ),
    "a hand-made CDI specification under another name, without the device for memory": cloth(
        files={**GPU_FILES, DRIVER_FILE: LOADED, "etc/cdi/gpu.yaml": KIND + NODES},
        view=NO_UVM,
        marks={"toolkit": "x", "tensorflow": "x4"},
        says={
            "toolkit": "/etc/cdi/gpu.yaml does not name /dev/nvidia-uvm, without which CUDA can't start "
            "`sudo nvidia-modprobe -u -c=0` makes the device, then `sudo nvidia-ctk cdi generate "
            "--output=/etc/cdi/gpu.yaml`",
        },
        status=4,
    ),
    "a hand-made CDI specification in JSON, of another driver": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/gpu.json": '{"cdiVersion": "0.6.0", "kind": "nvidia.com/gpu", "containerEdits": '
            '{"mounts": [{"hostPath": "/usr/lib/libcuda.so.550.54.15"}]}}',
        },
        built=(),
        marks={"toolkit": "x", "tensorflow": "?", "base": "+"},
        says={"toolkit": "/etc/cdi/gpu.json was written for driver 550.54.15"},
    ),
    "another vendor's CDI specification alone, and one of NVIDIA's that is cut off": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            # Of its kind it says nothing, and it is judged by its name.
            "etc/cdi/nvidia.yaml": SPEC.format("550.54.15"),
            "var/run/cdi/gpu.yaml": "kind: vendor.example/gpu\n" + NODES,
            "var/run/cdi/gpu.json": "",
        },
        engine={"support": FOLDERS},
        built=(),
        marks={"toolkit": "x", "tensorflow": "?", "base": "+"},
        says={"toolkit": "/etc/cdi/nvidia.yaml was written for driver 550.54.15"},
    ),
    "a stale backup of a CDI specification in the folder that counts first": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/nvidia.yaml": KIND + SPEC.format("570.86.15") + NODES + UVM,
            "var/run/cdi/nvidia.yaml.bak": KIND + SPEC.format("550.54.15") + NODES,
            "var/run/cdi/nvidia.yaml~": KIND + SPEC.format("550.54.15") + NODES,
        },
        engine={"support": FOLDERS},
        says={"toolkit": "CDI is on, and there is a specification (/etc/cdi/nvidia.yaml)"},
    ),
    "a CDI specification without the device for memory that works all the same": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/nvidia.yaml": SPEC.format("570.86.15") + NODES,
        },
        marks={"toolkit": "-"},
        says={"toolkit": "can't start; but it works all the same (see tensorflow)"},
    ),
    "a stale CDI specification beside a cluster's own": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/nvidia.yaml": SPEC.format("550.54.15"),
            "var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json": CLUSTERS,
        },
        engine={"support": FOLDERS},
        built=(),
        marks={"toolkit": "x", "tensorflow": "?", "base": "+"},
        says={"toolkit": "/etc/cdi/nvidia.yaml was written for driver 550.54.15"},
    ),
    "a stale CDI specification for an engine that reads no other folder": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/nvidia.yaml": SPEC.format("550.54.15"),
            "var/run/cdi/nvidia.yaml": SPEC.format("570.86.15") + NODES + UVM,
        },
        engine={"support": replace(FOLDERS, cdi_folders=("/etc/cdi",))},
        built=(),
        marks={"toolkit": "x", "tensorflow": "?", "base": "+"},
        says={"toolkit": "/etc/cdi/nvidia.yaml was written for driver 550.54.15"},
    ),
    "a CDI specification with every device": cloth(
        files={
            **GPU_FILES,
            DRIVER_FILE: LOADED,
            "etc/cdi/nvidia.yaml": SPEC.format("570.86.15") + NODES + UVM,
        },
        engine={"support": FOLDERS},
        says={"toolkit": "there is a specification (/etc/cdi/nvidia.yaml)"},
    ),
    "a CDI specification without the device for memory that nobody asks for": Row(
        smi=HEALTHY_SMI,
        files={**GPU_FILES, "etc/cdi/nvidia.yaml": NODES},
        view=NO_UVM,
        marks={"tensorflow": "x4"},
        says={"toolkit": "toolkit 1.17.4"},
        status=4,
    ),
    "a CDI specification of the loaded driver": cloth(
        files={**GPU_FILES, DRIVER_FILE: LOADED, "etc/cdi/nvidia.yaml": SPEC.format("570.86.15")},
        engine={"support": FOLDERS},
        says={"toolkit": "there is a specification (/etc/cdi/nvidia.yaml)"},
    ),
    "a CDI specification without the GPU that was named": Row(
        smi=smi_says(smi(), smi(1)),
        engine={"support": LISTED},
        gpu=refusal((), "1", {"DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}]}),
        question={"gpu": "1"},
        marks=DEAD,
        says={"passthrough": "it lists 0", "driver": "NVIDIA A10G"},
        status=4,
    ),
    "a UUID that is not there": Row(
        smi=HEALTHY_SMI,
        gpu=refusal(ONE_CARD, UUIDS[1]),
        question={"gpu": UUIDS[1]},
        marks={"driver": "x4", "capability": "?", "idle-gpu": "?", **DEAD},
        says={"driver": "it has 0: NVIDIA A10G (GPU-11111111…)", "passthrough": "it has 0"},
        status=4,
    ),
    "MIG on, and no instance named": cloth(
        smi=MIG_SMI,
        gpu=refusal((MIG_CARD,), "0"),
        marks={"driver": "x4", "capability": "?", "idle-gpu": "?", **DEAD},
        says={"driver": "0:1 (3g.40gb", "passthrough": "GPU=0:0"},
        status=4,
    ),
    "MIG on, and no instances": cloth(
        smi={**MIG_SMI, "nvidia-smi -L": Ran(code=0, text="GPU 0:")},
        gpu=refusal((Card(index=0, name=H100, mig=True),), "0"),
        marks={"driver": "x4", "capability": "?", "idle-gpu": "?", **DEAD},
        says={"driver": "has no instances"},
        status=4,
    ),
    "a MIG instance by its numbers": cloth(
        smi=MIG_SMI,
        gpu=GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0:1",)),
        view=view(f"{H100} MIG 3g.40gb", "9.0"),
        question={"gpu": "0:1"},
        says={"driver": "of it MIG 3g.40gb", "tensorflow": "MIG 3g.40gb"},
    ),
    "a MIG instance by its UUID, beside others that are busy": cloth(
        smi={
            **MIG_SMI,
            **{k: v for k, v in smi_says("", apps="7, /usr/bin/python3, 900 MiB").items() if "apps" in k},
        },
        question={"gpu": "MIG-bbbbbbbb-2222-3333-4444-555555555555"},
        marks={"idle-gpu": "?"},
        says={"driver": "of it MIG 3g.40gb", "idle-gpu": "on which, is not said"},
    ),
    "a busy GPU": Row(
        smi=smi_says(smi(), apps="4711, /opt/app/train, 3210 MiB"),
        marks={"idle-gpu": "x"},
        says={"idle-gpu": "4711 train (3210 MiB)"},
    ),
    "persistence mode off": Row(
        smi=smi_says(smi(persistence="Disabled")), says={"driver": "nvidia-smi -pm 1"}
    ),
    "two different GPUs, the second by UUID": Row(
        smi=smi_says(smi(name="NVIDIA B200", capability="10.0"), smi(1)),
        gpu=GpuRequest(driver="nvidia", devices=(UUIDS[1],)),
        question={"gpu": UUIDS[1]},
        says={
            "driver": "NVIDIA A10G, 23028 MiB; 2 GPUs in all, the other NVIDIA B200",
            "capability": "8.6",
        },
    ),
    "a rootless engine with the hook as it comes": Row(
        smi=HEALTHY_SMI,
        facts={"rootless": True},
        files={**GPU_FILES, "etc/nvidia-container-runtime/config.toml": "#no-cgroups = false"},
        gpu=explain_refusal(WRAPPED + "mount error: bpf_prog_query(BPF_CGROUP_DEVICE) failed"),
        marks={"toolkit": "x", **DEAD},
        says={"engine": "rootless", "toolkit": "no-cgroups", "passthrough": "no-cgroups"},
        status=4,
    ),
    "a rootless engine with the hook as it comes, that works all the same": Row(
        smi=HEALTHY_SMI,
        facts={"rootless": True},
        marks={"toolkit": "-"},
        says={
            "toolkit": "no right to run as it is set; but it works all the same (see passthrough)",
            "passthrough": "a trivial container sees the GPU",
        },
    ),
    "a rootless engine with the hook as it comes, and no image to try it": Row(
        smi=HEALTHY_SMI,
        facts={"rootless": True},
        built=(),
        engine={"probe_image": False},
        marks={"toolkit": "x", "passthrough": "x4", "tensorflow": "?", "base": "+"},
        says={"toolkit": "no-cgroups=true", "passthrough": "no-cgroups=true"},
        status=4,
    ),
    "a rootless engine with the hook set for it": Row(
        smi=HEALTHY_SMI,
        facts={"rootless": True},
        files={**GPU_FILES, "etc/nvidia-container-runtime/config.toml": "no-cgroups = true"},
    ),
    "Podman 4.3": Row(
        smi=HEALTHY_SMI,
        facts={"product": "podman", "version": "4.3.1"},
        gpu=GpuError("podman 4.3.1 takes a GPU request and runs without", "podman 5.4 or newer"),
        marks={"toolkit": "x", **DEAD},
        says={"passthrough": "podman 5.4", "toolkit": "nvidia-ctk cdi generate"},
        status=4,
    ),
    "Podman 5.4 without a CDI specification, and no image to try it": Row(
        smi=HEALTHY_SMI,
        facts={"product": "podman", "version": "5.4.2"},
        built=(),
        engine={"probe_image": False},
        marks={"toolkit": "x", "passthrough": "x4", "tensorflow": "?", "base": "+"},
        says={
            "toolkit": "podman gives GPUs by CDI, and there is no specification here `sudo nvidia-ctk "
            "cdi generate --output=/etc/cdi/nvidia.yaml`",
            "passthrough": "nvidia-ctk cdi generate",
        },
        status=4,
    ),
    "Podman 5.4 with a backup of a CDI specification alone": Row(
        smi=HEALTHY_SMI,
        facts={"product": "podman", "version": "5.4.2"},
        files={**GPU_FILES, "etc/cdi/nvidia.yaml.bak": KIND + NODES + UVM},
        gpu=explain_refusal("unresolvable CDI devices nvidia.com/gpu=0", kind="podman"),
        marks={"toolkit": "x", **DEAD},
        says={"toolkit": "there is no specification here", "passthrough": "nvidia-ctk cdi"},
        status=4,
    ),
    "Podman 5.4 without a CDI specification that is found, and a trial that works": Row(
        smi=HEALTHY_SMI,
        gpu=CDI,
        facts={"product": "podman", "version": "5.4.2"},
        marks={"toolkit": "-"},
        says={"toolkit": "no specification here; but it works all the same (see passthrough)"},
    ),
    "Podman 5.4 with a CDI specification and no image to try it": Row(
        smi=HEALTHY_SMI,
        facts={"product": "podman", "version": "5.4.2"},
        files={**GPU_FILES, "etc/cdi/gpu.yaml": KIND + NODES + UVM},
        built=(),
        engine={"probe_image": False},
        marks={"passthrough": "?", "tensorflow": "?", "base": "+"},
        says={"toolkit": "there is a specification (/etc/cdi/gpu.yaml)"},
    ),
    "Podman 5.4 with a CDI specification": Row(
        smi=HEALTHY_SMI,
        gpu=CDI,
        facts={"product": "podman", "version": "5.4.2"},
        files={**GPU_FILES, "etc/cdi/nvidia.yaml": "cdiVersion: 0.5.0"},
        says={"toolkit": "/etc/cdi/nvidia.yaml", "engine": "podman 5.4.2"},
    ),
    "an engine elsewhere, and a Blackwell here that is not its": Row(
        smi=smi_says(smi(name="NVIDIA B200", capability="10.0")),
        engine={"here": False, "cards": (Card(index=0, name="NVIDIA L4"),)},
        marks={"toolkit": "?", "capability": "?", "idle-gpu": "?", "disk": "?"},
        says={"driver": "the engine's machine has 0: NVIDIA L4", "engine": "on another machine"},
    ),
    "an engine elsewhere without a GPU, and a GPU here": Row(
        smi=HEALTHY_SMI,
        engine={"here": False},
        gpu=NoGpuError("no NVIDIA GPU on the engine's machine", "ARMS=cpu"),
        marks={
            "driver": "?",
            "toolkit": "?",
            "passthrough": "-",
            "capability": "?",
            "tensorflow": "-",
            "idle-gpu": "?",
            "disk": "?",
        },
        says={"duration": "(cpu;"},
    ),
    "WSL": Row(
        smi={
            WSL_SMI + " --query-gpu": HEALTHY_SMI["nvidia-smi --query-gpu"],
            WSL_SMI + " --query-compute-apps": Ran(code=6, text="Not Supported"),
        },
        files={"dev/dxg": ""},
        marks={"idle-gpu": "?"},
        says={"driver": "NVIDIA A10G", "idle-gpu": "Not Supported"},
    ),
    "a disk that is too small": Row(
        smi=HEALTHY_SMI,
        built=(),
        free=19 * GB,
        marks={"disk": "x3", "tensorflow": "?", "base": "+"},
        says={"disk": "building cpu and cuda takes 20 GB"},
        status=3,
    ),
    "an aarch64 machine with a GPU": Row(
        smi=HEALTHY_SMI,
        engine={"architecture": "aarch64"},
        marks={"architecture": "x3"},
        says={"architecture": "no CUDA for it"},
        status=3,
    ),
    "an aarch64 machine with a GPU that nobody asked for": Row(
        smi=HEALTHY_SMI,
        engine={"architecture": "aarch64"},
        question={"arms": ("cpu",)},
        marks=dict.fromkeys(("passthrough", "capability", "tensorflow"), "-"),
        says={"architecture": "the CPU arm alone", "driver": "NVIDIA A10G"},
    ),
    "an aarch64 machine that is to measure the hidden arm": Row(
        smi=HEALTHY_SMI,
        engine={"architecture": "aarch64"},
        question={"arms": ("cpu", "cuda-hidden")},
        marks={
            "architecture": "x3",
            **dict.fromkeys(("passthrough", "capability", "tensorflow"), "-"),
        },
        status=3,
    ),
    "an aarch64 machine with a GPU and an image for it": Row(
        smi=HEALTHY_SMI,
        engine={"architecture": "aarch64"},
        question={"cuda_image": "vendor/tf:1"},
        says={"architecture": "vendor/tf:1 (CUDA_IMAGE) brings"},
    ),
    "a GPU that nobody asked for": Row(
        smi=HEALTHY_SMI,
        question={"arms": ("cpu",)},
        marks=dict.fromkeys(("passthrough", "capability", "tensorflow"), "-"),
        says={
            "driver": "NVIDIA A10G",
            **dict.fromkeys(
                ("passthrough", "capability", "tensorflow"),
                "no arm that was asked for takes the GPU",
            ),
        },
    ),
    "unattended-upgrades waiting for the machine's end": Row(
        smi=HEALTHY_SMI,
        files={
            **GPU_FILES,
            "proc/712/comm": "unattended-upgr",
            "proc/712/cmdline": "/usr/bin/python3\0/usr/share/unattended-upgrades/"
            "unattended-upgrade-shutdown\0--wait-for-signal\0",
        },
        says={"updates": "nothing changes packages"},
    ),
    "unattended-upgrades at work, beside the part that waits": Row(
        smi=HEALTHY_SMI,
        files={
            **GPU_FILES,
            "proc/712/comm": "unattended-upgr",
            "proc/712/cmdline": "/usr/bin/python3\0/usr/share/unattended-upgrades/"
            "unattended-upgrade-shutdown\0--wait-for-signal\0",
            "proc/4711/comm": "unattended-upgr",
            "proc/4711/cmdline": "/usr/bin/python3\0/usr/bin/unattended-upgrade\0",
        },
        marks={"updates": "x"},
        says={"updates": "right now: unattended-upgr"},
    ),
    "no engine, and a TensorFlow that finds no CUDA driver": Row(
        smi=HEALTHY_SMI,
        engine={"isolation": "none"},
        gpu=GpuRequest(driver="none", devices=("0",)),
        view=sees(
            refused="TensorFlow sees no GPU here",
            diary="failed call to cuInit: INTERNAL: CUDA error: UNKNOWN ERROR (303)\n",
        ),
        marks={"engine": "x", "toolkit": "-", "passthrough": "-", "base": "+", "tensorflow": "x4"},
        says={
            "tensorflow": "is not where TensorFlow runs (failed call to cuInit: INTERNAL: CUDA error: "
            "UNKNOWN ERROR (303)) install the driver whole"
        },
        status=4,
    ),
    "no engine, and a GPU": Row(
        smi=HEALTHY_SMI,
        engine={"isolation": "none"},
        gpu=GpuRequest(driver="none", devices=("0",)),
        marks={"engine": "x", "toolkit": "-", "passthrough": "-", "base": "+"},
        says={
            "engine": "NOT CONTAINERIZED",
            "tensorflow": "TensorFlow 2.21.0 in the CUDA environment sees NVIDIA A10G (compute "
            "capability 8.6) and computes on it",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    engine = FakeExamined(
        gpu=row.gpu, built=row.built, view=row.view, facts=row.facts, **row.engine
    )
    machine = make_machine(
        tmp_path,
        engine,
        files={**row.files, **MADE},
        programs={**row.smi, **row.toolkit},
        free=row.free,
    )
    found = diagnose(machine, **row.question)
    assert marks(found) == {**dict.fromkeys(CHECKS, "+"), "base": "-", **row.marks}
    assert found.status == row.status, found.verdict
    for check, words in row.says.items():
        one = line(found, check)
        assert words in f"{one.text} {one.remedy}", one
    for one in found.checks:
        assert one.remedy or one.state != "no", one
        assert "this check itself failed" not in one.text, one
        # A GPU's driver that compiles first takes no time that anybody would notice.
        assert "minutes" not in one.text or one.id in ("images", "duration"), one
        assert not one.stops or one.state == "no", one
        told = f"{one.text} {one.remedy} {one.facts}"
        assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", told), told
    assert engine.closed()
