"""Slurm with two nodes, which are this machine, from one folder and without a service."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.commands import run
from tests.fleet.machines import find_port

BRINGS = "`apt-get install slurm-wlm munge`; no service has to run"

CONFIG = Path(__file__).with_name("slurm.conf").read_text()

NODE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""A node has processes of its own."""


class Cluster:
    """Slurm with two nodes, on this machine or inside one of the tests'."""

    def __init__(self, find: Callable[[str, str], str]) -> None:
        self._find = find
        # Its sockets' paths have to be short.
        self.folder = Path(tempfile.mkdtemp(prefix="fleet-"))
        self.folder.chmod(0o755)
        self.config = self.folder / "slurm.conf"
        self.environment = {**os.environ, "SLURM_CONF": str(self.config)}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, name: str, *words: str, **how: Any) -> str:
        """What one of Slurm's commands says."""
        done = self._ask(name, *words, **how)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _ask(self, name: str, *words: str, **how: Any) -> subprocess.CompletedProcess[str]:
        return run(self._find(name, BRINGS), *words, env=self.environment, **how)

    def start(self, inside: tuple[str, ...] = ()) -> None:
        """Starts it; ``inside`` are the words before each of its daemons."""
        for name in ("mungekey", "munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"):
            self._find(name, BRINGS)
        place = self.folder
        (place / "secret").mkdir(mode=0o700)
        self.run("mungekey", "-c", "-k", str(place / "secret" / "key"))
        files = {"socket": "munge.socket", "key-file": "secret/key", "pid-file": "munged.pid"}
        files |= {"log-file": "secret/log", "seed-file": "secret/seed"}
        words = [f"--{name}={place / file}" for name, file in files.items()]
        self._begin("munged", *inside, self._find("munged", BRINGS), "--foreground", *words)
        self.wait((place / "munge.socket").exists)
        ports = {"port": find_port(), "one": find_port(), "two": find_port()}
        host = socket.gethostname().partition(".")[0]
        self.config.write_text(CONFIG.format(folder=place, host=host, **ports))
        for name in ("state", "n1", "n2"):
            (place / name).mkdir()
        self._begin("slurmctld", *inside, self._find("slurmctld", BRINGS), "-D", "-i")
        for node in ("n1", "n2"):
            self._begin(node, *inside, *NODE, self._find("slurmd", BRINGS), "-D", "-N", node)
        # The controller knows its nodes once it answers.
        self.wait(lambda: self._ask("scontrol", "show", "node").stdout.count("State=IDLE") == 2)

    def _begin(self, name: str, *words: str) -> None:
        with (self.folder / f"{name}.said").open("wb") as said:
            self._daemons[name] = subprocess.Popen(
                words, env=self.environment, stdout=said, stderr=said
            )

    def states(self) -> list[str]:
        """Of every job and task that has not ended."""
        return self.run("squeue", "--noheader", "--array", "--format=%T").split()

    def wait(self, done: Callable[[], bool]) -> None:
        while not done():
            for name, process in self._daemons.items():
                assert process.poll() is None, (self.folder / f"{name}.said").read_text()
            time.sleep(0.3)

    def hurry(self) -> None:
        """A requeued job would wait for two minutes."""
        for job in self.run("squeue", "--noheader", "--array", "--format=%A").split():
            self._ask("scontrol", "update", f"job={job}", "StartTime=now")

    def stop(self) -> None:
        """Ends it, and leaves nothing."""
        for name in tuple(self._daemons):
            self.cut_off(name)
        shutil.rmtree(self.folder)

    def cut_off(self, name: str) -> None:
        """As a cut power line: of a node every process is gone at once."""
        process = self._daemons.pop(name)
        process.kill()
        process.wait()
