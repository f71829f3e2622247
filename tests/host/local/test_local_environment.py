"""Interpreters that fit or do not, and environments made from the hashes, with scripts in pip's place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.local import environment as local_environment
from suite.host.local.environment import (
    Interpreter,
    find_interpreter,
    given_interpreter,
    make_environment,
    make_packages,
)
from tests.fakes.pip_words import PIP_MEANS, PIP_SAYS
from tests.fakes.scripted_python import script

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 1", "does not run"),
        ("echo nonsense", "does not run"),
        ("echo CPython 3.10.2", "needs 3.11"),
        ("case $2 in *find_spec*) exit 1;; esac; echo CPython 3.12.2", "no TensorFlow"),
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
    old = script(tmp_path / "old", "echo CPython 3.10.2")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(local_environment.sys, "_base_executable", str(old))
    with pytest.raises(EngineError, match=r"the arm cpu .* python3\.13") as caught:
        find_interpreter("cpu", "3.13")
    assert "LOCAL_PYTHON" in caught.value.remedy
    script(tmp_path / "python3.12", "echo CPython 3.12.9")
    # The locks of older versions have no wheels for that one.
    with pytest.raises(
        EngineError, match=r"the arm cpu@2\.15 .* and on PATH works no python3\.11$"
    ):
        find_interpreter("cpu@2.15", "3.11")
    script(tmp_path / "python3.11", "echo CPython 3.11.9")
    assert find_interpreter("cpu", "3.13").version == (3, 12, 9)
    assert find_interpreter("cpu@2.15", "3.11").version == (3, 11, 9)
    running = script(tmp_path / "running", "echo CPython 3.11.2")
    monkeypatch.setattr(local_environment.sys, "_base_executable", str(running))
    assert find_interpreter("cpu", "3.13").version == (3, 11, 2)


VENV = """
# Stands for `python -m venv FOLDER`: makes a python there that logs what pip is asked.
echo made >> {log}
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "pip $*" >> {log}; cat {says}; exit {code}\\n' > "$3/bin/python"
chmod +x "$3/bin/python"
"""


def maker(
    tmp_path: Path, *, code: int = 0, say: Callable[[str], None] = lambda _: None
) -> Callable[[], Path]:
    """Makes the environment of a lock; ``code`` is how pip ends."""
    lock = tmp_path / "cpu.txt"
    lock.write_text("numpy==1 --hash=sha256:0\n")
    (tmp_path / "says").write_text("\n".join([*PIP_SAYS, ""]))
    text = VENV.format(log=tmp_path / "log", says=tmp_path / "says", code=code)
    python = script(tmp_path / "python", text)
    interpreter = Interpreter(path=python, title="CPython 3.13.5", version=(3, 13, 5))
    return lambda: make_environment("cpu", lock, interpreter, tmp_path / "arms", say)


def test_an_environment_is_made_once_from_the_hashes_and_told_in_our_words(tmp_path: Path) -> None:
    said: list[str] = []
    make = maker(tmp_path, say=said.append)
    folder = make()
    assert said[0].startswith("environment cpu: making cpu-")
    assert [line.removeprefix("environment cpu: ") for line in said[1:]] == PIP_MEANS
    assert make() == folder
    made, pip = (tmp_path / "log").read_text().splitlines()
    assert made == "made"
    for flag in ("--require-hashes", "--no-deps", "--only-binary=:all:"):
        assert flag in pip
    # One that was interrupted is made anew, and so is that of another lock.
    (folder / "complete").unlink()
    assert make() == folder
    assert (tmp_path / "log").read_text().splitlines().count("made") == 2
    (tmp_path / "cpu.txt").write_text("numpy==2 --hash=sha256:0\n")
    assert make() != folder


def test_packages_of_a_persons_lock_have_a_folder_of_their_own(tmp_path: Path) -> None:
    python = maker(tmp_path)() / "bin" / "python"
    interpreter = Interpreter(path=python, title="CPython 3.13.5", version=(3, 13, 5))
    lock, home, said = tmp_path / "lock.txt", tmp_path / "arms", list[str]()
    lock.write_text("six==1 --hash=sha256:0\n")
    folder = make_packages(lock, interpreter, python, home, said.append)
    assert make_packages(lock, interpreter, python, home, said.append) == folder
    *_, pip = (tmp_path / "log").read_text().splitlines()
    for flag in ("--require-hashes", "--no-deps", "--only-binary=:all:", f"--target {folder}"):
        assert flag in pip
    assert said[0].startswith("packages of lock.txt: making packages-")
    assert said[-1].startswith("packages of lock.txt: reused")
    lock.write_text("six==2 --hash=sha256:0\n")
    assert make_packages(lock, interpreter, python, home, said.append) != folder


def test_where_pip_fails_its_words_are_shown_whole_with_the_ways_out(tmp_path: Path) -> None:
    make = maker(tmp_path, code=1)
    with pytest.raises(EngineError, match="exit code 1") as caught:
        make()
    assert "\n".join(PIP_SAYS) in caught.value.what
    for way in ("docker", "LOCAL_PYTHON", "PATH"):
        assert way in caught.value.remedy
    with pytest.raises(EngineError):
        make()
