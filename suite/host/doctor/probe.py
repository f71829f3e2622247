"""The machine that the doctor looks at: the one narrow door to its files, commands, disk and engine, which is
what a test replaces; and what the checks look at together through it.
"""

from __future__ import annotations

import functools
import platform
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from suite.cells.cell import Cell
from suite.errors import CrossoverError, GpuError, NoGpuError
from suite.host.campaign.arms import AUTO, auto_arms, name_arms
from suite.host.campaign.store import try_machine, try_results
from suite.host.doctor.finding import Finding, Unknown, not_applicable
from suite.host.engine import Engine, GpuRequest, Stock
from suite.host.gpu.choice import ALL_GPUS, FIRST, name_gpus, read_visible
from suite.host.gpu.visible_devices import machine_gpus, no_gpu, pci_gpus
from suite.host.machine.machine import cpus_allowed
from suite.host.machine.surroundings import find_container
from suite.model import Arm
from suite.procfs import read_text

CANT_RUN = 126
"""The exit status of a program that is there and can't be started, as a shell has it."""

COMMAND_S = 6.0
"""Another program: a driver that is not kept loaded takes seconds to answer the first time."""


Ran = subprocess.CompletedProcess[str]
"""A program's end; ``stdout`` has both of its streams."""


def run_command(words: Sequence[str], timeout_s: float) -> Ran | None:
    """Runs a program to its end; None where there is no such program.

    Raises:
        Unknown: it did not answer in time.
    """
    try:
        return subprocess.run(
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
        return Ran(words, CANT_RUN, str(error))


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

    open_engine: Callable[[], Engine]
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
    `ALL_GPUS` for an arm on each, and None where none was named.  ``environment`` is the caller's.
    ``type`` is what a person says that the type of the machine is, and ``expect`` tells of a type (None: not
    known) and of GPUs by their names what is published.
    """

    results: Path
    cells: Sequence[Cell]
    engine: str = "auto"
    arms: tuple[str, ...] = ("auto",)
    gpu: str | None = None
    cuda_image: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    type: str | None = None
    expect: Callable[[str | None, Sequence[str]], Finding] = lambda *_: not_applicable("not asked")


Look = TypeVar("Look")


def once(look: Callable[[Probe], Look]) -> Callable[[Probe], Look]:
    """A look that each probe makes once, since a driver that is not kept loaded takes seconds each time:
    what it gave, or raised, is for everyone; who comes meanwhile waits for it.
    """

    @functools.wraps(look)
    def recall(probe: Probe) -> Look:
        with probe.lock:
            first = look not in probe.looks
            made: Future[Look] = probe.looks.setdefault(look, Future())
        if first:
            try:
                made.set_result(look(probe))
            except Exception as error:  # noqa: BLE001  every later one is told the same
                made.set_exception(error)
        return made.result()

    return recall


class Probe:
    """Looks at a machine for the checks, each thing once.  Can be used from several threads.

    ``deadline_s`` (of ``time.monotonic``) is when nobody listens any more.
    """

    def __init__(self, machine: Machine, question: Question, deadline_s: float) -> None:
        self.machine = machine
        self.question = question
        self._deadline_s = deadline_s
        self.looks: dict[Callable[[Probe], Any], Future[Any]] = {}
        self.lock = threading.Lock()

    @property
    def left_s(self) -> float:
        """The time that is left, in seconds."""
        return max(0.0, self._deadline_s - time.monotonic())

    def is_elsewhere(self) -> bool:
        """Whether the engine that answers is not proven to be on this machine, so that what is seen
        here is another machine's."""
        engine = self.try_engine()
        return engine is not None and engine.is_here is not True

    @once
    def engine(self) -> Engine:
        """The engine that ``make bench`` would take.

        Raises:
            CrossoverError: it would get none.
        """
        return self.machine.open_engine()

    def try_engine(self) -> Engine | None:
        """As `engine`; None: it would get none."""
        try:
            return self.engine()
        except CrossoverError:
            return None

    def open_engine(self) -> Engine:
        """As `engine`, for the checks that are about what it has.

        Raises:
            Unknown: there is none.
        """
        try:
            return self.engine()
        except CrossoverError as error:
            raise Unknown("there is no engine to ask") from error

    def take_stocks(self, *names: str) -> list[Stock]:
        """What the engine has of these images; without names, of those that the arms need.

        Raises:
            Unknown: there is no engine, or it does not say; `check_images` says what to do.
        """
        try:
            return [self.engine().take_stock(name) for name in names or self.images()]
        except CrossoverError as error:
            raise Unknown("what the engine has can't be told (see images)") from error

    @once
    def gpu(self) -> GpuRequest:
        """How the engine gives its GPU, tried out.

        Raises:
            GpuError: it doesn't; `NoGpuError` where there is none.
            Unknown: there is no image here to try it with.
            CrossoverError: there is no engine.
        """
        engine = self.engine()
        if engine.is_here and not self.shows_gpu():
            raise no_gpu(self.machine.root, self.question.environment)
        if not engine.has_probe_image():
            raise Unknown(
                "no image is here to try it with, and none is fetched for that", "`make images`"
            )
        return engine.find_gpu(None if self.question.gpu is None else self.gpu_name())

    @once
    def gpu_name(self) -> str:
        """The GPU that is looked at: of all that are asked for the first.

        Raises:
            CrossoverError: there is no engine.
        """
        gpu = self.question.gpu
        if gpu is None:
            engine = self.try_engine()
            plain = engine is not None and engine.isolation != "container"
            visible = read_visible(self.question.environment) if plain else None
            return (visible or (FIRST,))[0]
        if gpu != ALL_GPUS:
            return gpu
        return next(iter(name_gpus(self.engine().list_gpus())), FIRST)

    def shows_gpu(self) -> bool:
        """Whether this machine shows an NVIDIA GPU, driver or not; one on the bus of the machine that a
        container is on is not the container's."""
        root = self.machine.root
        if machine_gpus(root):
            return True
        return bool(pci_gpus(root)) and find_container(self.question.environment, root) is None

    def wants_gpu(self) -> bool:
        """Whether an arm was asked for that takes the GPU, or all that there can be."""
        return self.question.arms == (AUTO,) or any(arm.gpu for arm in self.named_arms())

    def named_arms(self) -> tuple[Arm, ...]:
        """The arms that were asked for by name."""
        return () if self.question.arms == (AUTO,) else name_arms(self.question.arms)

    @once
    def other_tensorflow(self) -> str | None:
        """What brings the cuda arm's TensorFlow in the lock's place, for people; None: the lock does.

        Raises:
            EngineError: LOCAL_PYTHON names an interpreter that will not do.
        """
        if self.question.cuda_image is not None:
            return f"{self.question.cuda_image} (CUDA_IMAGE)"
        engine = self.try_engine()
        if engine is None or engine.isolation == "container":
            return None  # without an engine, whichever it would be, nothing else was named
        stock = engine.take_stock("cuda")
        return None if stock.from_lock else f"{stock.base} (LOCAL_PYTHON)"

    def architecture(self) -> str:
        """The processor's, as the engine names it; without one, this machine's."""
        engine = self.try_engine()
        name = None if engine is None else engine.describe().get("architecture")
        return str(name or platform.machine())

    def arms(self) -> tuple[Arm, ...]:
        """The arms that ``make bench`` would run, by what is known of the GPU.

        Raises:
            CrossoverError: there is no engine.
        """
        if self.question.arms != (AUTO,):
            return self.named_arms()
        has_gpu = True
        try:
            self.gpu()
        except GpuError as error:
            has_gpu = not isinstance(error, NoGpuError)
        except Unknown:
            has_gpu = self.shows_gpu() and not self.is_elsewhere()
        return auto_arms(gpu=has_gpu)

    def images(self) -> tuple[str, ...]:
        """The images that those arms need."""
        return tuple(dict.fromkeys(arm.image for arm in self.arms()))
