"""The array job on two nodes of Slurm, which are this machine: to the end, requeued, and with a lost node."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.conftest import ONLY
from tests.fleet.machines import find_port

BRINGS = "`apt-get install slurm-wlm munge`; no service has to run"
BLOCKS = 6

CONFIG = """\
ClusterName=fleet
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdTimeout=20
PropagateResourceLimits=NONE
DebugFlags=NO_CONF_HASH
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdSpoolDir={folder}/%n
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={one} CPUs=1 RealMemory=1000 Feature=cpu State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={two} CPUs=1 RealMemory=1000 Feature=cpu State=UNKNOWN
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
"""

NODE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
"""A node has processes of its own."""


class Cluster:
    """Slurm with two nodes, from one folder."""

    def __init__(self, folder: Path, find: Callable[[str, str], str]) -> None:
        self.folder = folder
        self._programs = {
            name: find(name, BRINGS)
            for name in (
                "mungekey",
                "munged",
                "slurmctld",
                "slurmd",
                "sbatch",
                "squeue",
                "scontrol",
            )
        }
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        self._environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def run(self, name: str, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            [self._programs[name], *words],
            env=self._environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        place = self.folder
        (place / "secret").mkdir(mode=0o700)
        self.run("mungekey", "-c", "-k", str(place / "secret" / "key"))
        files = {"socket": "munge.socket", "key-file": "secret/key", "pid-file": "munged.pid"}
        files |= {"log-file": "secret/log", "seed-file": "secret/seed"}
        self.run("munged", *(f"--{name}={place / file}" for name, file in files.items()))
        ports = {"port": find_port(), "one": find_port(), "two": find_port()}
        host = socket.gethostname().partition(".")[0]
        (place / "slurm.conf").write_text(CONFIG.format(folder=place, host=host, **ports))
        for name in ("state", "n1", "n2"):
            (place / name).mkdir()
        self.run("slurmctld", "-i")
        for node in ("n1", "n2"):
            words = [*NODE, self._programs["slurmd"], "-D", "-N", node]
            with (place / f"{node}.said").open("wb") as said:
                self.nodes[node] = subprocess.Popen(
                    words, env=self._environment, stdout=said, stderr=said
                )
        self.wait(lambda: self.run("scontrol", "show", "node").count("State=IDLE") == 2)

    def states(self) -> list[str]:
        """Of every job and task that has not ended."""
        return self.run("squeue", "--noheader", "--array", "--format=%T").split()

    def wait(self, done: Callable[[], bool]) -> None:
        while not done():
            time.sleep(0.3)

    def hurry(self) -> None:
        """A requeued job would wait for two minutes."""
        for job in self.run("squeue", "--noheader", "--array", "--format=%A").split():
            subprocess.run(
                [self._programs["scontrol"], "update", f"job={job}", "StartTime=now"],
                env=self._environment,
                check=False,
                capture_output=True,
            )

    def stop(self) -> None:
        for node in tuple(self.nodes):
            self.cut_off(node)
        for name in ("slurmctld.pid", "munged.pid"):
            end(self.folder / name)

    def cut_off(self, node: str) -> None:
        """As a cut power line: every process of the node is gone at once."""
        process = self.nodes.pop(node)
        process.kill()
        process.wait()


def end(file: Path) -> None:
    """Stops a daemon of the test's own by what its file says, and waits for its end."""
    if not file.exists():
        return
    pid = int(file.read_text())
    subprocess.run(["kill", str(pid)], check=False)
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.1)


@pytest.fixture
def cluster(find_tool: Callable[[str, str], str]) -> Iterator[Cluster]:
    if os.geteuid():
        pytest.skip("slurmd takes root")
    # Its sockets' paths have to be short.
    folder = Path(tempfile.mkdtemp(prefix="fleet-"))
    folder.chmod(0o755)
    one = Cluster(folder, find_tool)
    try:
        one.start()
        yield one
    finally:
        one.stop()
        shutil.rmtree(folder)


def submit(cluster: Cluster, checkout: Path, worker: Path, *words: str) -> str:
    bench = ["PROFILE=smoke", "ARMS=cpu", f"BLOCKS={BLOCKS}", f"ONLY={ONLY}", "WAIT=30m"]
    job = "fleet/slurm/bench.sbatch"
    said = cluster.run(
        *("sbatch", "--parsable", *words, job, *bench, f"LOCAL_PYTHON={worker}"), cwd=checkout
    )
    return said.strip()


def hold_whole(folder: Path) -> None:
    """A campaign that ended, with each of its blocks."""
    (run,) = folder.glob("*/")
    assert (run / "report.md").exists()
    assert len(list(run.glob("cpu-0[1-9].json"))) == BLOCKS


def test_an_array_runs_to_its_end_one_task_a_node(
    cluster: Cluster, checkout: Path, worker: Path, locks: Path
) -> None:
    job = submit(cluster, checkout, worker, "--array=1-2", "--constraint=cpu")
    cluster.wait(lambda: not cluster.states())
    for task in (1, 2):
        log = (checkout / f"crossover-{job}-{task}.log").read_text()
        hold_whole(checkout / "results" / "fleet" / f"{job}-{task}")
        assert "no figures of sacct: this cluster keeps no accounts" in log
    documents = checkout.glob("results/fleet/*/*/cpu-01.json")
    told = [json.loads(one.read_text())["invocation"]["engine"] for one in documents]
    machines = [one["machine.id"] for one in told]
    assert len(machines) == 2
    assert len(set(machines)) == 1, "two nodes of one machine are one instance"


def test_a_requeued_task_goes_on_where_it_was(
    cluster: Cluster, checkout: Path, worker: Path, locks: Path
) -> None:
    job = submit(cluster, checkout, worker, "--array=1-1")
    folder = checkout / "results" / "fleet" / f"{job}-1"
    cluster.wait(lambda: bool(list(folder.glob("*/cpu-02.json"))))
    cluster.run("scontrol", "requeue", f"{job}_1")
    cluster.wait(lambda: "PENDING" in cluster.states())
    cluster.hurry()
    cluster.wait(lambda: not cluster.states())
    hold_whole(folder)
    log = (checkout / f"crossover-{job}-1.log").read_text()
    assert "interrupted" in log
    assert log.count(f"cells on cpu, {BLOCKS} blocks") == 2


def test_a_node_that_dies_gives_its_task_to_the_other(
    cluster: Cluster, checkout: Path, worker: Path, locks: Path
) -> None:
    job = submit(cluster, checkout, worker, "--array=1-1", "--nodelist=n1")
    folder = checkout / "results" / "fleet" / f"{job}-1"
    cluster.wait(lambda: bool(list(folder.glob("*/cpu-02.json"))))
    cluster.cut_off("n1")
    cluster.wait(lambda: "PENDING" in cluster.states())
    cluster.run("scontrol", "update", f"job={job}_1", "ReqNodeList=n2")
    cluster.hurry()
    cluster.wait(lambda: not cluster.states())
    hold_whole(folder)
