"""The local engine with a script in the worker's place: real processes, no TensorFlow."""

from __future__ import annotations

import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from suite.errors import EngineError, NoGpuError, UsageError
from suite.host.engine import Card, Job, Volume
from suite.host.gpu import request as gpu
from suite.host.gpu.choice import VISIBLE
from suite.host.local import engine as local_engine
from suite.host.local.engine import LocalEngine
from suite.host.local.environment import Interpreter
from suite.host.provision.image_table import read_specs
from suite.model import Image
from tests.fakes.engine import fake_image
from tests.fakes.scripted_python import stand_in

pytestmark = pytest.mark.processes


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """An interpreter that says it has TensorFlow and echoes its arguments in the worker's place."""
    return stand_in(
        tmp_path / "python", """sh -c 'echo "worker $*"; taskset -cp $$; env | sort' sh"""
    )


def job(image: Image, **changes: object) -> Job:
    return Job(**{"image": image, "arguments": (), "cpus": (), **changes})  # type: ignore[arg-type]


def run(engine: LocalEngine, asked: Job) -> list[str]:
    """The lines of a worker that goes well."""
    worker = engine.start(asked)
    found = list(iter(lambda: worker.next_line(30), None))
    assert worker.close().code == 0
    return found


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
    asked = job(image, arguments=("measure", "x"), cpus=(cpu,), environment={"TF_X": "1"})
    first, second, *others = run(engine, asked)
    assert first == "worker measure x"
    assert second.endswith(f"affinity list: {cpu}")
    environment = dict(line.partition("=")[::2] for line in others)
    assert environment["TF_X"] == "1"
    assert environment["PYTHONPATH"].endswith(f"{os.pathsep}/extra")
    assert "SECRET" not in environment


def test_an_engine_describes_itself_without_names_or_paths(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", f"/home/somebody{os.pathsep}/extra")
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("CUDA_CACHE_PATH", "/home/somebody/cache")
    facts = LocalEngine(python=str(python)).describe()
    assert str(facts["python_path"]).startswith("2 folders, sha256:")
    assert "somebody" not in str(facts)
    assert facts["library_path"] is None
    assert facts["CUDA_CACHE_PATH"] == "not the caller's"
    monkeypatch.setenv("PYTHONPATH", "/extra")
    assert LocalEngine(python=str(python)).describe()["python_path"] != facts["python_path"]
    described = LocalEngine().describe()
    assert described["memory_limit"] == "not enforced"
    assert not [v for v in described.values() if isinstance(v, str) and "/" in v]


def test_the_gpu_is_shown_to_the_worker_by_name(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "machine_gpus", lambda _root: ("nvidia0", "nvidia1"))
    engine = LocalEngine(python=str(python))
    image = engine.provide("cuda", lambda _: None)
    assert "CUDA_VISIBLE_DEVICES=1" in run(engine, job(image, gpu=engine.find_gpu("1")))
    monkeypatch.setattr(gpu, "machine_gpus", lambda _root: ())
    with pytest.raises(NoGpuError):
        engine.find_gpu("0")


def test_path_is_the_callers_own(python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which compiler comes first on it the worker sees to, in a container as well (`test_libraries`)."""
    monkeypatch.setenv("PATH", f"/usr/local/cuda/bin{os.pathsep}{os.environ['PATH']}")
    engine = LocalEngine(python=str(python))
    assert f"PATH={os.environ['PATH']}" in run(engine, job(engine.provide("cuda", print)))
    # Without one of theirs the system's own is left.
    monkeypatch.delenv("PATH")
    assert engine._environment(job(fake_image("cpu")))["PATH"] == os.defpath


def test_one_that_was_looked_at_can_be_started_as_the_doctor_does(python: Path) -> None:
    engine = LocalEngine(python=str(python))
    image = engine.take_stock("cpu").image
    assert image == "cpu-local-python"
    assert run(engine, job(replace(fake_image("cpu"), id=image)))


def test_one_interpreter_is_no_two_versions_and_takes_a_setting(python: Path) -> None:
    engine = LocalEngine(python=str(python))
    for ask in (engine.take_stock, lambda name: engine.demand(["cpu", name], print)):
        with pytest.raises(UsageError, match=r"cpu@2\.20 is to be that of docker/cpu-2\.20\.txt"):
            ask("cpu@2.20")
    plain, without = (engine.provide(name, print) for name in ("cpu", "cpu@onednn-off"))
    assert without.id == "cpu-onednn-off-local-python"
    assert "TF_ENABLE_ONEDNN_OPTS=1" in run(engine, job(plain))
    assert "TF_ENABLE_ONEDNN_OPTS=0" in run(engine, job(without))


def test_arms_of_one_lock_share_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    found = Interpreter(path=tmp_path / "python", title="CPython 3.11.9", version=(3, 11, 9))
    monkeypatch.setattr(local_engine, "find_interpreter", lambda *_: found)
    monkeypatch.setattr(local_engine, "make_environment", lambda name, *_: made.append(name))
    engine = LocalEngine(home=tmp_path)
    names = ("cpu", "cpu@onednn-off", "cpu@2.15")
    engine.demand(names, print)
    plain, without, old = (engine.provide(name, print) for name in names)
    assert made == ["cpu", "cpu", "cpu-2.15"]
    assert engine._pythons[plain.id] == engine._pythons[without.id]
    assert engine._pythons[plain.id] != engine._pythons[old.id]
    assert without.id == plain.id.replace("cpu-", "cpu-onednn-off-")
    assert old.lock.startswith("cpu-2.15.txt@sha256:")


def test_a_wheel_without_this_processor_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Interpreter(path=tmp_path / "python", title="CPython 3.11.9", version=(3, 11, 9))
    monkeypatch.setattr(local_engine, "find_interpreter", lambda *_: found)
    monkeypatch.setattr(local_engine.platform, "machine", lambda: "riscv64")
    with pytest.raises(
        EngineError, match=r"riscv64: TensorFlow .* the arm cpu runs, has no wheel for it"
    ):
        LocalEngine(home=tmp_path).demand(["cpu"], print)
    assert not list(tmp_path.iterdir())


def test_it_says_what_it_would_make(tmp_path: Path) -> None:
    engine = LocalEngine(home=tmp_path / "arms")
    try:
        stock = engine.take_stock("cpu")
    except EngineError as error:
        assert "LOCAL_PYTHON" in error.remedy  # noqa: PT017 - either answer is right here
        return
    assert (stock.image, stock.base_here) == (None, True)
    assert "Python" in stock.base
    assert stock.room_bytes == read_specs()["cpu"].free_bytes
    assert not (tmp_path / "arms").exists()
    assert engine.data_root == str(tmp_path / "arms")
    assert engine.has_probe_image()
    assert engine.reach_base("") is True
    assert engine.gpu_support().devices == ()


def test_every_gpu_means_those_that_the_shell_may_see(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = (Card(index=0), Card(index=1), Card(index=2))
    monkeypatch.setattr(local_engine, "machine_cards", lambda: cards)
    monkeypatch.delenv(VISIBLE, raising=False)
    assert LocalEngine().list_gpus() == cards
    monkeypatch.setenv(VISIBLE, "2,0")
    assert LocalEngine().list_gpus() == (cards[0], cards[2])
    monkeypatch.setenv(VISIBLE, "")
    assert LocalEngine().list_gpus() == ()


def test_in_a_job_of_slurms_the_machine_is_somebody_elses(
    python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert LocalEngine(str(python)).kind == "local"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert LocalEngine(str(python)).kind == "inside"


def test_a_scripts_folder_data_and_packages_are_there_for_the_worker(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = stand_in(tmp_path / "python", "sh -c 'env | sort; cat $CROSSOVER_SCRIPT/far/x' sh")
    monkeypatch.setattr(local_engine, "make_packages", lambda *_: tmp_path / "packages-1")
    lock, data = tmp_path / "lock.txt", tmp_path / "data"
    lock.write_text("six==1 --hash=sha256:0\n")
    data.mkdir()
    (data / "x").write_text("numbers\n")
    engine = LocalEngine(python=str(python), home=tmp_path / "home")
    image = engine.provide("cpu", lambda _: None, packages=lock)
    assert "with the packages of lock.txt@sha256:" in image.origin
    script = Volume(name="s", target="/s", variable="CROSSOVER_SCRIPT", purpose="script")
    own = Volume(name="d", target="/d", variable="DATA", purpose="data", folder=data)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        link = tarfile.TarInfo("far")
        link.type, link.linkname = tarfile.SYMTYPE, str(data)
        tar.addfile(link)
    engine.fill(script, archive.getvalue(), image)
    *variables, held = run(engine, job(image, volumes=(script, own)))
    told = dict(line.partition("=")[::2] for line in variables)
    assert held == "numbers"
    assert told["DATA"] == str(data)
    assert told["PYTHONPATH"].endswith(f":{tmp_path}/packages-1")
    for volume in (script, own):
        engine.remove_volume(volume)
    # A person's own folder is nobody's to remove.
    assert (data / "x").exists()
    assert not list(place.glob("crossover-volume-*"))
    # Without the lock nothing of it is there.
    assert "packages-1" not in str(engine._environment(job(engine.provide("cpu", lambda _: None))))
