"""The array job on two nodes of Slurm, which are this machine: to the end, requeued, and with a lost node."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.docker.engine import DockerEngine
from suite.host.machine.lock import MACHINE, Lock
from tests.commands import run
from tests.fleet.clusters import Cluster
from tests.fleet.trials import BLOCKS, ONLY, hold_whole, read_table


@pytest.fixture
def cluster(find_tool: Callable[[str, str], str], locks: Path) -> Iterator[Cluster]:
    """With the environment that names the test's own folder for the machine's lock."""
    if os.geteuid():
        pytest.skip("slurmd takes root")
    slurm = Cluster(find_tool)
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.stop()


def tell(checkout: Path) -> tuple[int, dict[str, tuple[str, str]], str]:
    """What `make fleet` says: its exit status, the table and all."""
    done = run(str(checkout / ".venv" / "bin" / "python"), "-m", "suite", "fleet", folder=checkout)
    return done.returncode, read_table(f"\n{done.stdout}"), done.stdout


def submit(
    cluster: Cluster,
    checkout: Path,
    worker: Path | None,
    *words: str,
    profile: str = "smoke",
    wait: str = "WAIT=30m",
) -> str:
    """The number of a job; without a worker it is to find one."""
    bench = [f"PROFILE={profile}", "ARMS=cpu", f"BLOCKS={BLOCKS}", f"ONLY={ONLY}"]
    bench += [wait] if wait else []
    bench += [f"LOCAL_PYTHON={worker}"] if worker else []
    job = "fleet/slurm/bench.sbatch"
    said = cluster.run("sbatch", "--parsable", *words, job, *bench, folder=checkout)
    return said.strip()


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
    engines = [json.loads(path.read_text())["invocation"]["engine"] for path in documents]
    machines = [engine["machine.id"] for engine in engines]
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


def test_a_task_that_met_another_campaign_is_completed_by_a_new_job(
    cluster: Cluster,
    checkout: Path,
    worker: Path,
    locks: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with contextlib.closing(Lock(locks, MACHINE, make=True)) as held:
        assert held.take() is None
        job = submit(cluster, checkout, worker, "--array=1-1", wait="")
        cluster.wait(lambda: not cluster.states())
    name = f"{job}-1"
    status, table, said = tell(checkout)
    assert (status, table[name][0]) == (1, "nothing")
    assert table[name][1].startswith("another campaign is running on this machine: of ")
    assert "WAIT=30m" in said
    monkeypatch.setitem(cluster.environment, "FOLDERS_OF", job)
    submit(cluster, checkout, worker, "--array=1-1")
    cluster.wait(lambda: not cluster.states())
    hold_whole(checkout / "results" / "fleet" / name)
    assert tell(checkout)[:2] == (0, {name: ("whole", "")})
    # Over a whole folder another profile is refused, and told.
    submit(cluster, checkout, worker, "--array=1-1", profile="verdict")
    cluster.wait(lambda: not cluster.states())
    status, table, _ = tell(checkout)
    assert (status, table[name][0]) == (2, "whole, of PROFILE=smoke")
    assert "PROFILE=verdict would change it" in table[name][1]


@pytest.fixture
def container(find_tool: Callable[[str, str], str], checkout: Path, tmp_path: Path) -> str:
    """The words that run a command in the image of fleet/Dockerfile without an engine: by Charliecloud,
    which takes a folder and no right."""
    run = find_tool("ch-run", "`apt-get install charliecloud-runtime`")
    docker = find_tool("docker", "an engine builds the image")
    try:
        engine = DockerEngine(base_image=os.environ.get("BASE_IMAGE") or None)
    except EngineError as error:
        pytest.skip(f"an engine builds the image, and none answers: {error.what}")
    with contextlib.closing(engine):
        cpu = engine.provide("cpu", lambda _line: None).id
    name = f"crossover/fleet:{uuid.uuid4().hex[:12]}"
    build = ["-f", "fleet/Dockerfile", "--target", "cpu", "--build-arg", f"CPU={cpu}", "-t", name]
    subprocess.run([docker, "build", "-q", *build, "."], cwd=checkout, check=True)
    root = tmp_path / "image"
    root.mkdir()
    try:
        made = subprocess.check_output([docker, "create", name], text=True).strip()
        try:
            words = f"{docker} export {made} | tar --extract --directory={root} --exclude=dev/*"
            subprocess.run(["bash", "-o", "pipefail", "-c", words], check=True)
            said = subprocess.check_output([docker, "inspect", made], text=True)
        finally:
            subprocess.run([docker, "rm", made], check=True, stdout=subprocess.DEVNULL)
    finally:
        subprocess.run([docker, "rmi", name], check=True, stdout=subprocess.DEVNULL)
    # What an image sets in the environment is in no file of it.
    (tmp_path / "environment").write_text("\n".join(json.loads(said)[0]["Config"]["Env"]) + "\n")
    (checkout / "results").mkdir(exist_ok=True)
    # It wants to know of somebody.
    bind, known = f"--bind={checkout}/results", f"--set-env={tmp_path}/environment"
    return f"env USER=nobody {run} --write {bind} {known} {root} --"


def test_an_array_runs_in_a_container_that_the_site_starts(
    cluster: Cluster,
    checkout: Path,
    container: str,
    locks: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The real TensorFlow, by the image's own lock."""
    monkeypatch.setitem(cluster.environment, "CONTAINER", container)
    job = submit(cluster, checkout, None, "--array=1-1")
    cluster.wait(lambda: not cluster.states())
    log = (checkout / f"crossover-{job}-1.log").read_text()
    assert "CONTAINER, ENGINE NOT SEEN" in log
    hold_whole(checkout / "results" / "fleet" / f"{job}-1")
