"""The local engine with scripts in the worker's place: real processes, no TensorFlow."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.errors import EngineError, GpuError, NoGpuError
from suite.host.engine import GpuRequest, Job
from suite.host.gpu import request as gpu
from suite.host.local import environment as local_environment
from suite.host.local import run as local_run
from suite.host.local.engine import LocalEngine
from suite.host.local.environment import find_interpreter, given_interpreter, make_environment
from suite.host.local.run import LocalRun, sweep_folders
from tests.fakes.engine import fake_image
from tests.fakes.pip_words import PIP_MEANS, PIP_SAYS

# The guard against subprocesses in unit tests does not hold here: they are the subject.
pytestmark = pytest.mark.processes


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs make their folders."""
    place = tmp_path / "runs"
    place.mkdir()
    monkeypatch.setattr(local_run.tempfile, "tempdir", str(place))
    return place


def run(code: str, **environment: str) -> LocalRun:
    return LocalRun([sys.executable, "-c", code], environment)


def lines(run: LocalRun) -> list[str]:
    found = []
    while (line := run.next_line(30)) is not None:
        found.append(line)
    return found


def script(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter that says it has TensorFlow and echoes its arguments in the worker's place."""
    return script(
        tmp_path / "python",
        "#!/bin/sh\n"
        'case "$2" in\n'
        "  *python_implementation*) echo CPython 3.12.1 ;;\n"
        "  *find_spec*) exit 0 ;;\n"
        '  *) shift 2; echo "worker $*"; taskset -cp $$; env | sort ;;\n'
        "esac\n",
    )


def test_a_run_gives_its_lines_and_its_end(folders: Path) -> None:
    worker = run(
        "import sys; print('one'); print('two'); print('diary', file=sys.stderr); sys.exit(3)"
    )
    assert lines(worker) == ["one", "two"]
    ending = worker.close()
    assert (ending.code, ending.phrase, ending.diary) == (3, "exit code 3", "diary\n")
    assert worker.close() is ending
    assert ending.ended >= worker.started
    assert not list(folders.iterdir())


def test_waiting_ends_in_time_and_a_stopped_run_says_so() -> None:
    worker = run("import time; print('up', flush=True); time.sleep(60)")
    assert worker.next_line(30) == "up"
    with pytest.raises(TimeoutError):
        worker.next_line(0.05)
    worker.stop()
    assert worker.next_line(30) is None
    ending = worker.close()
    assert (ending.code, ending.phrase) == (137, "killed by SIGKILL")
    worker.stop()


def test_closing_a_run_that_goes_on_kills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "_UNREAD_GRACE_S", 0.1)
    worker = run("import time; time.sleep(60)")
    assert worker.close().code == 137


def test_what_the_worker_started_goes_with_it() -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    worker = run(code)
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


def test_a_crash_is_named_by_its_signal() -> None:
    worker = run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert lines(worker) == []
    assert worker.close().phrase.startswith("killed by SIGSEGV")


def test_only_the_end_of_a_long_diary_is_kept() -> None:
    worker = run("import sys; sys.stderr.write('x' * 100_000 + 'the end')")
    assert lines(worker) == []
    diary = worker.close().diary
    assert len(diary) == 16 * 1024
    assert diary.endswith("the end")


def test_the_worker_litters_only_its_own_folder(folders: Path) -> None:
    worker = run("import os; print(os.getcwd(), os.environ['TMPDIR'], os.environ['HOME'])")
    (said,) = lines(worker)
    assert all(Path(place).is_relative_to(folders) for place in said.split())
    worker.close()


def test_what_cannot_be_started_leaves_nothing(folders: Path) -> None:
    with pytest.raises(EngineError, match="could not be started"):
        LocalRun(["/no/such/program"], {})
    assert not list(folders.iterdir())


def test_folders_of_the_dead_are_swept(folders: Path) -> None:
    worker = run("input()")
    dead = folders / "crossover-run-dead"
    dead.mkdir()
    token = next(folders.glob("crossover-run-*/owner")).read_text()
    (dead / "owner").write_text(token.rpartition("|")[0] + "|4194999@1")
    (folders / "crossover-run-strange").mkdir()
    assert sweep_folders() == 1
    assert not dead.exists()
    worker.close()
    assert [p.name for p in folders.iterdir()] == ["crossover-run-strange"]


def test_a_given_interpreter_runs_the_worker_on_its_cpus(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/extra")
    monkeypatch.setenv("SECRET", "not for the worker")
    engine = LocalEngine(python=str(python))
    said: list[str] = []
    image = engine.provide("cpu", said.append)
    assert image.lock == "not from the lock"
    assert "CPython 3.12.1" in image.base
    assert "LOCAL_PYTHON" in said[0]
    cpu = engine.cpus()[-1]
    worker = engine.start(
        Job(image=image, arguments=("measure", "x"), cpus=(cpu,), environment={"TF_X": "1"})
    )
    out = lines(worker)
    assert worker.close().code == 0
    assert out[0] == "worker measure x"
    assert out[1].endswith(f"affinity list: {cpu}")
    environment = dict(line.partition("=")[::2] for line in out[2:])
    assert environment["TF_X"] == "1"
    assert environment["PYTHONPATH"].endswith(f"{os.pathsep}/extra")
    assert "SECRET" not in environment


def test_the_search_paths_of_a_given_interpreter_are_recorded_without_their_names(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"/home/somebody{os.pathsep}/extra")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    facts = LocalEngine(python=str(python)).describe()
    assert str(facts["python_path"]).startswith("2 folders, sha256:")
    assert "somebody" not in str(facts)
    assert facts["library_path"] is None
    monkeypatch.setenv("PYTHONPATH", "/extra")
    assert LocalEngine(python=str(python)).describe()["python_path"] != facts["python_path"]
    assert "python_path" not in LocalEngine().describe()


def test_the_gpu_is_shown_to_the_worker_by_name(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "machine_gpus", lambda _root: ("nvidia0", "nvidia1"))
    engine = LocalEngine(python=str(python))
    image = engine.provide("cuda", lambda _line: None)
    request = engine.find_gpu("1")
    worker = engine.start(Job(image=image, arguments=(), cpus=(), gpu=request))
    assert "CUDA_VISIBLE_DEVICES=1" in lines(worker)
    worker.close()
    with pytest.raises(GpuError):
        engine.start(
            Job(image=image, arguments=(), cpus=(), gpu=GpuRequest(driver="cdi", devices=("x",)))
        )


@pytest.mark.parametrize("named", ["cuda", "cpu"])
def test_path_is_the_callers_own_whatever_the_environment_has(
    tmp_path: Path, python: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    """Which compiler comes first on it the worker sees to, in a container as well (`test_libraries`)."""
    given = f"{tmp_path / 'usr/local/cuda/bin'}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", given)
    home = tmp_path / "arms/cuda"
    (home / "bin").mkdir(parents=True)
    own = home / "bin/python"
    python.rename(own)
    compilers = home / "lib/python3.13/site-packages/nvidia/cuda_nvcc/bin"
    compilers.mkdir(parents=True)
    script(compilers / "ptxas", "#!/bin/sh\n")
    engine = LocalEngine(python=str(own))
    image = engine.provide(named, lambda _line: None)
    worker = engine.start(Job(image=image, arguments=(), cpus=()))
    (found,) = [line for line in lines(worker) if line.startswith("PATH=")]
    worker.close()
    assert found == f"PATH={given}"


def test_without_a_path_of_the_callers_the_systems_own_is_left(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PATH")
    engine = LocalEngine(python=str(python))
    job = Job(image=fake_image("cpu"), arguments=(), cpus=())
    assert engine._environment(job)["PATH"] == os.defpath


def test_a_machine_without_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "machine_gpus", lambda _root: ())
    with pytest.raises(NoGpuError):
        LocalEngine().find_gpu("0")


def test_an_unknown_environment_is_refused(python: Path) -> None:
    engine = LocalEngine(python=str(python))
    image = engine.provide("cpu", lambda _line: None)
    other = LocalEngine(python=str(python))
    with pytest.raises(EngineError, match="cpu-local-python"):
        other.start(Job(image=image, arguments=(), cpus=()))


def test_the_engine_describes_itself_without_names_or_paths() -> None:
    described = LocalEngine().describe()
    assert described["memory_limit"] == "not enforced"
    assert not [v for v in described.values() if isinstance(v, str) and "/" in v]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\nexit 1\n", "does not run"),
        ("#!/bin/sh\necho nonsense\n", "does not run"),
        ("#!/bin/sh\necho CPython 3.10.2\n", "needs 3.11"),
        (
            "#!/bin/sh\ncase $2 in *find_spec*) exit 1;; esac; echo CPython 3.12.2\n",
            "no TensorFlow",
        ),
    ],
)
def test_an_unfit_interpreter_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(EngineError, match=said) as caught:
        given_interpreter(script(tmp_path / "python", text))
    assert caught.value.remedy
    assert caught.value.exit_status == 3


def test_the_running_interpreter_comes_first_and_then_those_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = script(tmp_path / "old", "#!/bin/sh\necho CPython 3.10.2\n")
    monkeypatch.setattr(local_environment.sys, "_base_executable", str(old))
    with pytest.raises(EngineError, match=r"python3\.13") as caught:
        find_interpreter(str(tmp_path))
    assert "LOCAL_PYTHON" in caught.value.remedy
    for version in ("3.11", "3.12"):
        script(tmp_path / f"python{version}", f"#!/bin/sh\necho CPython {version}.9\n")
    monkeypatch.setattr(local_environment, "look_at", look_by_words)
    assert find_interpreter(str(tmp_path)).version == (3, 12, 9)


def look_by_words(path: Path) -> local_environment.Interpreter | None:
    title = path.read_text().splitlines()[1].removeprefix("echo ")
    version = tuple(int(n) for n in title.split()[1].split("."))
    return local_environment.Interpreter(path=path, title=title, version=version)


VENV = """#!/bin/sh
# Stands for `python -m venv FOLDER`: makes a python there that logs what pip is asked.
echo made >> {log}
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "pip $*" >> {log}; cat {says}; exit {code}\\n' > "$3/bin/python"
chmod +x "$3/bin/python"
"""


def environment_maker(
    tmp_path: Path, code: int, said: list[str] | None = None
) -> Callable[[], Path]:
    lock = tmp_path / "cpu.txt"
    lock.write_text("numpy==1 --hash=sha256:0\n")
    python = script(
        tmp_path / "python", VENV.format(log=tmp_path / "log", says=tmp_path / "says", code=code)
    )
    interpreter = local_environment.Interpreter(
        path=python, title="CPython 3.13.5", version=(3, 13, 5)
    )
    (tmp_path / "says").write_text("\n".join([*PIP_SAYS, ""]))
    say = ([] if said is None else said).append
    return lambda: make_environment("cpu", lock, interpreter, tmp_path / "arms", say)


def test_making_an_environment_is_told_in_our_words_and_not_in_pips(tmp_path: Path) -> None:
    said: list[str] = []
    environment_maker(tmp_path, 0, said)()
    assert said[0].startswith("environment cpu: making cpu-")
    assert [line.removeprefix("environment cpu: ") for line in said[1:]] == PIP_MEANS


def test_where_pip_fails_its_own_words_are_shown_whole(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as caught:
        environment_maker(tmp_path, 1)()
    assert "\n".join(PIP_SAYS) in caught.value.what


def test_an_environment_is_made_once_from_the_hashes(tmp_path: Path) -> None:
    make = environment_maker(tmp_path, code=0)
    folder = make()
    assert make() == folder
    made, pip = (tmp_path / "log").read_text().splitlines()
    assert made == "made"
    for flag in ("--require-hashes", "--no-deps", "--only-binary=:all:"):
        assert flag in pip
    (tmp_path / "cpu.txt").write_text("numpy==2 --hash=sha256:0\n")
    assert make() != folder


def test_an_interrupted_environment_is_made_anew(tmp_path: Path) -> None:
    make = environment_maker(tmp_path, code=0)
    (make() / "complete").unlink()
    make()
    assert (tmp_path / "log").read_text().count("made") == 2


def test_no_fitting_wheel_names_the_ways_out(tmp_path: Path) -> None:
    make = environment_maker(tmp_path, code=1)
    with pytest.raises(EngineError, match="exit code 1") as caught:
        make()
    for way in ("docker", "LOCAL_PYTHON", "PATH"):
        assert way in caught.value.remedy
    with pytest.raises(EngineError):
        make()
