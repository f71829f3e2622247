"""Runs in a real engine: limits that hold, endings that are told, nothing left behind."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any

import pytest

from suite.errors import EngineError
from suite.host.docker.engine import DockerEngine
from suite.host.docker.run import USER
from suite.host.engine import LABEL
from tests.engine.conftest import Jobs, bare

ABOUT = """
import json, os, pathlib
def tries(path):
    try:
        pathlib.Path(path).write_text("x")
    except OSError as error:
        return error.strerror
    return "written"
status = dict(
    line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines()
)
print(json.dumps({
    "user": f"{os.getuid()}:{os.getgid()}",
    "cpus": sorted(os.sched_getaffinity(0)),
    "interfaces": sorted(p.name for p in pathlib.Path("/sys/class/net").iterdir()),
    "root": tries("/x"),
    "tmp": tries("/tmp/x"),
    "home": tries("/home/crossover/x"),
    "capabilities": int(status["CapEff"], 16),
    "privileges": status["NoNewPrivs"].strip(),
    "init": pathlib.Path("/proc/1/comm").read_text().strip(),
    "word": os.environ["WORD"],
}))
"""


def test_the_worker_gets_its_limits(jobs: Jobs) -> None:
    cpu = jobs.engine.cpus()[-1]
    lines, ending = jobs.run(ABOUT, cpus=(cpu,), environment={"WORD": "said"})
    assert ending.code == 0, ending.diary
    about = json.loads(lines[0])
    assert about == {
        "user": USER,
        "cpus": [cpu],
        "interfaces": ["lo"],
        "root": "Read-only file system",
        "tmp": "written",
        "home": "written",
        "capabilities": 0,
        "privileges": "1",
        "init": about["init"],
        "word": "said",
    }
    assert "python" not in about["init"]


def test_lines_come_as_they_are_written_and_whole(jobs: Jobs) -> None:
    code = (
        "import sys, time\n"
        "print('first', flush=True)\n"
        "time.sleep(1)\n"
        "print('x' * 300_000)\n"
        "print('diary', file=sys.stderr)\n"
        "print('last', end='')\n"
    )
    with closing(jobs.start(code)) as run:
        assert run.next_line(60) == "first"
        with pytest.raises(TimeoutError):
            run.next_line(0.1)
        assert run.next_line(60) == "x" * 300_000
        assert run.next_line(60) == "last"
        assert run.next_line(60) is None
        assert run.next_line(60) is None
        ending = run.close()
    assert (ending.code, ending.diary) == (0, "diary\n")
    assert run.close() is ending


@pytest.mark.parametrize(
    ("code", "exit_code", "phrase"),
    [
        ("raise SystemExit(7)", 7, "exit code 7"),
        ("import os; os.kill(os.getpid(), 11)", 139, "killed by SIGSEGV"),
        ("import os; os.kill(os.getpid(), 4)", 132, "killed by SIGILL"),
        ("import os; os.abort()", 134, "killed by SIGABRT"),
    ],
)
def test_an_ending_is_told(jobs: Jobs, code: str, exit_code: int, phrase: str) -> None:
    _, ending = jobs.run(code)
    assert ending.code == exit_code
    assert ending.phrase.startswith(phrase)
    assert "out of memory" not in ending.phrase


def test_memory_over_the_limit_is_told_from_other_ends(jobs: Jobs) -> None:
    lines, ending = jobs.run(
        "print('up', flush=True); x = bytearray(400 * 2**20); print('not reached')",
        memory_bytes=100 * 2**20,
    )
    assert lines == ["up"]
    assert "out of memory" in ending.phrase
    assert ending.phrase == "out of memory (limit 0.10 GiB)"


def test_a_container_killed_from_outside_ends_the_stream(jobs: Jobs, api: Any) -> None:
    with closing(jobs.begin()) as run:
        api.kill(run.id)
        assert run.next_line(60) is None
        ending = run.close()
    assert (ending.code, ending.phrase) == (137, "killed by SIGKILL")


def test_a_container_removed_from_outside_is_told(jobs: Jobs, api: Any) -> None:
    run = jobs.begin()
    api.remove_container(run.id, force=True)
    assert run.next_line(60) is None
    run.stop()
    ending = run.close()
    assert (ending.phrase, ending.diary) == ("its container was removed by someone else", "")


def test_a_stop_ends_it_and_a_close_kills_what_goes_on(jobs: Jobs) -> None:
    for stop in (True, False):
        run = jobs.begin()
        if stop:
            run.stop()
        begun = time.monotonic()
        assert run.close().code == 137
        assert time.monotonic() - begun < 30
        run.stop()


def test_an_unknown_image_is_refused_and_not_pulled(jobs: Jobs) -> None:
    with pytest.raises(EngineError, match="no image") as caught:
        jobs.start("pass", image=bare("crossover/none:none"))
    assert caught.value.remedy


def test_only_what_the_dead_left_is_swept(jobs: Jobs, api: Any) -> None:
    alive = jobs.begin()
    owner = api.inspect_container(alive.id)["Config"]["Labels"][f"{LABEL}.owner"]
    dead = api.create_container(
        jobs.image.id,
        command=["python3"],
        labels={
            LABEL: "run",
            jobs.label: jobs.session,
            f"{LABEL}.owner": owner.rpartition("|")[0] + "|4194999@1",
        },
    )["Id"]
    assert jobs.engine.sweep_leftovers() >= 1
    assert jobs.left() == [alive.id]
    assert dead not in jobs.left()
    alive.close()
    assert jobs.left() == []


def test_the_engine_says_what_it_is_without_saying_where(engine: DockerEngine) -> None:
    described = engine.describe()
    assert described["version"]
    assert described["endpoint.kind"] in ("unix", "tcp", "ssh")
    assert not [v for v in described.values() if isinstance(v, str) and "://" in v]
    assert engine.cpus()
    assert engine.memory_bytes()
