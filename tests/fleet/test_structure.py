"""What holds of the job files without any engine: their shell scripts, the table of machines, their size."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.content import SUITE
from tests.fakes.scripted_python import script

pytestmark = pytest.mark.processes

ROOT = SUITE.parent
FLEET = ROOT / "fleet"
MOST_LINES = 900
"""Of code and job files together: what is more should be an engine's own work."""


def tracked() -> list[Path]:
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "fleet"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for line in done.stdout.splitlines() if (path := ROOT / line).exists()]


def test_the_job_files_stay_small_and_the_page_names_each() -> None:
    files = tracked()
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= MOST_LINES
    page = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    for path in files:
        if not path.name.startswith(".") and path.parent.name not in {
            "action_plugins",
            "callback_plugins",
        }:
            assert str(path.relative_to(ROOT)) in page, path


@pytest.mark.parametrize("name", ["bench", "job", "slurm/bench.sbatch"])
def test_every_script_is_a_shells(name: str) -> None:
    assert subprocess.run(["sh", "-n", FLEET / name], check=False).returncode == 0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkout without make, whose Python says with which words it was called and waits for ../go."""
    folder = tmp_path / "checkout"
    shutil.copytree(FLEET, folder / "fleet")
    (folder / ".venv" / "bin").mkdir(parents=True)
    script(
        folder / ".venv" / "bin" / "python",
        f'trap "echo interrupted; exit 130" TERM\n'
        f'for word; do printf "[%s]" "$word"; done; echo\n'
        f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done\n"
        f"exit $(cat {tmp_path}/go)",
    )
    (folder / "Makefile").write_text(".venv/host.stamp:\n")
    return folder


def say(place: Path, program: str, *words: str) -> str:
    done = subprocess.run(
        ["sh", place / "fleet" / program, *words], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or f"{done.returncode} {done.stderr.strip()}"


def test_words_become_options_and_a_plan_is_not_said_twice(place: Path, tmp_path: Path) -> None:
    (tmp_path / "go").write_text("0")
    results = tmp_path / "results"
    words = ("PROFILE=smoke", "ONLY=matmul.* it's", "BASE_IMAGE=x=y", "BLOCKS=3")
    assert say(place, "bench", str(results), *words) == (
        f"[-m][suite][bench][--results][{results}]"
        "[--profile][smoke][--only][matmul.* it's][--base-image][x=y][--blocks][3]"
    )
    (results / "x").mkdir(parents=True)
    (results / "x" / "campaign.json").touch()
    assert say(place, "bench", str(results), *words) == (
        f"[-m][suite][bench][--resume][{results}/x][--base-image][x=y][--blocks][3]"
    )
    (results / "survey").mkdir()
    (results / "survey" / "survey.json").touch()
    assert f"[--resume][{results}/survey]" in say(place, "bench", str(results))


def test_what_a_plan_says_is_what_the_command_refuses_beside_resume() -> None:
    code = (SUITE / "cli" / "commands" / "bench.py").read_text(encoding="utf-8")
    (planned,) = re.findall(r"planned = \((.*)\)", code)
    names = {name.upper() for name in re.findall(r'"(\w+)"', planned)} - {"RESULTS"}
    (left,) = re.findall(r"(PROFILE \|.*)\) continue", (FLEET / "bench").read_text())
    assert set(left.split(" | ")) == names


def test_the_doctor_is_asked_what_it_takes(place: Path, tmp_path: Path) -> None:
    (tmp_path / "go").write_text("0")
    said = say(place, "bench", "--doctor", "PROFILE=smoke", "ENGINE=local", "BLOCKS=3", "GPU=1")
    assert said == "[-m][suite][doctor][--engine][local][--gpu][1]"


@pytest.mark.parametrize("word", ["RESUME=x", "RESULTS=x", "smoke"])
def test_words_that_do_not_go_are_refused(word: str, place: Path, tmp_path: Path) -> None:
    assert say(place, "bench", str(tmp_path / "results"), word).startswith("2 fleet/bench: ")


def until(look: Callable[[], str], wanted: str) -> None:
    while (found := look()) != wanted:
        assert found.startswith(("running", "none")), found
        time.sleep(0.05)


def test_a_job_is_begun_once_and_says_how_it_ended(place: Path, tmp_path: Path) -> None:
    results = str(tmp_path / "results")
    assert say(place, "job", "state", results) == "none"
    assert say(place, "job", "start", results, "BLOCKS=3") == "started"
    assert say(place, "job", "state", results) == "running"
    assert say(place, "job", "start", results, "BLOCKS=3") == "it runs already"
    (tmp_path / "go").write_text("1")
    until(lambda: say(place, "job", "state", results), "ended 1")
    assert say(place, "job", "start", results) == "it is whole"
    log = (tmp_path / "results" / "job.log").read_text()
    assert log.count("[--blocks][3]") == 1


def test_a_job_on_an_unsound_machine_is_not_tried_again_but_without_stop_if(
    place: Path, tmp_path: Path
) -> None:
    results = str(tmp_path / "results")
    (tmp_path / "go").write_text("7")
    assert say(place, "job", "start", results, "STOP_IF=unsound") == "started"
    until(lambda: say(place, "job", "state", results), "ended 7")
    log = tmp_path / "results" / "job.log"
    assert say(place, "job", "start", results, "BLOCKS=3", "STOP_IF=unsound").startswith(
        "it is unsound"
    )
    assert log.read_text().count("[suite]") == 1
    assert say(place, "job", "start", results, "BLOCKS=3") == "started"
    until(lambda: say(place, "job", "state", results), "ended 7")
    assert log.read_text().count("[suite]") == 2
    assert "[--stop-if][unsound]" in log.read_text()


def test_a_job_that_is_stopped_or_killed_is_begun_again(place: Path, tmp_path: Path) -> None:
    results = str(tmp_path / "results")
    say(place, "job", "start", results)
    log = tmp_path / "results" / "job.log"
    while "[-m]" not in log.read_text():
        time.sleep(0.05)
    say(place, "job", "stop", results)
    until(lambda: say(place, "job", "state", results), "ended 130")
    assert say(place, "job", "start", results) == "started"
    pid = int((tmp_path / "results" / "job.pid").read_text())
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    for number in (parent, pid):
        subprocess.run(["kill", f"-{int(signal.SIGKILL)}", str(number)], check=True)
    until(lambda: say(place, "job", "state", results), "lost")
    (tmp_path / "go").write_text("0")
    assert say(place, "job", "start", results) == "started"
    until(lambda: say(place, "job", "state", results), "ended 0")


TABLE = """
[h100]
accelerators = "H100:1"
infra = ["aws", "gcp"]
spot = true
instances = 2
[cpu-16]
cpus = "16"
bench = "PROFILE=standard ONLY='matmul.*'"
"""


def make_tasks(table: Path | str, folder: Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    for name in ("bench.yaml", "tasks.py"):
        shutil.copy(FLEET / "skypilot" / name, folder)
    words = [sys.executable, str(folder / "tasks.py"), str(table)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_each_row_of_machines_becomes_a_task(tmp_path: Path) -> None:
    (tmp_path / "machines.toml").write_text(TABLE)
    done = make_tasks(tmp_path / "machines.toml", tmp_path / "sky")
    assert (done.returncode, done.stderr) == (0, "")
    names = [line.split(" -n ")[1].split()[0] for line in done.stdout.splitlines()]
    assert names == ["h100-1", "h100-2", "cpu-16-1"]
    h100 = (tmp_path / "sky" / "tasks" / "h100.yaml").read_text()
    assert "\nname: crossover-h100\n" in h100
    assert '"any_of": [{"infra": "aws", "accelerators": "H100:1"}, {"infra": "gcp",' in h100
    assert '"use_spot": true' in h100
    assert "L4" not in h100
    assert "matmul" in (tmp_path / "sky" / "tasks" / "cpu-16.yaml").read_text()


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("[a]\ngpus = 1", "[a] gpus: known are infra"),
        ("[a]\ncpus = 16", "[a] cpus = 16: a str is wanted"),
        ("[a]\nspot = true", "[a]: give accelerators"),
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
    assert "what to do: MACHINES=" in done.stderr
    assert not list((tmp_path / "sky").glob("tasks/*"))
