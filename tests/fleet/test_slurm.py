"""The array job on two nodes of Slurm, which are this machine: to the end, requeued, and with a lost node."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.clusters import Cluster
from tests.fleet.trials import BLOCKS, ONLY, hold_whole


@pytest.fixture
def cluster(find_tool: Callable[[str, str], str]) -> Iterator[Cluster]:
    if os.geteuid():
        pytest.skip("slurmd takes root")
    one = Cluster(find_tool)
    try:
        one.start()
        yield one
    finally:
        one.stop()


def submit(cluster: Cluster, checkout: Path, worker: Path, *words: str) -> str:
    bench = ["PROFILE=smoke", "ARMS=cpu", f"BLOCKS={BLOCKS}", f"ONLY={ONLY}", "WAIT=30m"]
    job = "fleet/slurm/bench.sbatch"
    said = cluster.run(
        *("sbatch", "--parsable", *words, job, *bench, f"LOCAL_PYTHON={worker}"), cwd=checkout
    )
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
