"""The commands that set up a GPU for containers, and how they differ by engine.  Pure.

Written for docker as root, which most have; `reword` gives those of the other kinds.
"""

from __future__ import annotations

from collections.abc import Mapping

from suite.errors import OTHER_BUILD
from suite.host.engine import EngineKind

RESTART = "`sudo systemctl restart docker`"
CONFIGURE = f"`sudo nvidia-ctk runtime configure --runtime=docker`, then {RESTART}"
CDI_FOLDERS = ("/var/run/cdi", "/etc/cdi")
"""Where specifications lie: of a device that both name, the first folder's counts."""

WRITE_SPEC = "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"
ALLOW_CDI = (
    'an engine of 28.2 or newer; from 25 on {"features":{"cdi":true}} in /etc/docker/daemon.json '
    f"and {RESTART} (podman: 5.4 or newer)"
)
NO_CGROUPS = "`sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups=true --in-place`"
"""Leaves the device rules of the containers alone: the engine's own have to let the GPU through."""

TRY_TOOLKIT = "`docker run --rm --gpus all IMAGE nvidia-smi`"
TELL_HOOK = "`sudo nvidia-container-cli -k -d /dev/tty info`"
"""Runs what NVIDIA's hook runs, and tells of each step."""

NO_ROOT = (
    "the engine runs in an unprivileged container (LXC), whose root has not all of root's rights"
)
"""Why an engine that root has started may not do what NVIDIA's hook wants."""

UNHIDDEN = (
    "an image of your own must not set CUDA_VISIBLE_DEVICES, nor NVIDIA_VISIBLE_DEVICES to `void` or `none` "
    f"(your shell's never get into a container); {TRY_TOOLKIT} shows whether containers get a GPU"
)

FIND_HANG = (
    "`nvidia-smi` on the engine's machine must answer within seconds; where it hangs too, `sudo reboot`; "
    f"else {TELL_HOOK} says where NVIDIA's hook hangs"
)

INSTALL_TOOLKIT = (
    "add NVIDIA's package repository "
    "(https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html), "
    "then `sudo apt-get install nvidia-container-toolkit`"
)
INSTALL_DRIVER = (
    "`sudo ubuntu-drivers install` on Ubuntu; on Debian `contrib non-free non-free-firmware` in its "
    "sources, `sudo apt-get update` and `sudo apt-get install linux-headers-$(uname -r) nvidia-driver`; "
    "reboot"
)

LEAVE_SNAP = (
    "`sudo snap remove docker` (this removes its images, containers and volumes) and `sudo apt-get install "
    "docker.io`, and then `make doctor` says how to set up NVIDIA's toolkit for that"
)
LEAVE_DESKTOP = (
    "; Docker Desktop on Linux runs in a virtual machine without the GPU: "
    "`docker context use default`"
)

_OLD_CARDS = (
    "(Turing and later) or `sudo apt-get install cuda-drivers-580` (Maxwell, Pascal and Volta, for which 580 "
    "is the last; for Kepler, such as K80, 470 was)"
)


def newer_driver(least: str, *, past_volta: bool = False) -> str:
    """What to do about a driver that is older than ``least``, such as "525 or later for CUDA 12".

    ``past_volta``: that may be newer than the last branch for Maxwell, Pascal and Volta.
    """
    cards = (
        "(the last for Maxwell, Pascal and Volta cards is branch 580)" if past_volta else _OLD_CARDS
    )
    return (
        f"a newer driver, {least}: `sudo ubuntu-drivers install` on Ubuntu (`sudo ubuntu-drivers list` shows "
        "which there are); Debian's own are older (535 in Debian 12, 550 in 13), so there NVIDIA's CUDA "
        "repository (https://docs.nvidia.com/cuda/cuda-installation-guide-linux/) and "
        f"`sudo apt-get install nvidia-open` {cards}; reboot; `nvidia-smi` shows what is there; a rented "
        "machine: another image of its provider's, or another machine type (with a slice of a GPU, vGPU, "
        "only the provider's image brings the driver)"
    )


OLD_DRIVER = newer_driver("525 or later for CUDA 12")
OLD_FOR_PTX = newer_driver("555 or later for CUDA 12.5")
"""What to do about a driver that is too old for TensorFlow's CUDA, or for the PTX that it brings."""

_USERS_RESTART = "`systemctl --user restart docker`"
_USERS_CONFIGURE = (
    "`nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json`, "
    f"{_USERS_RESTART}, and {NO_CGROUPS}"
)
_SNAPS_CONFIGURE = (
    "`sudo snap refresh docker` and `sudo snap restart docker`, which set NVIDIA's runtime up by "
    "themselves (`sudo snap logs docker.nvidia-container-toolkit` says why not; Debian's package "
    "nvidia-container-toolkit stands in their way and has to go); or, in place of the snap, "
    f"{LEAVE_SNAP}"
)
_DESKTOPS = (
    "Docker Desktop gives GPUs to containers on Windows alone, with WSL 2 and a current driver of NVIDIA's "
    "for Windows; on Linux take the system's own engine: `docker context use default`"
)

_LOCAL: Mapping[str, str] = {
    OTHER_BUILD: "LOCAL_PYTHON=path of an interpreter whose TensorFlow was built for it",
    ", as from a container after a reload of systemd": "",
    "continue in a new container: `make bench RESUME=results/X`; CDI prevents it": "continue with "
    "`make bench RESUME=results/X`",
    "the image that CUDA_IMAGE= names, or from whatever starts the container in a fleet": "what LOCAL_PYTHON "
    "names, or from whatever starts it in a fleet",
    " that the engine can see": " on this machine",
    "there, outside any container": "there",
    LEAVE_DESKTOP: "",
    ": in a container, the GPU was not passed through": "",
    f"check the container toolkit: {TRY_TOOLKIT}": f"install the driver whole: {INSTALL_DRIVER}",
    f"in a container it comes with the toolkit's capability utility ({TRY_TOOLKIT}); without one "
    "install": "install",
    UNHIDDEN: "GPU= names the one that is measured, else CUDA_VISIBLE_DEVICES; in a job of Slurm's ask for "
    "one "
    "(`--gres=gpu:1`)",
    "`make images` builds the locked ones again; in an image or environment of your own ": "`make images` "
    "makes the locked ones again; in an interpreter of your own (LOCAL_PYTHON) ",
}

_WORDS: Mapping[EngineKind, Mapping[str, str]] = {
    "docker": {},
    "rootless": {
        CONFIGURE: _USERS_CONFIGURE,
        RESTART: _USERS_RESTART,
        "/etc/docker/daemon.json": "~/.config/docker/daemon.json",
        NO_ROOT: "the engine is a user's (rootless)",
    },
    "snap": {
        f"{INSTALL_TOOLKIT}, then {CONFIGURE}": _SNAPS_CONFIGURE,
        CONFIGURE: _SNAPS_CONFIGURE,
        RESTART: "`sudo snap restart docker.dockerd`",
        "/etc/docker/daemon.json": "/var/snap/docker/current/config/daemon.json",
        WRITE_SPEC: "`sudo snap restart docker.nvidia-container-toolkit`",
        INSTALL_TOOLKIT: "`sudo snap refresh docker`, since the snap brings NVIDIA's toolkit",
    },
    "desktop": {
        f"{INSTALL_TOOLKIT}, then {CONFIGURE}": _DESKTOPS,
        CONFIGURE: _DESKTOPS,
        INSTALL_TOOLKIT: _DESKTOPS,
        WRITE_SPEC: "an update of Docker Desktop",
        RESTART: "a restart of Docker Desktop",
        "/etc/docker/daemon.json": "Docker Desktop's settings (Docker Engine)",
    },
    "podman": {
        CONFIGURE: f"{WRITE_SPEC}, since podman takes GPUs by CDI alone",
        ALLOW_CDI: "podman 5.4 or newer",
        TRY_TOOLKIT: "`podman run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi`",
        "`docker context ls`": "`podman system connection list`",
        "`docker inspect IMAGE`": "`podman inspect IMAGE`",
        "`docker info`: Docker Root Dir": "`podman info`: graphRoot",
        LEAVE_DESKTOP: "",
        NO_ROOT: "the engine is a user's (rootless), or runs in an unprivileged container (LXC)",
        f"else {TELL_HOOK} says where NVIDIA's hook hangs": f"else {WRITE_SPEC} rewrites the specification",
        TELL_HOOK: "`sudo nvidia-ctk --debug cdi generate --output=/etc/cdi/nvidia.yaml`",
    },
    "local": _LOCAL,
    "inside": _LOCAL,
}
"""What stands in place of what, the longest first."""

_NOT_OURS = (
    "; what takes root on the machine itself (a driver, a reboot) is for whoever runs it: ask, or rent "
    "another"
)


def reword(text: str, kind: EngineKind) -> str:
    """A cause or a remedy in that engine's words."""
    for docker, other in _WORDS[kind].items():
        text = text.replace(docker, other)
    return text + _NOT_OURS if kind == "inside" and ("sudo" in text or "reboot" in text) else text
