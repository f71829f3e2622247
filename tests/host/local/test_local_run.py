"""A worker as a plain process: its lines, its end, and nothing left of it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.engine import Volume
from suite.host.local import run as local_run
from suite.host.local.run import LocalRun, LocalVolumes
from suite.host.machine.machine import own_token
from tests.fakes.docker_api import make_job

pytestmark = [pytest.mark.processes, pytest.mark.usefixtures("place")]

SLEEPS = "import time; print('up', flush=True); time.sleep(60)"


def run(code: str) -> LocalRun:
    return LocalRun([sys.executable, "-c", code], {})


def lines(run: LocalRun) -> list[str]:
    return list(iter(lambda: run.next_line(30), None))


def test_a_run_gives_its_lines_and_its_end_and_litters_its_own_folder_alone(place: Path) -> None:
    began = time.monotonic()
    worker = run(
        "import os, sys; print(os.getcwd(), os.environ['TMPDIR'], os.environ['HOME']); print('two');"
        "sys.stderr.write('x' * 100_000 + 'the end'); sys.exit(3)"
    )
    places, second = lines(worker)
    assert all(Path(one).is_relative_to(place) for one in places.split())
    assert second == "two"
    ending = worker.close()
    assert (ending.code, ending.phrase) == (3, "exit code 3")
    # Only the end of a long diary is kept.
    assert len(ending.diary) == 16 * 1024
    assert ending.diary.endswith("the end")
    assert worker.close() is ending
    assert worker._process.stdout is not None
    assert worker._process.stdout.closed
    assert began <= ending.ended <= time.monotonic()
    assert not list(place.iterdir())


def test_waiting_ends_in_time_and_a_stopped_run_says_so() -> None:
    worker = run(SLEEPS)
    assert worker.next_line(30) == "up"
    with pytest.raises(TimeoutError):
        worker.next_line(0.05)
    worker.stop()
    assert worker.next_line(30) is None
    ending = worker.close()
    assert (ending.code, ending.phrase) == (137, "killed by SIGKILL")
    worker.stop()


def test_closing_a_run_that_goes_on_kills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "UNREAD_GRACE_S", 0.1)
    assert run(SLEEPS).close().code == 137


def test_what_the_worker_started_goes_with_it() -> None:
    worker = run(
        "import subprocess, time\n"
        "print(subprocess.Popen(['sleep', '60']).pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    child = int(worker.next_line(30) or 0)
    worker.stop()
    worker.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return
        time.sleep(0.01)
    pytest.fail("the worker's child outlived it")


@pytest.mark.parametrize("leave", ["pass", "os.setsid()"])
def test_a_worker_that_ends_before_what_it_started_is_not_waited_for(leave: str) -> None:
    worker = run(
        "import os, sys, time\n"
        f"if os.fork() == 0: {leave}; time.sleep(20)\n"
        "print('x' * 100_000 + '\\nlast', flush=True); os._exit(1)"
    )
    assert [len(line) for line in lines(worker)] == [100_000, 4]
    ending = worker.close()
    assert (ending.code, ending.left) == (1, "")


def test_a_crash_is_named_by_its_signal() -> None:
    worker = run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert lines(worker) == []
    assert worker.close().phrase.startswith("killed by SIGSEGV")


def test_what_cannot_be_started_leaves_nothing(place: Path) -> None:
    with pytest.raises(EngineError, match="could not be started"):
        LocalRun(["/no/such/program"], {})
    assert not list(place.iterdir())


def test_folders_of_the_dead_are_swept_and_no_others(place: Path) -> None:
    volume = Volume(name="v", target="/v", variable="V", purpose="scratch")
    worker, volumes = run("input()"), LocalVolumes(place)
    volumes.variables(make_job(volumes=(volume,)))
    signed = [path.read_text() for path in place.glob("crossover-*/owner")]
    assert signed == [own_token()] * 2
    for kind in ("run", "volume"):
        for name in ("dead", "strange"):
            (place / f"crossover-{kind}-{name}").mkdir()
        dead = signed[0].rpartition("|")[0] + "|4194999@1"
        (place / f"crossover-{kind}-dead/owner").write_text(dead)
    assert local_run.sweep() == 2
    worker.close()
    volumes.remove(volume)
    strange = {"crossover-run-strange", "crossover-volume-strange"}
    assert {path.name for path in place.iterdir()} == strange
