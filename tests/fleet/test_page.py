"""docs/fleet.md: each command of it, typed in a copy of the checkout, in the order of the page."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from suite.fingerprint import SUITE
from tests import twelve
from tests.commands import run
from tests.fakes.scripted_python import script
from tests.fleet.test_tasks import TABLE
from tests.fleet.trials import link_environment

pytestmark = pytest.mark.processes

ROOT = SUITE.parent
PAGE = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")

BLOCKS = re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)
"""What stands indented: commands, an inventory, a table."""

ELSEWHERE = (
    "pipx",
    "ansible-playbook",
    "sbatch",
    "kubectl",
    "sky",
    "aws",
    "docker",
    "openssl",
    "sudo",
)
"""Programs that this machine need not have: each says where it was called and with what."""

COMMANDS = (
    *ELSEWHERE,
    "make",
    ".venv/bin/python",
    "echo",
    "mkdir",
    "fleet/job",
    "(",
    "FOLDERS_OF=",
    "job=",
)

SAYS = Path(__file__).with_name("stand_in.sh").read_text()
"""What stands in for a program: the files that it is given must be there; of a pod, an empty archive; of a
Job, that it has ended."""

DRY = """\
case "$*" in images | .venv/host.stamp) set -- --dry-run "$@" ;; esac
exec "$REAL_MAKE" "$@"
"""
"""Make, which sets up and builds nothing here."""


def list_commands() -> list[str]:
    """The blocks of commands, as a reader would paste them."""
    blocks = [re.sub(r"(?m)^    ", "", block) for block in BLOCKS]
    return [block for block in blocks if block.startswith(COMMANDS)]


def test_the_first_command_comes_early() -> None:
    first = next(n for n, line in enumerate(PAGE.splitlines(), 1) if line.startswith("    pipx "))
    assert first < 15


def test_every_command_works_where_the_page_has_put_the_reader(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("fleet", "suite", "requirements", "Makefile"):
        subprocess.run(["cp", "-a", ROOT / name, clone], check=True)
    (clone / "fleet" / "ansible" / "hosts.ini").unlink(missing_ok=True)
    link_environment(clone)
    for made in map(Path, twelve.write(tmp_path, "three-1", "three-2", "three-3", blocks=3)):
        (made / "report.md").touch()
        host = clone / "results" / "fleet" / made.name
        host.mkdir(parents=True)
        made.rename(host / "run")
        for left in ("job.log", "ended", "sacct.txt"):
            (host / left).touch()
    (clone / "machines.toml").write_text(TABLE)
    (tmp_path / "bin").mkdir()
    for name in ELSEWHERE:
        script(tmp_path / "bin" / name, SAYS)
    script(tmp_path / "bin" / "make", DRY)
    make = run("sh", "-c", "command -v make").stdout.strip()
    env = {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "SAID": str(tmp_path / "said"),
        "REAL_MAKE": make,
    }
    blocks, printed, done_before = list_commands(), "", list[str]()
    assert len(blocks) >= 12
    for block in blocks:
        lines = block.splitlines()
        begin = [line for line in lines if line.startswith("fleet/job")]
        assert all((clone / line.split()[0]).exists() for line in begin)
        # Those that begin a campaign here are only looked at, and none is typed twice, which takes seconds.
        typed = [line for line in lines if line not in [*begin, *done_before]]
        done_before += typed
        # The page says of this block where it is typed.
        inside = lines[0].startswith("ansible-playbook")
        folder = clone / "fleet" / "ansible" if inside else clone
        # The folders have no manifest to be checked by.
        words = "\n".join(typed).replace(" --check", "")
        done = run("sh", "-e", "-c", words, folder=folder, env=env)
        assert done.returncode == 0, block + done.stdout + done.stderr
        printed += done.stdout
    assert "A three.large; 3 instances (±5 % needs " in printed
    said = (tmp_path / "said").read_text()
    for name in set(ELSEWHERE) - {"sudo"}:
        assert f"{name} " in said
    assert (clone / "fleet" / "ansible" / "hosts.ini").read_text().startswith("gpu-1 ")


def test_the_tags_and_variables_of_the_page_are_the_playbooks() -> None:
    playbook = (ROOT / "fleet" / "ansible" / "bench.yml").read_text(encoding="utf-8")
    known = {tag for tags in re.findall(r"tags: \[(.*)\]", playbook) for tag in tags.split(", ")}
    typed = {tag for tags in re.findall(r"--tags ([\w,]+)", PAGE) for tag in tags.split(",")}
    typed |= set(re.findall(r"`(\w+)`", re.findall(r"further tags are (.*)\.", PAGE)[0]))
    assert typed == known - {"always", "never"}
    table = PAGE.partition("| variable | is |")[2].partition("\n\n")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert named == set(re.findall(r"\b(\w+) \| default\(", playbook)) - {"state", "lose"} | {
        "mirror"
    }
