"""What the trials have in common: a campaign and its end, and the playbook as a person runs it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from suite.fingerprint import SUITE
from tests.fleet.machines import Machine

BRINGS = "`nox -s fleet` installs ansible-core and ansible-lint"
BLOCKS = 6

OURS = "what-only-this-fleet-knows"
"""The secret of a fleet."""

ONLY = "matmul.* overhead.eager_op"
"""Cells that the scripted worker measures well."""

Play = Callable[..., subprocess.Popen[str]]


def link_environment(checkout: Path) -> None:
    """Gives a checkout the environment that these tests run in: make finds it made already, and installs
    nothing into it."""
    place = checkout / ".venv"
    place.mkdir()
    for part in (SUITE.parent / ".venv").iterdir():
        if part.suffix != ".stamp":
            (place / part.name).symlink_to(part)
    for stamp in ("venv", "host"):
        (place / f"{stamp}.stamp").touch()


def bench_words(worker: Path) -> str:
    """What all machines of an inventory are to measure."""
    bench = f"ENGINE=local LOCAL_PYTHON={worker} PROFILE=smoke ARMS=cpu BLOCKS={BLOCKS}"
    return f'{bench} ONLY="{ONLY}"'


def write_inventory(
    folder: Path, machines: dict[str, Machine], worker: Path, lines: Iterable[str]
) -> Path:
    """The machines, each by its port, and what all are to measure."""
    hosts = [f"{name} ansible_port={one.port}" for name, one in machines.items()]
    everyone = ["[all:vars]", "ansible_host=127.0.0.1", "ansible_user=root", "free_gb=1"]
    everyone += [f"ansible_ssh_private_key_file={folder / 'key'}", f"bench={bench_words(worker)}"]
    path = folder / "hosts.ini"
    path.write_text("\n".join([*hosts, *lines, *everyone]) + "\n")
    return path


def await_second_block(machine: Machine, play: subprocess.Popen[str]) -> None:
    """Until the campaign on that machine has two blocks; the playbook must not end before."""
    while not list(machine.away.glob("results/*/cpu-02.json")):
        assert play.poll() is None, play.communicate()[0]
        time.sleep(0.1)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, dict[str, tuple[str, str]]]:
    """Its exit status, all that it said, and the table: what came home, and why not all, by machine."""
    said, _ = process.communicate()
    return process.returncode, said, read_table(said)


def read_table(said: str) -> dict[str, tuple[str, str]]:
    """The rows of the fleet's table: what came home, and why not all, by machine."""
    head, *rows = f"machine {said.partition(chr(10) + 'machine ')[2]}".splitlines()
    at = [head.index(name) for name in ("came home", "arms", "why not all")]
    table = {}
    for row in rows:
        if not row or row[at[0] - 1] != " " or ": " in row[: at[0]]:
            break
        table[row[: at[0]].strip()] = (row[at[0] : at[1]].strip(), row[at[2] :].strip())
    return table


def hold_whole(folder: Path) -> None:
    """A campaign that ended, with each of its blocks."""
    (run,) = folder.glob("*/")
    assert (run / "report.md").exists()
    assert len(list(run.glob("cpu-0[1-9].json"))) == BLOCKS
