"""What holds of the job files without any engine: their shell scripts and their size."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.cli.fleet.end import read_end
from suite.fingerprint import SUITE
from suite.host.machine.identity import SALT
from tests import twelve
from tests.commands import run
from tests.fakes.scripted_python import script
from tests.fleet.trials import OURS

pytestmark = pytest.mark.processes

Job = Callable[..., str]

ROOT = SUITE.parent
FLEET = ROOT / "fleet"
MOST_LINES = 1050
"""Of code and job files together: what is more should be an engine's own work."""


def tracked() -> list[Path]:
    done = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "fleet")
    assert done.returncode == 0, done.stderr
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
    assert run("sh", "-n", str(FLEET / name)).returncode == 0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkout without make, whose Python says with which words it was called, keeps the secret that it was
    given, waits for ../go, and ends as that says: with that status, and in the words of its second line."""
    folder = tmp_path / "checkout"
    shutil.copytree(FLEET, folder / "fleet")
    (folder / ".venv" / "bin").mkdir(parents=True)
    script(
        folder / ".venv" / "bin" / "python",
        'end() { printf "status %s\\n%s" "$1" "${2:+what $2}" 1<>"$CROSSOVER_ENDED"; exit "$1"; }\n'
        'trap "echo interrupted; end 130 interrupted" TERM\n'
        f'for word; do printf "[%s]" "$word"; done; echo\n'
        f'printf %s "${{{SALT}:-}}" >{tmp_path}/secret\n'
        f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done\n"
        f'end "$(sed -n 1p {tmp_path}/go)" "$(sed -n 2p {tmp_path}/go)"',
    )
    (folder / "Makefile").write_text(".venv/host.stamp:\n\t@true\n")
    return folder


def say(place: Path, program: str, *words: str) -> str:
    done = run("sh", str(place / "fleet" / program), *words)
    return done.stdout.strip() or f"{done.returncode} {done.stderr.strip()}"


def test_words_become_options_of_a_campaign_that_begins_or_goes_on(
    place: Path, tmp_path: Path
) -> None:
    """All of them: whether they fit the plan that is there is for the suite to say."""
    (tmp_path / "go").write_text("0")
    results = tmp_path / "results"
    words = ("PROFILE=smoke", "ONLY=matmul.* it's", "BASE_IMAGE=x=y", "BLOCKS=3")
    options = "[--profile][smoke][--only][matmul.* it's][--base-image][x=y][--blocks][3]"
    assert say(place, "bench", str(results), *words) == (
        f"[-m][suite][bench][--results][{results}]{options}"
    )
    (results / "x").mkdir(parents=True)
    (results / "x" / "campaign.json").touch()
    assert say(place, "bench", str(results), *words) == (
        f"[-m][suite][bench][--resume][{results}/x]{options}"
    )


def test_an_environment_that_can_not_be_made_is_told_with_what_make_said(
    place: Path, tmp_path: Path
) -> None:
    (place / "Makefile").write_text(
        ".venv/host.stamp:\n\t@echo ERROR: No matching distribution found for x >&2; exit 1\n"
    )
    said = say(place, "bench", str(tmp_path / "results"))
    assert said.startswith("3 ERROR: No matching distribution found for x")
    end = read_end(tmp_path / "results")
    assert end is not None
    assert end.status == 3
    assert end.reason is not None
    assert end.reason.what == "ERROR: No matching distribution found for x"
    assert "PIP_INDEX_URL" in end.reason.remedy


@pytest.mark.parametrize(
    ("go", "status"), [("0", 0), ("1", 0), ("1\nno room", 1), ("3\nno engine", 3), ("7\nslow", 7)]
)
def test_a_task_of_an_engine_succeeds_where_the_campaign_is_whole(
    go: str, status: int, place: Path, tmp_path: Path
) -> None:
    """1 alone is a whole campaign of which some cell failed; with a reason it is none."""
    (tmp_path / "go").write_text(go)
    results = str(tmp_path / "results")
    done = run("sh", str(place / "fleet" / "bench"), "--task", results, "BLOCKS=3")
    assert done.returncode == status, done.stderr
    assert f"[--results][{results}][--blocks][3]" in done.stdout


def test_the_first_process_of_a_container_passes_on_that_it_is_to_end(
    place: Path, tmp_path: Path
) -> None:
    words = ["sh", str(place / "fleet" / "bench"), "--task", str(tmp_path / "results")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as task:
        assert task.stdout is not None
        assert task.stdout.readline().startswith("[-m]")
        task.terminate()
        assert task.stdout.read() == "interrupted\n"
        assert task.wait() == 130


def test_the_doctor_is_asked_what_it_takes(place: Path, tmp_path: Path) -> None:
    (tmp_path / "go").write_text("0")
    said = say(place, "bench", "--doctor", "PROFILE=smoke", "ENGINE=local", "BLOCKS=3", "GPU=1")
    assert said == "[-m][suite][doctor][--engine][local][--gpu][1]"
    (tmp_path / "go").write_text("3\nengine: permission denied")
    done = run("sh", str(place / "fleet" / "bench"), "--doctor")
    assert (done.returncode, done.stderr) == (3, "crossover: engine: permission denied")


@pytest.mark.parametrize("word", ["RESUME=x", "RESULTS=x", "smoke"])
def test_words_that_do_not_go_are_refused(word: str, place: Path, tmp_path: Path) -> None:
    assert say(place, "bench", str(tmp_path / "results"), word).startswith("2 fleet/bench: ")


@pytest.fixture
def job(place: Path, tmp_path: Path) -> Job:
    """Asks something of the job whose folder is ``results``."""
    results = str(tmp_path / "results")
    return lambda what, *words: say(place, "job", what, results, *words)


def until(job: Job, wanted: str) -> None:
    while (found := job("state")) != wanted:
        assert found.startswith(("running", "none")), found
        time.sleep(0.05)


def test_a_job_is_begun_once_and_says_how_it_ended(job: Job, tmp_path: Path) -> None:
    assert job("state") == "none"
    assert job("start", "BLOCKS=3") == "started"
    assert job("state") == "running"
    assert job("start", "BLOCKS=3") == "it runs already"
    (tmp_path / "go").write_text("1")
    until(job, "ended 1")
    assert job("start") == "it is whole"
    log = (tmp_path / "results" / "job.log").read_text()
    assert log.count("[--blocks][3]") == 1


def test_a_job_on_an_unsound_machine_is_not_tried_again_but_without_stop_if(
    job: Job, tmp_path: Path
) -> None:
    (tmp_path / "go").write_text("7")
    assert job("start", "STOP_IF=unsound") == "started"
    until(job, "ended 7")
    log = tmp_path / "results" / "job.log"
    assert job("start", "BLOCKS=3", "STOP_IF=unsound").startswith("it is unsound")
    assert log.read_text().count("[suite]") == 1
    assert job("start", "BLOCKS=3") == "started"
    until(job, "ended 7")
    assert log.read_text().count("[suite]") == 2
    assert "[--stop-if][unsound]" in log.read_text()


def test_a_job_that_is_stopped_or_killed_is_begun_again(job: Job, tmp_path: Path) -> None:
    job("start")
    log = tmp_path / "results" / "job.log"
    while "[-m]" not in log.read_text():
        time.sleep(0.05)
    job("stop")
    until(job, "ended 130 interrupted")
    assert job("start") == "started"
    pid = int((tmp_path / "results" / "job.pid").read_text())
    parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    for number in (parent, pid):
        subprocess.run(["kill", f"-{int(signal.SIGKILL)}", str(number)], check=True)
    until(job, "lost")
    (tmp_path / "go").write_text("0")
    assert job("start") == "started"
    until(job, "ended 0")


def test_a_job_has_started_when_it_can_be_stopped(job: Job, place: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.mkdir()
    (results / "job.pid").touch()  # of a try that was killed while it wrote it
    script = place / "fleet" / "job"
    begins = 'sh "$here/bench" "$folder" "$@" &\n'
    assert begins in script.read_text()
    script.write_text(script.read_text().replace(begins, f"{begins}        sleep 1\n"))
    with subprocess.Popen(
        ["sh", script, "start", results], stdout=subprocess.PIPE, text=True
    ) as start:
        while not job("state").startswith("running"):
            time.sleep(0.05)
        assert not (results / "job.pid").exists()
        job("stop")
        assert start.communicate()[0] == "started\n"
    while (state := job("state")).startswith("running"):
        time.sleep(0.05)
    # Interrupted before it could say so, or after.
    assert state.startswith(("ended 130 interrupted", "ended 143"))


def list_commands() -> bytes:
    """The words of every process that there is."""
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            found += path.read_bytes()
    return found


def test_the_secret_lies_in_one_place_and_is_seen_in_no_command_and_no_file(
    job: Job, place: Path, tmp_path: Path
) -> None:
    (place / "fleet" / ".salt").write_text(f"{OURS}\n")
    results = tmp_path / "results"
    assert job("start", "BLOCKS=3") == "started"
    while "[-m]" not in (results / "job.log").read_text():
        time.sleep(0.05)
    commands = list_commands()
    (tmp_path / "go").write_text("0")
    until(job, "ended 0")
    assert (tmp_path / "secret").read_text() == OURS
    assert b"--blocks" in commands
    assert OURS.encode() not in commands
    assert not any(OURS in path.read_text() for path in results.iterdir())


def test_what_ends_with_a_reason_is_not_whole_and_what_gives_none_leaves_its_last_words(
    job: Job, place: Path, tmp_path: Path
) -> None:
    (tmp_path / "go").write_text("1\nno room")
    assert job("start") == "started"
    until(job, "ended 1 no room")
    assert job("start") == "started", "it goes on"
    until(job, "ended 1 no room")
    script(place / ".venv" / "bin" / "python", "echo Killed; kill -9 $$")
    assert job("start") == "started"
    while (state := job("state")).startswith("running"):
        time.sleep(0.05)
    assert state.startswith("ended 137 ")
    end = read_end(tmp_path / "results")
    assert end is not None
    assert end.reason is not None
    assert end.reason.what == "Killed"


def test_a_secret_of_the_environment_reaches_the_command_and_no_unit_of_systemds(
    job: Job, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "go").write_text("0")
    monkeypatch.setenv(SALT, OURS)
    say(place, "bench", str(tmp_path / "results"))
    assert (tmp_path / "secret").read_text() == OURS
    refused = job("start")
    assert refused == "2 fleet/job: CROSSOVER_SALT: keep the secret in fleet/.salt"


def test_a_container_is_given_the_words_and_the_secret(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the batch script too, which says the words of a node without one."""
    (place / "fleet" / ".salt").write_text(f"{OURS}\n")
    image = script(
        tmp_path / "image",
        f'echo "$@"; printf %s "${{{SALT}:-}}${{CONTAINER:-}}" >{tmp_path}/secret',
    )
    monkeypatch.setenv("CONTAINER", f"{image} --nv")
    words = "--nv sh /crossover/fleet/bench"
    assert say(place, "bench", "/results", "BLOCKS=3") == f"{words} /results BLOCKS=3 ENGINE=inside"
    assert (tmp_path / "secret").read_text() == OURS
    for name, value in slurm(place).items():
        monkeypatch.setenv(name, value)
    folder = place / "results" / "fleet" / "7-2"
    said = say(place, "slurm/bench.sbatch", "BLOCKS=3")
    assert said == f"{words} {folder} ENGINE=local BLOCKS=3 ENGINE=inside"


def slurm(place: Path) -> dict[str, str]:
    """What Slurm tells a task of an array."""
    return {
        "SLURM_SUBMIT_DIR": str(place),
        "SLURM_ARRAY_JOB_ID": "7",
        "SLURM_ARRAY_TASK_ID": "2",
        "SLURM_JOB_ID": "8",
    }


@pytest.mark.parametrize("status", [0, 1, None])
def test_figures_of_slurm_lie_there_where_it_keeps_accounts(
    status: int | None, place: Path, tmp_path: Path
) -> None:
    """None: there is no such program at all."""
    (tmp_path / "go").write_text("1")
    (tmp_path / "bin").mkdir()
    if status is not None:
        script(tmp_path / "bin" / "sacct", f"echo 'JobID|State'; exit {status}")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    batch = str(place / "fleet" / "slurm" / "bench.sbatch")
    done = run("sh", batch, "BLOCKS=3", env={"PATH": path, **slurm(place)})
    assert done.returncode == 1, "the campaign's own status"
    figures = place / "results" / "fleet" / "7-2" / "sacct.txt"
    assert figures.exists() == (status == 0)
    assert ("this cluster keeps no accounts" in done.stderr) == (status != 0)
    if status == 0:
        assert figures.read_text() == "JobID|State\n"


def test_machines_are_compared_by_the_folders_that_came_home(tmp_path: Path) -> None:
    """By the words of the page, beside the files that a job leaves."""
    for made in map(Path, twelve.write(tmp_path, "three-1", "three-2", "three-3", blocks=3)):
        host = tmp_path / "results" / "fleet" / f"host-of-{made.name}"
        host.mkdir(parents=True)
        made.rename(host / made.name)
        for left in ("job.log", "ended", "sacct.txt"):
            (host / left).touch()
    words = "$(echo results/fleet/*/*/)"
    assert f'make compare RUN="{words}"' in (ROOT / "docs" / "fleet.md").read_text()
    command = f'exec "$0" -m suite compare {words}'
    env = {"PYTHONPATH": str(ROOT)}
    done = run("sh", "-c", command, sys.executable, folder=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "A three.large; 3 instances (±5 % needs " in done.stdout
