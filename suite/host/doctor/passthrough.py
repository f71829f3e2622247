"""The doctor's checks of how a container gets the GPU: the toolkit, and a trial."""

from __future__ import annotations

import re

from suite.errors import GpuError, NoGpuError
from suite.host.doctor.cards import NO_GPU, NOT_ASKED
from suite.host.doctor.finding import Finding, Unknown, no, not_applicable, yes
from suite.host.doctor.machine import COMMAND_S, Examined
from suite.host.doctor.probe import Probe
from suite.host.gpu.choice import FIRST, shorten_name, word_visible
from suite.host.gpu.commands import CDI_FOLDERS, WRITE_SPEC
from suite.host.gpu.remedies import explain_refusal
from suite.host.gpu.request import machine_gpus, pci_gpus
from suite.kernel import read_version

_KIND = re.compile(r"""(?:^|[{,\s])"?kind"?\s*:\s*"?([\w./-]+)""")
"""What a specification says that it is about, in YAML and in JSON."""

_UVM = "/dev/nvidia-uvm"
"""The device by which CUDA manages memory: without it `cuInit` fails, whatever else is there."""

_HOOK_SETTINGS = "/etc/nvidia-container-runtime/config.toml"


def check_toolkit(probe: Probe) -> Finding:
    """Whether the engine has a way to give a GPU to a container."""
    engine = probe.open_engine()
    if engine.isolation != "container":
        return not_applicable("no container is started that could be given a GPU")
    if engine.is_here and not probe.shows_gpu():
        return not_applicable(NO_GPU)
    found = _find_way(probe, engine)
    if found is not None:
        return found
    if not engine.is_here:
        raise Unknown("the engine does not say; see passthrough")
    if _is_podman(engine):
        return no(
            "podman gives GPUs by CDI, and there is no specification here",
            WRITE_SPEC,
            unless="passthrough",
        )
    return no(
        "neither the NVIDIA container toolkit nor a CDI specification is here",
        explain_refusal(
            'could not select device driver "" with capabilities', kind=engine.kind
        ).remedy,
        unless="passthrough",
    )


def _find_way(probe: Probe, engine: Examined) -> Finding | None:
    support, machine = engine.gpu_support(), probe.machine
    specs: list[str] = []
    if engine.is_here:
        # The engine's own folders where it names them: of these the last counts first.
        folders = support.cdi_folders[::-1] or CDI_FOLDERS
        specs = next((paths for one in folders if (paths := _find_specs(probe, one))), [])
        fault = next((one for path in specs if (one := _find_fault(probe, path))), None)
        if fault and (support.devices or support.cdi_folders or _is_podman(engine)):
            return fault
    if support.devices:
        more = len(support.devices) - LISTED
        listed = ", ".join(support.devices[:LISTED]) + (f" and {more} more" if more > 0 else "")
        return yes(f"CDI: the engine lists {listed}", way="cdi")
    if specs and (support.cdi_folders or _is_podman(engine)):
        return yes(f"CDI is on, and there is a specification ({specs[0]})", way="cdi")
    if engine.is_here and not _is_podman(engine):
        done = machine.run(["nvidia-ctk", "--version"], COMMAND_S)
        version = re.search(r"version (\S+)", done.text) if done and done.code == 0 else None
        if version or machine.find("/usr/bin/nvidia-container-runtime-hook"):
            return _judge_hook(probe, engine, f" {version[1]}" if version else "")
    if "nvidia" in support.runtimes:
        return yes("the engine has the runtime nvidia", way="runtime")
    return None


def _is_podman(engine: Examined) -> bool:
    return engine.describe().get("product") == "podman"


def _find_specs(probe: Probe, folder: str) -> list[str]:
    """A folder's specifications of NVIDIA's GPUs: one of another kind, as of a cluster's plugin, is none."""
    machine = probe.machine
    paths = [path for end in ("yaml", "json") for path in machine.find(f"{folder}/*.{end}")]
    kinds = {path: _KIND.search(machine.read(path) or "") for path in paths}
    return [
        path
        for path, kind in kinds.items()
        # One that can't be read, or is broken, is judged by its name.
        if (kind[1] == "nvidia.com/gpu" if kind else "nvidia" in path)
    ]


def _find_fault(probe: Probe, path: str) -> Finding | None:
    """The finding for a specification that names libraries of another driver than the loaded one, or
    lacks a device that CUDA needs."""
    text = probe.machine.read(path) or ""
    # Where it lies: one in the folder that counts first would hide what is written to the other.
    remedy = WRITE_SPEC.replace("/etc/cdi/nvidia.yaml", path)
    loaded = read_version(probe.machine.root)
    written = re.findall(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)", text)
    if loaded is not None and written and loaded not in written:
        fault = f"was written for driver {written[0]}, and {loaded} is loaded"
    elif re.search(r"/dev/nvidia\d", text) and not re.search(rf"{_UVM}(?![-\w])", text):
        fault = f"does not name {_UVM}, without which CUDA can't start"
        remedy = f"`sudo nvidia-modprobe -u -c=0` makes the device, then {remedy}"
    else:
        return None
    return no(f"the CDI specification {path} {fault}", remedy, unless="tensorflow", way="cdi")


def _judge_hook(probe: Probe, engine: Examined, number: str) -> Finding:
    settings = probe.machine.read(_HOOK_SETTINGS) or ""
    lifted = re.search(r"^\s*no-cgroups\s*=\s*true", settings, re.MULTILINE)
    if engine.describe().get("rootless") and not lifted:
        return no(
            f"NVIDIA container toolkit{number}, whose hook a rootless engine has no right to run as "
            "it is set",
            explain_refusal("bpf_prog_query(BPF_CGROUP_DEVICE) failed", kind=engine.kind).remedy,
            unless="passthrough",
            way="hook",
        )
    return yes(f"NVIDIA container toolkit{number}", way="hook")


def check_passthrough(probe: Probe) -> Finding:
    """Whether a container really gets the GPU: tried with a trivial one."""
    if not probe.wants_gpu():
        return not_applicable(NOT_ASKED)
    probe.open_engine()
    try:
        request = probe.gpu()
    except GpuError as error:
        return _judge_refusal(probe, error)
    except Unknown as reason:
        toolkit = check_toolkit(probe)
        if toolkit.unless != "passthrough":
            raise
        return no(
            f"not tried ({reason.what}), and without a toolkit it would be refused",
            toolkit.remedy,
            stops=GpuError.exit_status,
        )
    if request.driver == "none":
        return not_applicable(f"no container is used{_word_visible(probe)}")
    through = "CDI" if request.driver == "cdi" else "NVIDIA's hook"
    return yes(
        f"a trivial container sees the GPU, asked for through {through}{_word_visible(probe)}",
        way=request.driver,
    )


def _judge_refusal(probe: Probe, error: GpuError) -> Finding:
    """The finding where no GPU is available.

    Raises:
        Unknown: it only took too long to tell.
    """
    if isinstance(error, NoGpuError) and probe.question.arms == ("auto",):
        root = probe.machine.root
        there = machine_gpus(root) or pci_gpus(root)
        # One that is hidden from this shell, or was not given to this container, is there all the same.
        return (
            no(error.what, error.remedy)
            if there and not probe.is_elsewhere()
            else not_applicable(NO_GPU)
        )
    if isinstance(error.__cause__, TimeoutError):
        remedy = f"run `make doctor` again, since a busy machine takes longer; {error.remedy}"
        raise Unknown(error.what, remedy) from error
    return no(error.what, error.remedy, stops=error.exit_status)


def _word_visible(probe: Probe) -> str:
    """What becomes of the caller's CUDA_VISIBLE_DEVICES, as a clause; nothing where it changes nothing."""
    visible, asked = probe.visible(), probe.question.gpu
    agrees = visible is None or (asked in visible if asked else visible[:1] == (FIRST,))
    if visible is None or agrees or probe.is_elsewhere():
        return ""
    told = word_visible(probe.question.environment)
    if asked is not None:
        return f"; GPU={asked} takes precedence over {told} of this shell"
    if probe.engine().isolation != "container":
        return f"; GPU {shorten_name(visible[0])} is meant by {told}" if visible else ""
    other = (
        f"GPU={shorten_name(visible[0])} names that one" if visible else "ARMS=cpu runs without it"
    )
    return f"; {told} of this shell does not reach containers, so that GPU {FIRST} is measured: {other}"
