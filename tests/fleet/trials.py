"""What the trials have in common: a campaign and its end, and the playbook as a person runs it."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.fleet.machines import Machine

BRINGS = "`nox -s fleet` installs ansible-core and ansible-lint"
BLOCKS = 6

OURS = "what-only-this-fleet-knows"
"""The secret of a fleet."""

ONLY = "matmul.* overhead.eager_op"
"""Cells that the scripted worker measures well."""

Play = Callable[..., subprocess.Popen[str]]


def write_inventory(
    folder: Path, machines: dict[str, Machine], worker: Path, lines: Iterable[str]
) -> Path:
    """The machines, each by its port, and what all are to measure."""
    bench = f"ENGINE=local LOCAL_PYTHON={worker} PROFILE=smoke ARMS=cpu BLOCKS={BLOCKS}"
    hosts = [f"{name} ansible_port={one.port}" for name, one in machines.items()]
    everyone = ["[all:vars]", "ansible_host=127.0.0.1", "ansible_user=root", "free_gb=1"]
    everyone += [f"ansible_ssh_private_key_file={folder / 'key'}", f'bench={bench} ONLY="{ONLY}"']
    path = folder / "hosts.ini"
    path.write_text("\n".join([*hosts, *lines, *everyone]) + "\n")
    return path


def await_second_block(machine: Machine, play: subprocess.Popen[str]) -> None:
    """Until the campaign on that machine has two blocks; the playbook must not end before."""
    while not list(machine.away.glob("results/*/cpu-02.json")):
        assert play.poll() is None, play.communicate()[0]
        time.sleep(0.1)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, dict[str, tuple[str, str]]]:
    """Its exit status, all that it said, and the table: what came home and what is missing, by host."""
    said, _ = process.communicate()
    table = said.partition("\nhost ")[2].splitlines()
    rows = [line for line in table[1:] if line and not line.startswith("to complete it")]
    parts = [[one.strip() for one in row.split("  ") if one.strip()] for row in rows]
    return process.returncode, said, {one[0]: (one[1], " ".join(one[2:])) for one in parts}


def hold_whole(folder: Path) -> None:
    """A campaign that ended, with each of its blocks."""
    (run,) = folder.glob("*/")
    assert (run / "report.md").exists()
    assert len(list(run.glob("cpu-0[1-9].json"))) == BLOCKS
