"""What this process was started in: a container from outside the suite, and whose.

Looks at files and variables alone.  A system container (LXC, systemd-nspawn) and WSL are machines of their
own here, since they boot and can have an engine of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from suite.procfs import read_text

PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "vast.ai": ("VAST_CONTAINERLABEL",),
    "RunPod": ("RUNPOD_POD_ID",),
    "Lightning AI": ("LIGHTNING_CLOUD_SPACE_ID", "LIGHTNING_CLOUD_PROJECT_ID"),
    "Google Colab": ("COLAB_RELEASE_TAG", "COLAB_BACKEND_VERSION", "COLAB_GPU"),
    "Kaggle": ("KAGGLE_KERNEL_RUN_TYPE",),
    "Paperspace": ("PAPERSPACE_NOTEBOOK_REPO_ID", "PAPERSPACE_NOTEBOOK_ID", "PAPERSPACE_FQDN"),
    "SageMaker": ("SM_CURRENT_HOST", "SAGEMAKER_APP_TYPE"),
    "Azure ML": ("AZUREML_RUN_ID",),
    "Modal": ("MODAL_TASK_ID",),
    "Salad": ("SALAD_MACHINE_ID",),
    "Hugging Face Spaces": ("SPACE_HOST",),
}
"""Who rents out containers, and the variables that only they set in them: not those of their clients, which
a person has at home."""

_BY_VARIABLE: Mapping[str, str] = {
    "KUBERNETES_SERVICE_HOST": "kubernetes",
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_CONTAINER": "singularity",
    "CH_RUNNING": "charliecloud",
    "ECS_CONTAINER_METADATA_URI_V4": "ecs",
}
_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
_OF_JOB = re.compile(r"/(slurm|pbs_jobs|lsf)", re.IGNORECASE)
"""What batch systems set in their jobs, and how their control groups are named, which a login beside a job
(``pam_slurm_adopt``) is in as well."""

_COPIED = ".dockerenv"
"""The mark that stays in a machine made of an image (a virtual machine, a WSL distribution): it says nothing
where the first process is systemd, since that boots."""

_BY_FILE: Mapping[str, str] = {
    _COPIED: "docker",
    "run/.containerenv": "podman",
    "var/run/secrets/kubernetes.io": "kubernetes",
    ".singularity.d": "apptainer",
}
"""What each engine leaves to be seen, and its name."""

_SYSTEMS = ("lxc", "lxc-libvirt", "systemd-nspawn", "wsl", "openvz")
"""Values of the variable ``container`` that stand for a machine that boots (of systemd's list)."""

_BY_GROUP = re.compile(
    r"[/:-](docker|kubepods|libpod|containerd|buildkit|crio|ecs|garden|nerdctl)\b|[/.](lxc)[/.]"
)
_NAMES: Mapping[str, str] = {"kubepods": "kubernetes", "libpod": "podman", "crio": "cri-o"}
"""How control groups of containers are named, and whose they are."""

_LAYERS = re.compile(
    r"^(?:\d+ ){2}\S+ \S+ / \S+ .*?- overlay .*?"
    r"(?:lowerdir|upperdir)\+?=\S*(docker|containerd|containers/storage|kubelet|buildkit|enroot)",
    re.MULTILINE,
)
"""A root that is stacked of an image's layers, as ``/proc/self/mountinfo`` has it; a machine that boots from
a stack of its own (a live system) names none of these."""


@dataclass(frozen=True, kw_only=True)
class Container:
    """A container that was started outside the suite: its engine's name (None: unknown), and who rents it out
    (None: nobody that is known)."""

    engine: str | None
    provider: str | None

    def __str__(self) -> str:
        """For people: ``vast.ai, docker``."""
        return ", ".join(filter(None, (self.provider, self.engine))) or "engine unknown"


def find_container(environment: Mapping[str, str], root: Path = Path("/")) -> Container | None:
    """The container that this process is in; None: none that can be told, or a machine of its own.

    ``environment`` is this process's.  A login by ssh has lost the variables that its container was started
    with, so that those of the first process count, too, where they may be read.
    """
    known = {**_read_environment(root), **environment}
    if "WSL_DISTRO_NAME" in known or (root / "run/WSL").exists():
        return None
    provider = next((n for n, names in PROVIDERS.items() if any(known.get(v) for v in names)), None)
    engine = _find_engine(known, root)
    if engine in _SYSTEMS:
        return None
    return Container(engine=engine, provider=provider) if engine or provider else None


def find_marks(environment: Mapping[str, str], root: Path = Path("/")) -> list[str]:
    """Every sign of a container, or of a batch job, by the name of who leaves it."""
    known = {**_read_environment(root), **environment}
    marks = [name for file, name in _BY_FILE.items() if (root / file).exists()]
    marks += [name for variable, name in _BY_VARIABLE.items() if known.get(variable)]
    marks += [n for n, names in PROVIDERS.items() if any(known.get(v) for v in names)]
    marks += ["slurm"] if known.get("SLURM_JOB_ID") else []
    return list(dict.fromkeys(marks))


def sees_every_device(environment: Mapping[str, str], root: Path = Path("/")) -> bool:
    """Whether this process is given every device of its machine, as far as that can be told.

    Not in a container, one that boots among them (LXC); nor in a batch job, whose control group can refuse
    devices that /sys shows all the same.
    """
    known = {**_read_environment(root), **environment}
    if any(map(known.get, _JOBS)) or _OF_JOB.search(read_text(root / "proc/self/cgroup")):
        return False
    rented = any(known.get(name) for names in PROVIDERS.values() for name in names)
    return not rented and _find_engine(known, root) is None


def _find_engine(known: Mapping[str, str], root: Path) -> str | None:
    """Whose container it is; one of `_SYSTEMS` where that boots."""
    system = read_text(root / "run/systemd/container").strip()
    if system in _SYSTEMS or known.get("container") in _SYSTEMS:
        return system if system in _SYSTEMS else known["container"]
    named = (name for variable, name in _BY_VARIABLE.items() if known.get(variable))
    boots = read_text(root / "proc/1/comm").strip() == "systemd"
    left = (
        name
        for file, name in _BY_FILE.items()
        if (root / file).exists() and not (boots and file == _COPIED)
    )
    if found := next(named, None) or next(left, None) or system or known.get("container"):
        return found
    groups = _BY_GROUP.findall(read_text(root / "proc/1/cgroup"))
    # In a container within another the innermost stands last; a pod's parts are its own.
    applications = [name for name, _ in groups if name]
    if applications:
        innermost = "kubepods" if "kubepods" in applications else applications[-1]
        return _NAMES.get(innermost, innermost)
    if groups:
        return "lxc"
    layers = _LAYERS.search(read_text(root / "proc/self/mountinfo"))
    if layers is None:
        return None
    return {"containers/storage": "podman", "kubelet": "kubernetes"}.get(layers[1], layers[1])


def _read_environment(root: Path) -> dict[str, str]:
    """The variables of the first process; none where they may not be read."""
    pairs = (pair.partition("=") for pair in read_text(root / "proc/1/environ").split("\0"))
    return {name: value.strip() for name, sign, value in pairs if sign}
