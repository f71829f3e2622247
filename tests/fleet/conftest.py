"""The job files on real engines, each started here from one temporary folder and stopped again.

`nox -s fleet` brings what Python packages they need; where an engine is not installed, its tests are skipped
and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.content import SUITE
from tests.fakes import scripted_python

HERE = Path(__file__).parent
ROOT = SUITE.parent

TOOLS = "FLEET_TOOLS"
"""The variable that names the folder of programs which `nox -s fleet` has installed."""

GIT = ("git", "-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")

ONLY = "matmul.* overhead.eager_op"
"""Cells that the scripted worker measures well."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.path.name != "test_structure.py":
            item.add_marker("fleet")


@pytest.fixture(scope="session")
def find_tool() -> Callable[[str, str], str]:
    """The path of a program; without it the test is skipped, and says what brings it."""

    def find(name: str, brings: str) -> str:
        places = [os.environ.get(TOOLS, ""), os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]
        found = shutil.which(name, path=os.pathsep.join(filter(None, places)))
        if found is None:
            pytest.skip(f"{name} is not installed: {brings}")
        return found

    return find


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout of what the files here are now, with this one's environment."""
    folder = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    changes = subprocess.run(
        ["git", "diff", "--binary", "HEAD"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    if changes:
        subprocess.run(["git", "apply", "--index"], cwd=folder, input=changes, check=True)
        subprocess.run([*GIT, "commit", "-qm", "as it is now"], cwd=folder, check=True)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    """An interpreter for LOCAL_PYTHON whose worker goes by a script, and takes its time."""
    return scripted_python.write(tmp_path / "worker", f"paced:{tmp_path / 'told'}")


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the machine's lock that no campaign outside of the test waits for."""
    folder = tmp_path / "locks"
    folder.mkdir()
    monkeypatch.setenv("CROSSOVER_LOCKS", str(folder))
    return folder
