"""The machine that the doctor looks at: the one narrow door to its files, commands, disk and engine.

`Machine` is what a test replaces; `probe.Probe` looks through it.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from suite.cells.cell import Cell
from suite.host.campaign.store import try_machine, try_results
from suite.host.doctor.finding import Unknown
from suite.host.engine import Engine, GpuSupport, Stock
from suite.host.machine.machine import cpus_allowed
from suite.kernel import read_text

COMMAND_S = 6.0
"""Another program: a driver that is not kept loaded takes seconds to answer the first time."""

EVERY_GPU = "all"
"""What stands for every GPU in place of one's name."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a program said, both streams, and its exit code (None: it could not be started)."""

    code: int | None
    text: str


class Examined(Engine, Protocol):
    """An engine that also says what it has, without making or fetching anything."""

    @property
    def data_root(self) -> str | None:
        """The folder on this machine that its images lie in; None: not on this machine."""

    def take_stock(self, name: str) -> Stock:
        """What it has of an image.

        Raises:
            EngineError: it does not answer, or could never have this image.
        """

    def reach_base(self, reference: str) -> bool | None:
        """Whether its registry answers for this base image; None: this engine can't tell.

        Raises:
            EngineError: the registry refuses, or is out of reach.
        """

    def look_at_leftovers(self) -> None:
        """Looks at what a killed campaign may have left, as bench does before anything else.

        Raises:
            EngineError: it does not answer, or this user may not see that.
        """

    def has_probe_image(self) -> bool:
        """Whether `find_gpu` can ask without fetching an image first."""

    def gpu_support(self) -> GpuSupport:
        """What it says about giving GPUs to containers."""


def run_command(words: Sequence[str], timeout_s: float) -> Ran | None:
    """Runs a program to its end; None where there is no such program.

    Raises:
        Unknown: it did not answer in time.
    """
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        return None
    except subprocess.TimeoutExpired as error:
        raise Unknown(f"`{words[0]}` did not answer within {timeout_s:.0f} s") from error
    except OSError as error:
        return Ran(code=None, text=str(error))
    return Ran(code=done.returncode, text=done.stdout.strip())


def free_bytes(path: Path) -> int | None:
    """What is free on the disk of a folder, or of the nearest one above it that exists."""
    there = next((folder for folder in (path, *path.parents) if folder.exists()), path)
    try:
        return shutil.disk_usage(there).free
    except OSError:
        return None


@dataclass(frozen=True, kw_only=True)
class Machine:
    """This machine, as far as the doctor looks at it.  Every look is harmless.

    ``root`` is where its files are; ``open_engine`` raises what opening an engine raises.
    """

    open_engine: Callable[[], Examined]
    root: Path = Path("/")
    run: Callable[[Sequence[str], float], Ran | None] = run_command
    free_bytes: Callable[[Path], int | None] = free_bytes
    try_results: Callable[[Path], None] = try_results
    try_machine: Callable[[], None] = try_machine
    cpus: Callable[[], tuple[int, ...]] = cpus_allowed
    clock_ns: Callable[[], int] = time.perf_counter_ns

    def read(self, path: str) -> str | None:
        """The text of a small file; None where there is none to be read."""
        return read_text(self.root / path.lstrip("/")).strip("\0\n ") or None

    def find(self, pattern: str) -> tuple[str, ...]:
        """The paths that match a glob, sorted, as seen from the machine's root."""
        found = sorted(self.root.glob(pattern.lstrip("/")))
        return tuple(f"/{path.relative_to(self.root)}" for path in found)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What ``make bench`` would be asked: the doctor answers whether that would run.

    ``engine`` is as asked (auto, docker, local, inside), ``arms``, ``gpu`` and ``cuda_image`` as well;
    ``results`` is the folder that campaigns go to, ``cells`` all that are declared.  ``gpu`` is
    `EVERY_GPU` for all in turn, and None where none was named.  ``environment`` is the caller's.
    """

    results: Path
    cells: Sequence[Cell]
    engine: str = "auto"
    arms: tuple[str, ...] = ("auto",)
    gpu: str | None = None
    cuda_image: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
