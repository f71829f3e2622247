"""A machine with a GPU that is none: commands on it, and what a worker there said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from suite.fingerprint import SUITE
from suite.host.local.engine import HOME
from tests.gpu_runtime.build import VERSION

HERE = Path(__file__).resolve().parent

LIMIT_S = 3600.0
"""No command on it takes so long: one that hangs must not hang the tests for ever."""


@dataclass
class Heard:
    """What a worker said and how it ended."""

    records: list[dict[str, Any]]
    diary: str
    status: int

    @property
    def facts(self) -> dict[str, Any]:
        """The facts, as its last record of them has them."""
        told: list[dict[str, Any]] = [r["facts"] for r in self.records if r["record"] == "facts"]
        return told[-1]

    @property
    def cells(self) -> dict[str, dict[str, Any]]:
        """The cells by id."""
        return {r["cell"]["id"]: r["cell"] for r in self.records if r["record"] == "cell"}

    @property
    def refused(self) -> str:
        """Why it refused to be the arm; empty where it did not."""
        return next((r["reason"] for r in self.records if r["record"] == "refused"), "")


@dataclass
class GpuMachine:
    """A machine with a GPU that is none, on which commands run; ``folder`` holds its stand-ins."""

    folder: Path
    site: Path
    python: Path

    def copy(self, folder: Path) -> GpuMachine:
        """Another machine like this one, whose stand-ins lie there."""
        shutil.copytree(self.folder, folder, ignore=shutil.ignore_patterns("cache", "results"))
        return replace(self, folder=folder)

    def plant(self, **values: object) -> None:
        """What the driver does (see source/*.c), one value a name."""
        path = self.folder / "driver" / "plants.conf"
        lines = [f"{name} {value}\n" for name, value in values.items()]
        path.write_text(path.read_text() + "".join(lines))

    def remove(self, *names: str) -> None:
        """Libraries that are not there: of the driver by name, of the wheels by place."""
        for name in names:
            (self.folder / "driver" / name).unlink(missing_ok=True)
        wheels = [name for name in names if "/" in name]
        (self.folder / "missing").write_text("\n".join(wheels))

    def run(
        self,
        command: Sequence[str | Path],
        variables: Mapping[str, str],
        *,
        wheels: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """A command on it; without ``wheels`` it sees the driver alone, as a host of containers does."""
        return subprocess.run(
            self.words(command, wheels=wheels),
            capture_output=True,
            text=True,
            check=False,
            env=variables,
            cwd=self.folder,
            timeout=LIMIT_S,
        )

    def suite(
        self, *words: str | Path, wheels: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """`python -m suite …` on it."""
        return self.run(
            [sys.executable, "-m", "suite", *words], environ(**variables), wheels=wheels
        )

    def words(self, command: Sequence[str | Path], *, wheels: bool = True) -> list[str | Path]:
        """A command line that runs a command on it."""
        over = self.site if wheels else "-"
        return [sys.executable, HERE / "enter.py", self.folder, over, *command]

    def hear(self, *words: str | Path, without: str = "", planted: str = "", **more: str) -> Heard:
        """The records of a program in the environment of the CUDA wheels."""
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "PYTHONPATH": str(SUITE.parent),
            "CUDA_CACHE_PATH": str(self.folder / "cache"),
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CROSSOVER_TRUE_TIMES": "1",
            "CROSSOVER_WITHOUT": without,
            "CROSSOVER_PLANTED": planted,
            **more,
        }
        done = self.run([self.python, *words], variables)
        records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return Heard(records=records, diary=done.stderr, status=done.returncode)

    def work(self, *words: str, **more: str) -> Heard:
        """The worker."""
        return self.hear("-m", "suite.worker", *words, **more)

    def measure(self, *cells: str, **more: str) -> Heard:
        """The worker on these cells, K = 1 where a cell names none, for hardly any time."""
        short = ("--warmup", "0.05", "--measure", "0.1", "--budget", "60")
        words = [cell if "@" in cell else f"{cell}@1" for cell in cells]
        return self.work("measure", "--gpu", *short, *words, **more)

    def prove(self, *cells: str, **more: str) -> Heard:
        """Where the first call of each cell runs."""
        return self.hear(HERE / "prove.py", *cells, **more)


def environ(**variables: str) -> dict[str, str]:
    """The environment of a command of the suite's."""
    return {**os.environ, "PYTHONPATH": str(SUITE.parent), **variables}


def drop_compiled() -> None:
    """The local engine keeps what a driver compiled, of this one as of any."""
    for cache in HOME.glob(f"*compile-cache-{VERSION}"):
        shutil.rmtree(cache, ignore_errors=True)


def check_ended_well(done: subprocess.CompletedProcess[str], folder: Path) -> None:
    """Holds a campaign to its end; what neighbours took of the CPU meanwhile is no fault of ours."""
    troubles = {
        flag["code"]
        for cell in json.loads((folder / "summary.json").read_text())["cells"]
        for arm in cell["arms"].values()
        for flag in arm.get("notes", ())
        if flag["severity"] == "invalid"
    }
    assert bool(done.returncode) == bool(troubles), done.stderr[-2000:]
    assert troubles <= {"steal"}
