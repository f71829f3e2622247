"""The environment that stands in for an image where there is no container: an interpreter that the
locks have wheels for, and a private environment made from the same hash lock.

Starts interpreters and pip; installs nothing outside the folder that it is given.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from suite.errors import EngineError
from suite.fingerprint import hash_lines
from suite.host.engine import Say
from suite.host.provision.build_steps import describe_pip, run_step
from suite.host.provision.image_table import OLDEST

WAYS_OUT = (
    "a docker engine (ENGINE=docker), a Python that fits on PATH with its venv module, "
    "or LOCAL_PYTHON=path of an interpreter that already has TensorFlow"
)

_STAMP = "complete"
_TITLE = (
    "import platform, sys; "
    "print(platform.python_implementation(), '.'.join(map(str, sys.version_info[:3])))"
)
_ASK_S = 60.0
_INDEX_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """A Python on this machine; ``title`` such as ``CPython 3.13.5``."""

    path: Path
    title: str
    version: tuple[int, ...]


def look_at(path: Path) -> Interpreter | None:
    """The interpreter at that path; None where nothing there runs as one."""
    try:
        said = subprocess.run(
            [path, "-c", _TITLE], capture_output=True, text=True, timeout=_ASK_S, check=True
        ).stdout.split()
        version = tuple(int(number) for number in said[1].split("."))
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    return Interpreter(path=path, title=" ".join(said), version=version)


def find_interpreter(name: str, newest: str) -> Interpreter:
    """The interpreter to make the environment of that name with: the running one where it fits, else the
    first on PATH from python3.13 (``newest``, which the lock has wheels for as well as for those before it)
    down to python3.11.

    Raises:
        EngineError: there is none; names the ways out.
    """
    last = int(newest.rpartition(".")[2])
    versions = [(OLDEST[0], minor) for minor in range(last, OLDEST[1] - 1, -1)]
    names = [f"python{major}.{minor}" for major, minor in versions]
    candidates = [Path(getattr(sys, "_base_executable", None) or sys.executable)]
    candidates += [Path(found) for name in names if (found := shutil.which(name))]
    for candidate in candidates:
        interpreter = look_at(candidate)
        if interpreter is not None and interpreter.version[:2] in versions:
            return interpreter
    raise EngineError(
        f"no Python that the TensorFlow of the arm {name} has wheels for: the running one is "
        f"{sys.version_info.major}.{sys.version_info.minor}, and on PATH works no {' and no '.join(names)}",
        WAYS_OUT,
    )


def given_interpreter(path: Path) -> Interpreter:
    """The interpreter that LOCAL_PYTHON names.

    Raises:
        EngineError: it does not run, is older than the worker needs, or has no TensorFlow.
    """
    interpreter = look_at(path)
    has = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('tensorflow'))"
    if interpreter is None:
        why = "it does not run as a Python interpreter"
    elif interpreter.version < OLDEST:
        why = f"it is {interpreter.title}, and the worker needs 3.11 or newer"
    elif subprocess.run([path, "-c", has], capture_output=True, check=False).returncode:
        why = f"it is {interpreter.title} and has no TensorFlow"
    else:
        return interpreter
    raise EngineError(
        f"LOCAL_PYTHON={path}: {why}",
        "name a Python 3.11 or newer that has TensorFlow (`PYTHON -m pip install tensorflow`)",
    )


def place_environment(name: str, lock: Path, interpreter: Interpreter, home: Path) -> Path:
    """The folder ``home/<name>-<hash>`` of an environment; the hash is of the lock, the interpreter's
    version and its real path."""
    identity = hash_lines(
        [
            hashlib.sha256(lock.read_bytes()).hexdigest(),
            interpreter.title,
            os.path.realpath(interpreter.path),
        ]
    )
    return home / f"{name}-{identity[:12]}"


def is_whole(folder: Path) -> bool:
    """Whether an environment was made to its end: a stamp, written last, tells."""
    return (folder / _STAMP).exists()


def try_to_make(lock: Path, interpreter: Interpreter) -> bool | None:
    """Whether an environment of that lock could be made, tried without making or fetching anything;
    None: this interpreter's pip can't ask.

    Raises:
        EngineError: the interpreter has no venv, or the package index does not answer.
    """
    parts = _ask([interpreter.path, "-c", "import ensurepip, venv"])
    if parts is not None and parts.returncode:
        raise EngineError(
            f"{interpreter.title} can't make environments: {_last_line(parts.stderr)}", WAYS_OUT
        )
    package = lock.read_text(encoding="utf-8").partition("==")[0].rpartition("\n")[2].strip()
    pip: list[str | Path] = [interpreter.path, "-m", "pip", "--disable-pip-version-check"]
    asked = _ask([*pip, "--retries=0", "--timeout=5", "index", "versions", package])
    if asked is None or "No module named" in asked.stderr or "unknown command" in asked.stderr:
        return None
    if asked.returncode:
        raise EngineError(
            f"the package index does not answer for {package}: {_last_line(asked.stderr)}", WAYS_OUT
        )
    return True


def _ask(command: list[str | Path]) -> subprocess.CompletedProcess[str] | None:
    """What a short command of an interpreter's says; None: it takes too long to tell.

    Raises:
        EngineError: it can't be run.
    """
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_INDEX_S, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    except OSError as error:
        raise EngineError(f"{command[0]} can't be run: {error.strerror}", WAYS_OUT) from error


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it gives no reason"])[-1]


def make_environment(
    name: str, lock: Path, interpreter: Interpreter, home: Path, progress: Say
) -> Path:
    """The folder of an environment of that lock, made now or reused.

    Raises:
        EngineError: it can't be made, as where no wheel fits this machine.
    """
    folder, what = place_environment(name, lock, interpreter, home), f"environment {name}"
    with _once(folder, what, interpreter, progress) as missing:
        if missing:
            run_step([interpreter.path, "-m", "venv", folder], what, progress, WAYS_OUT)
            _install(folder / "bin" / "python", lock, what, progress)
    return folder


def make_packages(lock: Path, interpreter: Interpreter, python: Path, home: Path, say: Say) -> Path:
    """The folder of the packages of somebody's hash lock, made now or reused, for an environment's own
    ``python``.

    Raises:
        EngineError: it can't be made, as where no wheel fits this machine.
    """
    folder, what = (
        place_environment("packages", lock, interpreter, home),
        f"packages of {lock.name}",
    )
    with _once(folder, what, interpreter, say) as missing:
        if missing:
            _install(python, lock, what, say, "--target", folder)
    return folder


@contextlib.contextmanager
def _once(folder: Path, what: str, interpreter: Interpreter, progress: Say) -> Iterator[bool]:
    """Around what makes a folder: whether it has to be made."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as file:
        # Keeps a second campaign from making the same one at the same time.
        fcntl.flock(file, fcntl.LOCK_EX)
        if is_whole(folder):
            progress(f"{what}: reused {folder.name} (same lock and interpreter)")
            yield False
            return
        progress(f"{what}: making {folder.name} with {interpreter.title} (once)")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        yield True
        (folder / _STAMP).touch()


def _install(python: Path, lock: Path, what: str, progress: Say, *flags: str | Path) -> None:
    pip: list[str | Path] = [python, "-m", "pip", "install", "--require-hashes", "--no-deps"]
    pip += ["--only-binary=:all:", "--disable-pip-version-check", "--progress-bar=off"]
    run_step([*pip, *flags, "-r", lock], what, progress, WAYS_OUT, word=describe_pip)
