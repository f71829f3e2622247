"""Machines for a test: sshd in namespaces of its own, with its own home, processes and /run."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from suite.fingerprint import SUITE

WAIT_S = 30.0

SYSTEMD = Path("/lib/systemd/systemd")

HERE = Path(__file__).parent
CONFIG = (HERE / "sshd_config").read_text()
START = (HERE / "machine.sh").read_text()
UNDER_SYSTEMD = (HERE / "under_systemd.sh").read_text().rstrip()
"""Knows no unit but its own, so that nothing of this machine's is started a second time."""

ALONE = "container=test SYSTEMD_UNIT_PATH=/run/units SYSTEMD_GENERATOR_PATH=/run/none"
"""What tells systemd that it is in a container, whose kernel it leaves as it is."""


def make_key(path: Path) -> Path:
    """A key of its own, without a passphrase."""
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(words, check=True)
    return path


def find_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_groups() -> Path | None:
    """Where control groups of the second version are, if they are mounted."""
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(place)
    return None


@dataclass(kw_only=True)
class Machine:
    """A machine that `start` switches on and `kill` cuts off, with whatever runs on it; its disk stays.

    ``size`` is that of its home folder (none: the disk's), ``settings`` are more of sshd's, ``lines`` what
    a shell does on it beforehand.  With ``groups``, where control groups are, its first process is systemd.
    """

    folder: Path
    key: Path
    sshd: str
    size: str = ""
    settings: str = ""
    lines: str = ""
    groups: Path | None = None
    port: int = field(default_factory=find_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def away(self) -> Path:
        """Where the playbook puts everything."""
        return self.home / "crossover-fleet"

    @property
    def _group(self) -> Path | None:
        return self.groups and self.groups / f"crossover-{os.getpid()}-{self.port}"

    def start(self) -> None:
        """Switches it on, with the environment of this checkout's host side."""
        if not self.folder.exists():
            for name in ("home", "upper", "work", "venv"):
                (self.folder / name).mkdir(parents=True)
            make_key(self.folder / "host_key")
        config = CONFIG.format(port=self.port, folder=self.folder, key=self.key) + self.settings
        (self.folder / "sshd_config").write_text(config)
        init = f"{shlex.quote(self.sshd)} -D -e -f {self.folder}/sshd_config"
        if self._group:
            self._group.mkdir()
            systemd = f"env {ALONE} {SYSTEMD}"
            init = UNDER_SYSTEMD.format(
                folder=self.folder, group=self._group, sshd=init, systemd=systemd
            )
        text = START.format(
            folder=self.folder,
            home=self.home,
            size=self.size,
            lines=self.lines,
            init=init,
            venv=(SUITE.parent / ".venv").resolve(),
        )
        space = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        with (self.folder / "diary").open("wb") as diary:
            self._process = subprocess.Popen([*space, "sh", "-c", text], stderr=diary)
        self._wait()

    def _wait(self) -> None:
        assert self._process is not None
        for _ in range(int(WAIT_S * 10)):
            if "listening" in (self.folder / "diary").read_text():
                return
            try:
                self._process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            break
        self.kill()
        raise RuntimeError((self.folder / "diary").read_text())

    @property
    def _first(self) -> str:
        """The number of its first process, as this machine counts; without one, nothing."""
        assert self._process is not None
        number = self._process.pid
        with contextlib.suppress(OSError):
            return Path(f"/proc/{number}/task/{number}/children").read_text().strip()
        return ""

    @property
    def inside(self) -> tuple[str, ...]:
        """The words before a command that is to run on it."""
        return ("nsenter", "--target", self._first, "--mount", "--pid")

    def run(self, *words: str) -> str:
        """What a command on it says."""
        done = subprocess.run([*self.inside, *words], capture_output=True, text=True, check=True)
        return done.stdout

    def kill(self) -> None:
        """Cuts it off: every process on it is gone at once."""
        if self._process is not None:
            first = self._first
            self._process.kill()
            self._process.wait()
            self._process = None
            # The first is the last to go.
            ends = time.monotonic() + WAIT_S
            while first and Path("/proc", first).exists() and time.monotonic() < ends:
                time.sleep(0.02)
        if self._group and self._group.exists():
            folders = [path for path in self._group.rglob("*") if path.is_dir()]
            for path in (*sorted(folders, reverse=True), self._group):
                path.rmdir()
