"""Planted states for which the commands need a checkout, or a view of the machine, of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from suite.errors import EngineError, UsageError
from suite.fingerprint import SUITE
from suite.host.docker.connection import DEFAULT_SOCKET
from suite.host.gpu.visible_devices import machine_gpus, pci_gpus
from suite.host.machine.lock import PLACE
from suite.host.machine.surroundings import find_container
from tests.agreement import compare
from tests.fakes import scripted_python

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(bool(machine_gpus() or pci_gpus()), reason="this machine has a GPU"),
]

NO_INDEX = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple", "PIP_RETRIES": "0"}
OWN_VIEW = ["unshare", "--mount", "--propagation", "private"]
OWN_VIEW += [] if os.geteuid() == 0 else ["--user", "--map-root-user"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout in which nothing has been made yet."""
    folder = tmp_path / "checkout"
    for name in ("suite", "docker"):
        shutil.copytree(SUITE.parent / name, folder / name)
    return folder


def mount(kind: str, place: Path) -> list[str]:
    """The beginning of a command that sees a disk of its own there."""
    words = [*OWN_VIEW, "sh", "-c", f'mount -t tmpfs {kind} "$0" && exec "$@"', str(place)]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no mount namespace is available here: {tried.stderr.strip()}")
    return words


def hold_together(
    status: int,
    root: Path,
    *words: str,
    results: Path | None = None,
    before: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
) -> str:
    """Both commands at once; what bench said.  Without ``results`` each has its own folder for them."""
    own = {"PATH": os.environ["PATH"], "HOME": str(root), "PIP_CONFIG_FILE": os.devnull}

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        folder = results or root / f"{command[0]}-results"
        # Each with the machine's lock for itself: at once, they would find each other at work.
        with tempfile.TemporaryDirectory() as place:
            return subprocess.run(
                [
                    *(*before, sys.executable, "-m", "suite", *command, *words),
                    *("--results", str(folder)),
                ],
                cwd=root,
                env={**own, PLACE: place, **(variables or {})},
                capture_output=True,
                text=True,
                check=False,
            )

    short = ("--profile", "smoke", "--only", "overhead.fence")
    with ThreadPoolExecutor() as both:
        doctor, bench = both.map(run, (("doctor", "--json"), ("bench", *short)))
    assert (compare(doctor, bench), bench.returncode) == ([], status), bench.stderr
    return bench.stderr


MAKES = f"""
import pathlib, sys
python = pathlib.Path(sys.argv[-1], "bin", "python")
python.parent.mkdir(parents=True)
python.write_text('#!/bin/sh\\nexec {sys.executable} "$@"\\n')
python.chmod(0o755)
"""
"""An environment at once, with this interpreter's pip."""


@pytest.mark.parametrize(
    ("venv", "words"),
    [(MAKES, ()), ("raise ModuleNotFoundError('venv is not installed')\n", ("--engine", "local"))],
    ids=["nothing to install from", "a Python that has no venv"],
)
def test_nothing_to_run_in(venv: str, words: tuple[str, ...], checkout: Path) -> None:
    planted = checkout.parent / "planted"
    planted.mkdir()
    (planted / "venv.py").write_text(venv)
    variables = {**NO_INDEX, "PYTHONPATH": f"{checkout}{os.pathsep}{planted}"}
    folder = Path(os.path.realpath(DEFAULT_SOCKET.parent))
    before = mount("none", folder) if DEFAULT_SOCKET.exists() and not words else []
    said = hold_together(
        EngineError.exit_status, checkout, *words, before=before, variables=variables
    )
    if not words:
        # The machine that these tests run on may be a container itself.
        apart = "NOT CONTAINERIZED: no docker engine is here"
        inside = "ENGINE NOT SEEN: this is a container"
        assert (apart if find_container({}) is None else inside) in said


def test_results_on_a_full_disk(tmp_path: Path) -> None:
    python = scripted_python.write(tmp_path / "python")
    (tmp_path / "full").mkdir()
    said = hold_together(
        *(UsageError.exit_status, SUITE.parent, "--local-python", str(python)),
        results=tmp_path / "full",
        before=mount("-o size=64k none", tmp_path / "full"),
    )
    assert "No space left on device" in said
