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
        pytest.skip(f"no mount namespace is to be had here: {tried.stderr.strip()}")
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


def test_no_engine_anywhere_and_nothing_to_install_from(checkout: Path) -> None:
    folder = Path(os.path.realpath(DEFAULT_SOCKET.parent))
    before = mount("none", folder) if DEFAULT_SOCKET.exists() else []
    said = hold_together(EngineError.exit_status, checkout, before=before, variables=NO_INDEX)
    # The machine that these tests run on may be a container itself.
    apart = "NOT CONTAINERIZED: no docker engine is here"
    assert (apart if find_container({}) is None else "ENGINE NOT SEEN: this is a container") in said


def test_a_python_that_has_no_venv(checkout: Path, tmp_path: Path) -> None:
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "venv.py").write_text("raise ModuleNotFoundError('venv is not installed')\n")
    variables = {"PYTHONPATH": f"{checkout}{os.pathsep}{planted}"}
    hold_together(EngineError.exit_status, checkout, "--engine", "local", variables=variables)


def test_results_on_a_full_disk(tmp_path: Path) -> None:
    python = scripted_python.write(tmp_path / "python")
    (tmp_path / "full").mkdir()
    said = hold_together(
        *(UsageError.exit_status, SUITE.parent, "--local-python", str(python)),
        results=tmp_path / "full",
        before=mount("-o size=64k none", tmp_path / "full"),
    )
    assert "No space left on device" in said
