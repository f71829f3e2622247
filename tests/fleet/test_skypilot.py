"""The task files by SkyPilot's own loader, which asks nobody, and one of them on a cluster of Slurm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from suite.fingerprint import SUITE
from tests.commands import run
from tests.fleet.clusters import Cluster
from tests.fleet.machines import Machine, find_port
from tests.fleet.test_tasks import TABLE, make_tasks
from tests.fleet.trials import BLOCKS, ONLY, hold_whole

BRINGS = "`nox -s fleet` installs skypilot"

SILENT = {"SKYPILOT_DISABLE_USAGE_COLLECTION": "1"}

LOAD = """
import json, sys, sky
task = sky.Task.from_yaml(sys.argv[1])
found = [{"cloud": str(resource.cloud), "spot": resource.use_spot, "accelerators": resource.accelerators,
          "cpus": resource.cpus, "recovery": resource.job_recovery} for resource in task.resources]
mounts = {place: [one.name, one.mode.value] for place, one in task.storage_mounts.items()}
print(json.dumps({"name": task.name, "envs": task.envs, "run": task.run, "mounts": mounts,
                  "resources": sorted(found, key=str)}))
"""


def load(find: Callable[[str, str], str], path: Path, home: Path) -> Any:
    """What SkyPilot makes of a task file."""
    python = Path(find("sky", BRINGS)).parent / "python"
    done = run(str(python), "-c", LOAD, str(path), env={"HOME": str(home), **SILENT})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_task_file_loads(find_tool: Callable[[str, str], str], tmp_path: Path) -> None:
    task = load(find_tool, SUITE.parent / "fleet" / "skypilot" / "bench.yaml", tmp_path)
    assert [resource["cloud"] for resource in task["resources"]] == ["AWS", "GCP"]
    assert all(
        resource["spot"] and resource["accelerators"] == {"L4": 1} for resource in task["resources"]
    )
    assert task["mounts"] == {"/results": ["crossover-results", "MOUNT_CACHED"]}
    assert task["envs"] == {"BENCH": "PROFILE=standard", "RESULTS": "/results"}


def test_what_is_made_of_a_table_loads(
    find_tool: Callable[[str, str], str], tmp_path: Path
) -> None:
    (tmp_path / "machines.toml").write_text(TABLE)
    assert make_tasks(tmp_path / "machines.toml", tmp_path / "sky").returncode == 0
    tasks = {
        path.stem: load(find_tool, path, tmp_path) for path in (tmp_path / "sky/tasks").iterdir()
    }
    assert (tasks["slurm"]["mounts"], tasks["slurm"]["envs"]["RESULTS"]) == ({}, "/shared/results")
    assert {resource["accelerators"]["H100"] for resource in tasks["h100"]["resources"]} == {1}
    assert [resource["cloud"] for resource in tasks["h100"]["resources"]] == ["AWS", "GCP"]
    (plain,) = tasks["cpu-16"]["resources"]
    assert (plain["cpus"], plain["spot"]) == ("16", False)
    assert tasks["cpu-16"]["envs"]["BENCH"] == "PROFILE=standard ONLY='matmul.*'"


HOSTS = """
(cat /etc/hosts; echo 127.0.0.1 n1 n2) >{folder}/hosts
mount --bind {folder}/hosts /etc/hosts
"""

INFRA = """\
Host trial
  HostName 127.0.0.1
  Port {port}
  User root
  IdentityFile {key}
"""

USER = uuid.uuid4().hex[:8]
"""Stands in the names of all that SkyPilot makes."""


class Sky:
    """SkyPilot as a person runs it who has a cluster of Slurm, on that cluster's own machine."""

    def __init__(self, machine: Machine, home: Path, checkout: Path, program: str) -> None:
        self._words = [*machine.inside, "env", "-C", str(checkout), f"HOME={home}", program]
        (home / ".slurm").mkdir(parents=True)
        (home / ".sky").mkdir()
        # A server of its own, and not one that runs here already.
        self._settings = {"SKYPILOT_API_SERVER_LOCAL_PORT": str(find_port()), **SILENT}
        config = INFRA.format(port=machine.port, key=machine.key)
        (home / ".slurm" / "config").write_text(config)
        (home / ".sky" / "user_hash").write_text(USER)

    def start(self) -> None:
        """Its server, to which it gives a minute: twice that on a machine with other work."""
        if self._ask("api", "start").returncode != 0:
            self.run("api", "start")

    def run(self, *words: str) -> str:
        """What it says."""
        done = self._ask(*words)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def _ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._words, *words],
            env={**os.environ, **self._settings},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


@pytest.fixture
def cluster(find_tool: Callable[[str, str], str], locks: Path) -> Iterator[Cluster]:
    """Not started yet."""
    slurm = Cluster(find_tool)
    try:
        yield slurm
    finally:
        slurm.stop()


@pytest.fixture
def sky(
    tmp_path: Path,
    checkout: Path,
    cluster: Cluster,
    build: Callable[..., Machine],
    find_tool: Callable[[str, str], str],
) -> Iterator[Sky]:
    """SkyPilot, and a cluster of Slurm that it finds."""
    program = find_tool("sky", BRINGS)
    uv = find_tool("uv", "`make .venv/dev.stamp` does")
    known = ("UV_", "SSL_", "CROSSOVER_LOCKS")
    passed = {name: text for name, text in os.environ.items() if name.startswith(known)}
    passed["SLURM_CONF"] = str(cluster.config)
    settings = " ".join(f"{name}={text}" for name, text in passed.items())
    machine = build(
        "login", settings=f"SetEnv {settings}\n", lines=HOSTS.format(folder=cluster.folder)
    )
    cluster.start(machine.inside)
    # What it would fetch from a site of its own: uv, and a Python for its runtime.
    own = machine.home / ".sky_clusters" / f"trial-{USER}" / ".local" / "bin"
    own.mkdir(parents=True)
    (own / "uv").symlink_to(uv)
    runtime = Path(tempfile.gettempdir(), f"trial-{USER}")
    python = Path(program).parent / "python"
    words = [uv, "venv", "--quiet", "--seed", "--python", str(python)]
    subprocess.run([*words, str(runtime / "skypilot-runtime")], check=True)
    try:
        yield Sky(machine, tmp_path / "user", checkout, program)
    finally:
        machine.kill()
        shutil.rmtree(runtime, ignore_errors=True)


def test_a_campaign_on_a_cluster_from_its_start_to_its_end(
    sky: Sky, cluster: Cluster, worker: Path, tmp_path: Path
) -> None:
    """The machine is a node of Slurm; setup makes the environment there, and run the campaign."""
    bench = f"ENGINE=local LOCAL_PYTHON={worker} PROFILE=smoke ARMS=cpu BLOCKS={BLOCKS}"
    row = {"infra": ["slurm"], "cpus": "1", "memory": "0.5", "folder": str(tmp_path / "kept")}
    row |= {"bench": f"{bench} ONLY='{ONLY}'"}
    lines = [f"{name} = {json.dumps(value)}" for name, value in row.items()]
    (tmp_path / "machines.toml").write_text("\n".join(["[node]", *lines]))
    assert make_tasks(tmp_path / "machines.toml", tmp_path / "sky").returncode == 0
    sky.start()
    assert "Slurm: enabled" in sky.run("check", "slurm")
    said = sky.run("launch", "--yes", "-c", "trial", str(tmp_path / "sky" / "tasks" / "node.yaml"))
    assert f"cells on cpu, {BLOCKS} blocks" in said
    (folder,) = (tmp_path / "kept").iterdir()
    hold_whole(folder)
    assert cluster.states() == ["RUNNING"]
    sky.run("down", "--yes", "trial")
    assert cluster.states() == []
