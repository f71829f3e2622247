"""The task files that are made of a table of machines."""

from __future__ import annotations

import shutil
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from suite.fingerprint import SUITE
from suite.host.machine.identity import SALT
from tests.commands import run_python
from tests.fleet.trials import OURS

pytestmark = pytest.mark.processes

SKYPILOT = SUITE.parent / "fleet" / "skypilot"

TABLE = """
[h100]
accelerators = "H100:1"
infra = ["aws", "gcp"]
spot = true
instances = 2
[cpu-16]
cpus = "16"
bench = "PROFILE=standard ONLY='matmul.*'"
[slurm]
cpus = "1"
infra = ["slurm"]
folder = "/shared/results"
"""


def make_tasks(table: Path | str, folder: Path) -> CompletedProcess[str]:
    folder.mkdir()
    for name in ("bench.yaml", "tasks.py"):
        shutil.copy(SKYPILOT / name, folder)
    return run_python(str(folder / "tasks.py"), str(table))


def test_tasks_take_the_secret_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "machines.toml").write_text(TABLE)
    (tmp_path / ".salt").write_text(OURS)
    first, *jobs = make_tasks(tmp_path / "machines.toml", tmp_path / "sky").stdout.splitlines()
    assert first == f'export {SALT}="$(cat {tmp_path}/.salt)"'
    assert all(f" --secret {SALT} " in job for job in jobs)
    assert OURS not in first + "".join(jobs)


def test_each_row_of_machines_becomes_a_task(tmp_path: Path) -> None:
    (tmp_path / "machines.toml").write_text(TABLE)
    done = make_tasks(tmp_path / "machines.toml", tmp_path / "sky")
    assert (done.returncode, done.stderr) == (0, "")
    jobs = [line.partition(" --yes ")[0] for line in done.stdout.splitlines()]
    assert jobs == [
        *("sky jobs launch -n h100-1", "sky jobs launch -n h100-2", "sky jobs launch -n cpu-16-1"),
        "sky launch -c slurm-1",
    ]
    h100 = (tmp_path / "sky" / "tasks" / "h100.yaml").read_text()
    assert "\nname: crossover-h100\n" in h100
    assert '"any_of": [{"infra": "aws", "accelerators": "H100:1"}, {"infra": "gcp",' in h100
    assert '"use_spot": true' in h100
    assert "L4" not in h100
    assert "matmul" in (tmp_path / "sky" / "tasks" / "cpu-16.yaml").read_text()
    slurm = (tmp_path / "sky" / "tasks" / "slurm.yaml").read_text()
    assert '\n  RESULTS: "/shared/results"\n' in slurm
    assert "file_mounts" in h100
    assert "file_mounts" not in slurm


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("[a]\ngpus = 1", "[a] gpus: known are infra"),
        ("[a]\ncpus = 16", "[a] cpus = 16: a str is wanted"),
        ("[a]\nspot = true", "[a]: give accelerators"),
        ('[a]\ncpus = "1"\nfolder = "/x"\nstore = "s3"', "not both"),
        ('["a b"]\ncpus = "1"', "small letters"),
        ("a = 1", "no attribute"),
        ("[a", "Expected"),
        (None, "no table of machines is named"),
    ],
)
def test_a_wrong_table_is_refused_and_writes_nothing(
    table: str | None, why: str, tmp_path: Path
) -> None:
    (tmp_path / "machines.toml").write_text(table or "")
    done = make_tasks("" if table is None else tmp_path / "machines.toml", tmp_path / "sky")
    assert done.returncode == 2
    assert why in done.stderr
    assert "what to do: name a table" in done.stderr
    assert not list((tmp_path / "sky").glob("tasks/*"))
