"""A run in a process of its own: how it ends, and what is said where something private is missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker import __main__ as worker
from suite.worker.why import names, server
from suite.worker.why.run import Place, ScriptRun, Task
from tests.fakes.device import install

GONE = {"gone": "suite.worker.why.same:nothing", "nowhere": "nowhere.at_all:Thing.method"}


class Thing:
    @staticmethod
    def double(x: int) -> int:
        return 2 * x


def test_a_patch_goes_around_what_is_there_and_says_where_nothing_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names, "NAMES", {**GONE, "double": f"{__name__}:Thing.double"})
    monkeypatch.setattr(Thing, "double", Thing.__dict__["double"])
    for _ in range(2):
        assert names.patch("double", lambda original: lambda x: 1 + original(x))
    assert (Thing.double(3), Thing().double(3)) == (8, 8)
    assert not any(names.patch(name, lambda original: original) for name in GONE)


def make(folder: Path, tell: server.Tell, **task: Any) -> ScriptRun:
    for name in ("given", "run"):
        (folder / name).mkdir()
    (folder / "given" / "train.py").write_text("")
    place = Place(folder=folder / "given", script="train.py")
    return ScriptRun(place, Task(id="why.base/run=1", **task), folder / "run", tell)


@pytest.mark.processes
def test_a_change_that_this_tensorflow_cannot_have_is_not_possible_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "NAMES", {**names.NAMES, "device": GONE["gone"]})

    def act(tell: server.Tell) -> None:
        make(tmp_path, tell, tries=[{"intervention": "placement"}])._change()

    result, *_ = server._listen(act, 60)
    assert result["reason"] == (
        "not possible here: this TensorFlow has no suite.worker.why.same.nothing"
    )


@pytest.mark.processes
def test_what_a_watcher_could_not_tell_is_noted(tmp_path: Path) -> None:
    def act(tell: server.Tell) -> None:
        run = make(tmp_path, tell, watch=True)
        run.at_end(lambda fields: fields["nothing"])
        run.at_end(lambda fields: fields.update(settings={"seen": "so"}))
        run._finish()

    result, *_ = server._listen(act, 60)
    assert result["watched"]["settings"] == {"seen": "so"}
    (note,) = result["watched"]["notes"]
    assert note.startswith("not all was watched: KeyError('nothing') (<lambda>, line ")


def leave_writers(_tell: server.Tell) -> None:
    for _ in range(2):
        subprocess.Popen([sys.executable, "-c", "while 1: print('x')"], start_new_session=True)
    os._exit(3)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("action", "limit_s", "told", "end"),
    [
        (lambda tell: tell({"a": 1.5}), 60, {"a": 1.5}, "exit status 0"),
        (lambda _: time.sleep(60), 1, {}, "it was ended after 1 s"),
        (lambda _: os.kill(os.getpid(), signal.SIGSEGV), 60, {}, "Segmentation fault"),
        (leave_writers, 60, {}, "exit status 3"),
        (lambda _: os.write(3, b"{no"), 60, {}, "exit status 0"),
        (lambda _: (os.close(1), os.close(2), os.close(3), time.sleep(60)), 1, {}, "after 1 s"),
    ],
)
def test_how_a_process_ends_is_told(
    action: Callable[[server.Tell], object], limit_s: float, told: dict[str, Any], end: str
) -> None:
    result, _, _, ended = server._listen(action, limit_s)
    assert result == told
    assert end in ended


@pytest.mark.processes
def test_of_much_that_is_printed_both_ends_are_kept() -> None:
    def act(_tell: server.Tell) -> None:
        sys.stderr = sys.__stderr__  # not the one that catches what tests print
        os.write(1, b"begin")
        for _ in range(100):
            os.write(1, b"x" * 20_000)
        os.write(1, b"end")
        raise ValueError("mine")

    _, out, err, ended = server._listen(act, 60)
    assert (out[:6], out[-4:], len(out)) == ("beginx", "xend", 2 * server.KEPT_BYTES)
    assert err.endswith("ValueError: mine\n")
    assert "exit status 1" in ended


@pytest.mark.processes
def test_what_was_there_before_a_run_is_not_ended_with_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as own:
        server._listen(leave_writers, 60)
        assert own.poll() is None


def test_scripts_are_not_asked_about_in_another_keras(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keras = SimpleNamespace(Model=SimpleNamespace(__module__="keras.src.engine.training"))
    install(monkeypatch, keras=keras)
    monkeypatch.setitem(sys.modules, "keras", SimpleNamespace(__version__="2.15.0"))
    monkeypatch.setattr(names, "NAMES", {**names.NAMES, "fit": GONE["gone"]})
    sent: list[tuple[str, dict[str, Any]]] = []
    channel = SimpleNamespace(send=lambda record, **fields: sent.append((record, fields)))
    monkeypatch.setattr(worker, "Channel", lambda: channel)
    (tmp_path / "train.py").touch()
    words = ["why", "--folder", str(tmp_path), "--script", "train.py", "--runs", "[]"]
    assert worker.main(words) == worker.EXIT_UNFIT
    assert [record for record, _ in sent] == ["hello", "unfit"]
    assert "Keras 3, and this is Keras 2.15.0" in sent[1][1]["reason"]
