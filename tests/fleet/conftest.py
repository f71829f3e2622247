"""The job files on real engines, each started here from one temporary folder and stopped again.

`nox -s fleet` brings what Python packages they need; where an engine is not installed, its tests are skipped
and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from suite.fingerprint import SUITE
from tests.faults.places import Place
from tests.fleet.machines import Machine, make_key
from tests.fleet.trials import BRINGS, Play, link_environment, write_inventory

HERE = Path(__file__).parent
ROOT = SUITE.parent

TOOLS = "FLEET_TOOLS"
"""The variable that names the folder of programs which `nox -s fleet` has installed."""

GIT = ("git", "-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")


@pytest.fixture(scope="session")
def find_tool() -> Callable[[str, str], str]:
    """The path of a program; without it the test is skipped, and says what brings it."""

    def find(name: str, brings: str) -> str:
        places = [os.environ.get(TOOLS, ""), os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]
        found = shutil.which(name, path=os.pathsep.join(filter(None, places)))
        if found is None:
            pytest.skip(f"{name} is not installed: {brings}")
        return found

    return find


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout of what the files here are now, with this one's environment."""
    folder = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    changes = subprocess.run(
        ["git", "diff", "--binary", "HEAD"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    if changes:
        subprocess.run(["git", "apply", "--index"], cwd=folder, input=changes, check=True)
        subprocess.run([*GIT, "commit", "-qm", "as it is now"], cwd=folder, check=True)
    link_environment(folder)
    return folder


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    """An interpreter for LOCAL_PYTHON whose worker goes by a script, and takes its time."""
    folder = tmp_path / "worker"
    folder.mkdir()
    Place().prepare(folder)
    return folder / "python"


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the machine's lock that no campaign outside of the test waits for."""
    folder = tmp_path / "locks"
    folder.mkdir()
    monkeypatch.setenv("CROSSOVER_LOCKS", str(folder))
    return folder


@pytest.fixture
def build(tmp_path: Path, find_tool: Callable[[str, str], str]) -> Iterator[Callable[..., Machine]]:
    """Makes a machine of that name and switches it on; it is cut off in the end."""
    sshd = find_tool("sshd", "`apt-get install openssh-server`; no service has to run")
    allowed = ["unshare", "--mount", "--pid", "--fork", "true"]
    if os.geteuid() or subprocess.run(allowed, check=False, capture_output=True).returncode:
        pytest.skip("machines of the test's own take root and the right to namespaces")
    key = make_key(tmp_path / "key")
    made: list[Machine] = []

    def make(name: str, **more: Any) -> Machine:
        machine = Machine(folder=tmp_path / name, key=key, sshd=sshd, **more)
        made.append(machine)
        machine.start()
        return machine

    try:
        yield make
    finally:
        for machine in made:
            machine.kill()


@pytest.fixture
def play_on(
    tmp_path: Path, checkout: Path, worker: Path, find_tool: Callable[[str, str], str]
) -> Callable[..., Play]:
    """What starts the playbook for those machines, and more lines of an inventory."""
    program = find_tool("ansible-playbook", BRINGS)
    (tmp_path / "user").mkdir()
    environment = {**os.environ, "HOME": str(tmp_path / "user"), "ANSIBLE_NOCOLOR": "1"}

    def prepare(machines: dict[str, Machine], *lines: str) -> Play:
        inventory = write_inventory(tmp_path, machines, worker, lines)

        def start(*words: str) -> subprocess.Popen[str]:
            return subprocess.Popen(
                [program, "-i", str(inventory), "bench.yml", *words],
                cwd=checkout / "fleet" / "ansible",
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )

        return start

    return prepare
