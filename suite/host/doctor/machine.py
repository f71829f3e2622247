"""The machine that the doctor looks at: the one narrow door to its files, commands, disk and engine.

`Machine` is what a test replaces; `Patient` looks through it, each thing once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from suite.errors import CrossoverError, GpuError, NoGpuError
from suite.host.campaign.arms import ARMS
from suite.host.campaign.store import try_results
from suite.host.doctor.finding import Unknown
from suite.host.engine import Engine, GpuRequest, GpuSupport, Stock
from suite.host.gpu.choice import name_gpus
from suite.host.gpu.request import machine_gpus, no_gpu, pci_gpus
from suite.host.machine.machine import cpus_allowed
from suite.model import Cell

ENGINE_S = 8.0
"""An engine, or a registry that it asks, that has said nothing for so long is not waited for."""

COMMAND_S = 6.0
"""Likewise other programs: a driver that is not kept loaded takes seconds to answer the first time."""


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
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    run: Callable[[Sequence[str], float], Ran | None] = run_command
    free_bytes: Callable[[Path], int | None] = free_bytes
    try_results: Callable[[Path], None] = try_results
    cpus: Callable[[], tuple[int, ...]] = cpus_allowed
    clock_ns: Callable[[], int] = time.perf_counter_ns

    def read(self, path: str) -> str | None:
        """The text of a small file; None where there is none to be read."""
        try:
            text = (self.root / path.lstrip("/")).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        return text.strip("\0\n ") or None

    def find(self, pattern: str) -> tuple[str, ...]:
        """The paths that match a glob, sorted, as seen from the machine's root."""
        found = sorted(self.root.glob(pattern.lstrip("/")))
        return tuple(f"/{path.relative_to(self.root)}" for path in found)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What ``make bench`` would be asked: the doctor answers whether that would run.

    ``engine`` is as asked (auto, docker, local), ``arms``, ``gpu`` and ``cuda_image`` as well;
    ``results`` is the folder that campaigns go to, ``cells`` all that are declared.  ``gpu`` is None
    for every GPU in turn.
    """

    results: Path
    cells: Sequence[Cell]
    engine: str = "auto"
    arms: tuple[str, ...] = ("auto",)
    gpu: str | None = "0"
    cuda_image: str | None = None


class _Once:
    """A look that is made once, by whoever needs it first; a failure is remembered, too."""

    def __init__(self, look: Callable[[], Any]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._made = False
        self._value: Any = None
        self._error: Exception | None = None

    def __call__(self) -> Any:
        with self._lock:
            if not self._made:
                try:
                    self._value = self._look()
                except Exception as error:  # noqa: BLE001  every later one is told the same
                    self._error = error
                self._made = True
        if self._error is not None:
            raise self._error
        return self._value


class Patient:
    """A machine under examination, and what it is asked.  Can be used from several threads.

    ``deadline_s`` (of ``time.monotonic``) is when nobody listens any more.
    """

    def __init__(self, machine: Machine, question: Question, deadline_s: float) -> None:
        self.machine = machine
        self.question = question
        self._deadline_s = deadline_s
        self._engine = _Once(machine.open_engine)
        self._gpu = _Once(self._find_gpu)
        self._looks: dict[str, _Once] = {}
        self._lock = threading.Lock()

    @property
    def left_s(self) -> float:
        """The time that is left, in seconds."""
        return max(0.0, self._deadline_s - time.monotonic())

    def recall(self, name: str, look: Callable[[], Any]) -> Any:
        """What a look of that name gave, or raised, the first time."""
        with self._lock:
            once = self._looks.setdefault(name, _Once(look))
        return once()

    def is_elsewhere(self) -> bool:
        """Whether the engine that answers is not proven to be on this machine, so that what is seen
        here is another machine's."""
        try:
            return self.engine().is_here is not True
        except CrossoverError:
            return False

    def engine(self) -> Examined:
        """The engine that ``make bench`` would take.

        Raises:
            CrossoverError: it would get none.
        """
        engine: Examined = self._engine()
        return engine

    def gpu(self) -> GpuRequest:
        """How the engine gives its GPU, tried out.

        Raises:
            GpuError: it doesn't; `NoGpuError` where there is none.
            Unknown: there is no image here to try it with.
            CrossoverError: there is no engine.
        """
        request: GpuRequest = self._gpu()
        return request

    def _find_gpu(self) -> GpuRequest:
        engine = self.engine()
        if engine.is_here and not self.shows_gpu():
            raise no_gpu(self.machine.root)
        if not engine.has_probe_image():
            raise Unknown(
                "no image is here to try it with, and none is fetched for that", "`make images`"
            )
        return engine.find_gpu(self.gpu_name())

    def gpu_name(self) -> str:
        """The GPU that is looked at: of all that are asked for the first.

        Raises:
            CrossoverError: there is no engine.
        """
        if self.question.gpu is not None:
            return self.question.gpu
        listed: str = self.recall(
            "GPUs", lambda: next(iter(name_gpus(self.engine().list_gpus())), "0")
        )
        return listed

    def shows_gpu(self) -> bool:
        """Whether this machine shows an NVIDIA GPU, driver or not."""
        return bool(machine_gpus(self.machine.root) or pci_gpus(self.machine.root))

    def wants_gpu(self) -> bool:
        """Whether an arm was asked for that takes the GPU, or all that there can be."""
        wanted = self.question.arms
        return wanted == ("auto",) or any(name in ARMS and ARMS[name].gpu for name in wanted)

    def other_tensorflow(self) -> str | None:
        """What brings the cuda arm's TensorFlow in the lock's place, for people; None: the lock does.

        Raises:
            EngineError: LOCAL_PYTHON names an interpreter that will not do.
        """
        found: str | None = self.recall("other TensorFlow", self._find_other_tensorflow)
        return found

    def _find_other_tensorflow(self) -> str | None:
        if self.question.cuda_image is not None:
            return f"{self.question.cuda_image} (CUDA_IMAGE)"
        try:
            engine = self.engine()
        except CrossoverError:
            return None  # whichever it would be, nothing else was named
        if engine.name != "local":
            return None
        stock = engine.take_stock("cuda")
        return None if stock.from_lock else f"{stock.base} (LOCAL_PYTHON)"

    def arms(self) -> tuple[str, ...]:
        """The arms that ``make bench`` would run, by what is known of the GPU.

        Raises:
            CrossoverError: there is no engine.
        """
        wanted = self.question.arms
        if wanted != ("auto",):
            return tuple(name for name in wanted if name in ARMS)
        try:
            self.gpu()
        except NoGpuError:
            return ("cpu",)
        except GpuError:
            return ("cpu", "cuda")  # there is one, and it is refused
        except Unknown:
            return ("cpu", "cuda") if self.shows_gpu() and not self.is_elsewhere() else ("cpu",)
        return ("cpu", "cuda")

    def images(self) -> tuple[str, ...]:
        """The images that those arms need."""
        return tuple(dict.fromkeys(ARMS[name].image for name in self.arms()))
