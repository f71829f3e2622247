"""Engines of the tests' own: a docker daemon beside the machine's, and a machine with a GPU to see.

They touch nothing of the machine's: a network namespace keeps its bridge and firewall rules (a second
daemon removes `docker0` otherwise), a mount namespace its devices.  Both need root.
"""

from __future__ import annotations

import io
import os
import shutil
import socket
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docker.api.client import APIClient
from docker.errors import DockerException

HOOK = "nvidia-container-runtime-hook"
DRIVER = "550.54.15"
STARTED_S = 60.0

_HOOK = """#!/bin/sh
# Stands in for NVIDIA's hook: takes the container's state, and refuses where a text lies beside it.
folder=$(dirname "$0")
cat >"$folder/asked"
[ -e "$folder/refusal" ] || exit 0
cat "$folder/refusal" >&2
exit 1
"""

# An overlay, since a node made in /dev itself would be seen by the whole machine.
_GPU_MACHINE = """set -e
scratch=$1; version=$2; shift 2
mount -t tmpfs none "$scratch"
mkdir "$scratch/upper" "$scratch/work"
mount -t overlay none -o "lowerdir=/dev,upperdir=$scratch/upper,workdir=$scratch/work" /dev
mknod /dev/nvidia0 c 1 3
touch /dev/nvidiactl
mount -t tmpfs none /proc/driver
mkdir /proc/driver/nvidia
echo "NVRM version: NVIDIA UNIX x86_64 Kernel Module  $version  Tue Mar  5 22:23:56 UTC 2024" \
  >/proc/driver/nvidia/version
exec "$@"
"""


def why_not() -> str | None:
    """Why this process can't start a daemon of its own; None: it can."""
    if os.geteuid() != 0:
        return "only root can start a docker daemon"
    missing = [name for name in ("dockerd", "unshare") if shutil.which(name) is None]
    return f"not on PATH: {', '.join(missing)}" if missing else None


def on_gpu_machine(scratch: Path, words: Sequence[str]) -> list[str]:
    """These words, run where /dev/nvidia0 and a loaded driver are to be seen."""
    return [
        *("unshare", "--mount", "--propagation", "private"),
        *("sh", "-c", _GPU_MACHINE, "sh", str(scratch), DRIVER, *words),
    ]


class Hook:
    """The folder of a stand-in for NVIDIA's hook, which does as it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = folder / HOOK
        path.write_text(_HOOK)
        path.chmod(0o755)

    def accept(self) -> None:
        (self.folder / "refusal").unlink(missing_ok=True)
        (self.folder / "asked").unlink(missing_ok=True)

    def refuse(self, text: str) -> None:
        self.accept()
        (self.folder / "refusal").write_text(text)

    @property
    def was_asked(self) -> bool:
        return (self.folder / "asked").exists()


class Daemon:
    """A docker daemon with a socket, data and control groups of its own, and a hook on its PATH."""

    def __init__(self) -> None:
        # Not pytest's folder: a socket's path has at most 107 characters.
        self.root = Path(tempfile.mkdtemp(prefix="crossover-"))
        (self.root / "bin").mkdir()
        self.hook = Hook(self.root / "bin")
        self.url = f"unix://{self.root}/docker.sock"
        self._log = self.root / "log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, hooked: bool = True) -> None:
        """Starts it.

        Raises:
            RuntimeError: it ended, or does not answer; with the end of its log.
        """
        (self.root / "daemon.json").write_text("{}")
        path = [str(self.root / "bin")] if hooked else []
        path += [os.environ["PATH"], "/usr/sbin", "/sbin"]
        # A namespace's name can't end with an underscore, which a folder's may.
        own = self.root.name.replace("_", "x")
        words = (
            *("unshare", "--net", "dockerd", "--host", self.url),
            *("--config-file", str(self.root / "daemon.json")),
            *("--data-root", str(self.root / "data"), "--exec-root", str(self.root / "run")),
            *("--pidfile", str(self.root / "pid"), "--bridge", "none"),
            # Where a containerd of the system's is shared.
            *("--containerd-namespace", own),
            *("--containerd-plugins-namespace", f"{own}-plugins"),
            *("--iptables=false", "--ip-forward=false", "--ip-masq=false"),
        )
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                words,
                env={**os.environ, "PATH": ":".join(path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(self.url, lambda: self.lives, self.log)

    @property
    def lives(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-2000:]

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        self.stop()
        remove_mounted(self.root)


def remove_mounted(folder: Path) -> None:
    """Removes a folder, and before it what an engine has left mounted there."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for mount in reversed([one for one in mounts if one.startswith(f"{folder}/")]):
        subprocess.run(["umount", mount], check=True)
    shutil.rmtree(folder)


def wait_for(
    url: str, lives: Callable[[], bool], log: Callable[[], str], patience_s: float = STARTED_S
) -> None:
    """Until the engine at that address answers.

    Raises:
        RuntimeError: it ended, or does not answer in time.
    """
    deadline = time.monotonic() + patience_s
    while not _listens(url.removeprefix("unix://")):
        if not lives() or time.monotonic() > deadline:
            raise RuntimeError(f"the engine at {url} does not answer: {log()}")
        time.sleep(0.25)
    client = APIClient(base_url=url, version="1.41", timeout=int(patience_s))
    try:
        client.ping()
    except (DockerException, OSError) as error:
        raise RuntimeError(f"the engine at {url} does not answer: {log()}") from error
    finally:
        client.close()


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as plug:
        try:
            plug.connect(path)
        except OSError:
            return False
        return True


def build_image(api: APIClient, files: Mapping[str, bytes], **how: Any) -> str:
    """Builds an image of these files, one of which is its ``Dockerfile``; its id.

    Raises:
        RuntimeError: the engine's complaint.
    """
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    context.seek(0)
    built = ""
    for event in api.build(
        fileobj=context, custom_context=True, rm=True, forcerm=True, decode=True, **how
    ):
        if "error" in event:
            raise RuntimeError(event["error"])
        built = event.get("aux", {}).get("ID", built)
    return built


def carry_image(source: APIClient, image: str, url: str) -> None:
    """Brings an image from one engine into another."""
    target = APIClient(base_url=url, version="1.41", timeout=900)
    try:
        for event in target.load_image(source.get_image(image)) or ():
            if "error" in event:
                raise RuntimeError(f"{image} could not be loaded: {event['error']}")
    finally:
        target.close()
