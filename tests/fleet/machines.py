"""Machines for a test: sshd in namespaces of its own, with its own home, processes and /run."""

from __future__ import annotations

import shlex
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from suite.content import SUITE

WAIT_S = 30.0

CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
AuthorizedKeysFile {key}.pub
StrictModes no
UsePAM no
PidFile none
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
"""

START = """
set -e
sed 's#:/root:#:{home}:#' /etc/passwd >{folder}/passwd
mount --bind {folder}/passwd /etc/passwd
[ -z "{size}" ] || mount -t tmpfs -o size={size} tmpfs {home}
mount -t overlay -o lowerdir={venv},upperdir={folder}/upper,workdir={folder}/work overlay {folder}/venv
mount -t tmpfs tmpfs /run
mkdir /run/sshd
mkdir -m 1777 /run/lock
exec {sshd} -D -e -f {folder}/sshd_config
"""


def make_key(path: Path) -> Path:
    """A key of its own, without a passphrase."""
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(words, check=True)
    return path


def find_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass(kw_only=True)
class Machine:
    """A machine that `start` switches on and `kill` cuts off, with whatever runs on it; its disk stays.

    ``size`` is that of its home folder (None: the disk's).
    """

    folder: Path
    key: Path
    sshd: str
    size: str = ""
    port: int = field(default_factory=find_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def away(self) -> Path:
        """Where the playbook puts everything."""
        return self.home / "crossover-fleet"

    def start(self) -> None:
        """Switches it on, with the environment of this checkout's host side."""
        if not self.folder.exists():
            for name in ("home", "upper", "work", "venv"):
                (self.folder / name).mkdir(parents=True)
            make_key(self.folder / "host_key")
            (self.away / "co").mkdir(parents=True)
            (self.away / "co" / ".venv").symlink_to(self.folder / "venv")
        config = CONFIG.format(port=self.port, folder=self.folder, key=self.key)
        (self.folder / "sshd_config").write_text(config)
        text = START.format(
            folder=self.folder,
            home=self.home,
            size=self.size,
            sshd=shlex.quote(self.sshd),
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

    def kill(self) -> None:
        """Cuts it off: every process on it is gone at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
