"""What this process was started in: a container from outside the suite, and whose.

Looks at files and variables alone.  A system container (LXC, systemd-nspawn) and WSL are machines of their
own here, since they boot and can have an engine of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from suite.procfs import read_text

SIGNS = msgspec.toml.decode(
    Path(__file__).with_name("surroundings.toml").read_bytes(), type=dict[str, dict[str, str]]
)

_JOBS = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID")
_OF_JOB = re.compile(r"/(slurm|pbs_jobs|lsf)", re.IGNORECASE)
"""What batch systems set in their jobs, and how their control groups are named, which a login beside a job
(``pam_slurm_adopt``) is in as well."""

_COPIED = ".dockerenv"
"""The mark that stays in a machine made of an image (a virtual machine, a WSL distribution): it says nothing
where the first process is systemd, since that boots."""

_SYSTEMS = ("lxc", "lxc-libvirt", "systemd-nspawn", "wsl", "openvz")
"""Values of the variable ``container`` that stand for a machine that boots (of systemd's list)."""

_BY_GROUP = re.compile(
    r"[/:-](docker|kubepods|libpod|containerd|buildkit|crio|ecs|garden|nerdctl)\b|[/.](lxc)[/.]"
)
"""How control groups of containers are named."""

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
    provider = next(_list_providers(known), None)
    engine = _find_engine(known, root)
    if engine in _SYSTEMS:
        return None
    return Container(engine=engine, provider=provider) if engine or provider else None


def find_marks(environment: Mapping[str, str], root: Path = Path("/")) -> list[str]:
    """Every sign of a container, or of a batch job, by the name of who leaves it."""
    known = {**_read_environment(root), **environment}
    marks = [name for file, name in SIGNS["files"].items() if (root / file).exists()]
    marks += [name for variable, name in SIGNS["variables"].items() if known.get(variable)]
    marks += _list_providers(known)
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
    return not any(_list_providers(known)) and _find_engine(known, root) is None


def _list_providers(known: Mapping[str, str]) -> Iterator[str]:
    """Who rents out the container that has these variables."""
    return (name for variable, name in SIGNS["providers"].items() if known.get(variable))


def _find_engine(known: Mapping[str, str], root: Path) -> str | None:
    """Whose container it is; one of `_SYSTEMS` where that boots."""
    system = read_text(root / "run/systemd/container").strip()
    if system in _SYSTEMS or known.get("container") in _SYSTEMS:
        return system if system in _SYSTEMS else known["container"]
    named = [name for variable, name in SIGNS["variables"].items() if known.get(variable)]
    boots = read_text(root / "proc/1/comm").strip() == "systemd"
    left = [
        name
        for file, name in SIGNS["files"].items()
        if (root / file).exists() and not (boots and file == _COPIED)
    ]
    if engine := next(filter(None, (*named, *left, system, known.get("container"))), None):
        return engine
    groups = _BY_GROUP.findall(read_text(root / "proc/1/cgroup"))
    # In a container within another the innermost stands last; a pod's parts are its own.
    applications = [name for name, _ in groups if name]
    layers = _LAYERS.search(read_text(root / "proc/self/mountinfo"))
    if applications:
        name = "kubepods" if "kubepods" in applications else applications[-1]
    elif groups:
        name = "lxc"
    elif layers is not None:
        name = layers[1]
    else:
        return None
    return SIGNS["names"].get(name, name)


def _read_environment(root: Path) -> dict[str, str]:
    """The variables of the first process; none where they may not be read."""
    pairs = (pair.partition("=") for pair in read_text(root / "proc/1/environ").split("\0"))
    return {name: value.strip() for name, sign, value in pairs if sign}
