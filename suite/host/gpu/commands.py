"""The commands that set up a GPU for containers, and how they differ by engine.  Pure.

Written for docker as root, which most have; `reword` gives those of a user's docker, and podman's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from suite.errors import OTHER_BUILD
from suite.model import Isolation

EngineKind = Literal["docker", "rootless", "podman", "local"]
"""Docker as root, docker as a user, podman as either, or no container at all: each is set up in another
place."""

RESTART = "`sudo systemctl restart docker`"
CONFIGURE = f"`sudo nvidia-ctk runtime configure --runtime=docker`, then {RESTART}"
CDI_FOLDERS = ("/var/run/cdi", "/etc/cdi")
"""Where specifications lie: of a device that both name, the first folder's counts."""

WRITE_SPEC = "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`"
ALLOW_CDI = (
    'an engine of 28.2 or newer; from 25 on {"features":{"cdi":true}} in /etc/docker/daemon.json '
    f"and {RESTART} (podman: 5.4 or newer)"
)
TRY_TOOLKIT = "`docker run --rm --gpus all IMAGE nvidia-smi`"

FIND_HANG = (
    "`nvidia-smi` on the engine's machine must answer within seconds; where it hangs too, `sudo reboot`; "
    "else `sudo nvidia-container-cli -k -d /dev/tty info` says where NVIDIA's hook hangs"
)

INSTALL_TOOLKIT = (
    "NVIDIA's package repository, which no distribution has of its own "
    "(https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html), "
    "and `sudo apt-get install nvidia-container-toolkit`"
)
INSTALL_DRIVER = (
    "`sudo ubuntu-drivers install` on Ubuntu; on Debian `contrib non-free non-free-firmware` in its "
    "sources, `sudo apt-get update` and `sudo apt-get install nvidia-driver`; reboot"
)
INSTALL_NEWER_DRIVER = (
    "`sudo ubuntu-drivers install` on Ubuntu (`sudo ubuntu-drivers list` shows which there are); "
    "Debian's own are older (535 in Debian 12, 550 in 13), so there NVIDIA's CUDA repository "
    "(https://docs.nvidia.com/cuda/cuda-installation-guide-linux/) and "
    "`sudo apt-get install nvidia-open` (Turing and later) or `sudo apt-get install cuda-drivers-580` "
    "(Maxwell, Pascal and Volta, for which 580 is the last; for Kepler, such as K80, 470 was); reboot"
)


def newer_driver(least: str) -> str:
    """What to do about a driver that is older than ``least``, such as "525 or later for CUDA 12"."""
    return (
        f"a newer driver, {least}: {INSTALL_NEWER_DRIVER}; `nvidia-smi` shows what is there; a rented "
        "machine: another image of its provider's, or another machine type (with a slice of a GPU, vGPU, "
        "only the provider's image brings the driver)"
    )


OLD_DRIVER = newer_driver("525 or later for CUDA 12")
OLD_FOR_PTX = newer_driver("555 or later for CUDA 12.5")
"""What to do about a driver that is too old for TensorFlow's CUDA, or for the PTX that it brings."""

_USERS_CONFIGURE = (
    "`nvidia-ctk runtime configure --runtime=docker --config=$HOME/.config/docker/daemon.json`, "
    "`systemctl --user restart docker`, and "
    "`sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups=true --in-place`"
)

_WORDS: Mapping[EngineKind, Mapping[str, str]] = {
    "docker": {},
    "rootless": {
        CONFIGURE: _USERS_CONFIGURE,
        RESTART: "`systemctl --user restart docker`",
        "/etc/docker/daemon.json": "~/.config/docker/daemon.json",
    },
    "podman": {
        CONFIGURE: f"{WRITE_SPEC}, since podman takes GPUs by CDI alone",
        ALLOW_CDI: "podman 5.4 or newer",
        TRY_TOOLKIT: "`podman run --rm --device nvidia.com/gpu=all IMAGE nvidia-smi`",
        "`docker context ls`": "`podman system connection list`",
        "else `sudo nvidia-container-cli -k -d /dev/tty info` says where NVIDIA's hook hangs": "else "
        f"{WRITE_SPEC} writes the specification anew",
    },
    "local": {
        OTHER_BUILD: "LOCAL_PYTHON=path of an interpreter whose TensorFlow was built for it",
        ", as from a container after a reload of systemd": "",
        ": in a container, the GPU was not passed through": "",
        f"check the container toolkit: {TRY_TOOLKIT}": f"install the driver whole: {INSTALL_DRIVER}",
        f"in a container it comes with the toolkit's capability utility ({TRY_TOOLKIT}); without one "
        "install": "install",
    },
}
"""What stands in place of what, the longest first."""


def kind_of(isolation: Isolation) -> EngineKind:
    """Whose words a remedy has to be in, by what an engine runs the worker in."""
    return "docker" if isolation == "container" else "local"


def reword(text: str, kind: EngineKind) -> str:
    """A cause or a remedy in that engine's words."""
    for docker, other in _WORDS[kind].items():
        text = text.replace(docker, other)
    return text
