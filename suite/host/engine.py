"""What the suite asks of whatever runs its worker: the one narrow door to docker and processes.

Three implementations: ``docker.engine`` (containers), ``local.engine`` (processes, no isolation) and
``local.inside`` (processes in what somebody else has started); one fake in the tests.  This file knows none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from suite.model import Image, Isolation, Scalar

LABEL = "io.github.crossover-bench"
"""The label on every container, image and volume that this project makes; nothing else is touched."""

EngineKind = Literal["docker", "rootless", "snap", "desktop", "podman", "local", "inside"]
"""Docker as root, as a user, as a snap or as Docker Desktop; podman as either; no container at all, or one
that somebody else has started: each is set up in another place, by other commands."""


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A pattern of what an engine, NVIDIA's hook or TensorFlow says, what causes it, and what to do next.

    ``instead`` is the other way of asking for a GPU, where that may work: by CDI, or by NVIDIA's hook.
    """

    pattern: str
    cause: str
    remedy: str
    instead: Literal["cdi", "hook"] | None = None


def find_row(text: str, rows: Iterable[Refusal]) -> Refusal | None:
    """The first row that fits a text, if there is one."""
    return next((r for r in rows if re.search(r.pattern, text, re.IGNORECASE | re.DOTALL)), None)


@dataclass(frozen=True, kw_only=True)
class GpuRequest:
    """How the engine is asked for a GPU: ``driver`` ("cdi", "nvidia" or "none" for the local
    engine) and the engine's own names of the devices (index or UUID).

    ``kernel_driver`` is the version of NVIDIA's driver on the engine's machine (None: unknown).
    ``visible`` is which GPU CUDA is to be told, where a container gets them all (None: it gets the
    one).  ``uuid`` is the whole UUID of what was asked for by one; it never enters a document.
    """

    driver: str
    devices: tuple[str, ...]
    kernel_driver: str | None = None
    visible: str | None = None
    uuid: str | None = None


@dataclass(frozen=True, kw_only=True)
class Slice:
    """A MIG instance, which CUDA sees as a GPU of its own; ``index`` counts within its GPU, as nvidia-smi's
    ``Device`` does, and a request names it ``0:1``."""

    index: int
    uuid: str
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Card:
    """A GPU of the engine's machine; ``index`` is nvidia-smi's, by PCI address.

    ``pci`` is its address as the kernel writes it (``0000:01:00.0``).  ``mig`` says whether it is cut into
    ``slices``.  None: not known.  ``uuid`` never enters a document.
    """

    index: int
    name: str | None = None
    uuid: str | None = None
    pci: str | None = None
    mig: bool | None = None
    slices: tuple[Slice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Volume:
    """A place on disk that a run can write to, and that is still there for the next run.

    ``name`` names it in the engine, ``target`` is where a container has it (the image has that folder,
    whose owner a fresh volume takes over).  The worker finds it by the environment variable
    ``variable``, since without a container it lies elsewhere.  ``purpose`` is for people.

    A ``lasting`` one stays when its campaign ends, for the next; its ``labels`` tell when it has
    outlived its use (see ``volumes.compile_cache``).  A ``read_only`` one is filled beforehand; or it is a
    ``folder`` of a person's on the engine's machine, which nobody makes or removes.
    """

    name: str
    target: str
    variable: str
    purpose: str
    lasting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    read_only: bool = False
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Stock:
    """What an engine has of an image, looked up without making or fetching anything.

    ``image`` is its id where it is built from what the checkout holds now.  ``base`` is what it is
    built on, and ``base_here`` whether that is in the engine.  ``room_bytes`` is the free disk that
    building it takes: 0 where nothing large is missing.  ``from_lock``: its packages are the lock's,
    not those that its base brings (CUDA_IMAGE, LOCAL_PYTHON).  ``recorded`` are the base and the lock
    of the built image as the record names them; ``caches`` the names of the compile caches that are
    there, of whatever image and driver (see ``volumes.compile_cache``).
    """

    name: str
    image: str | None
    base: str
    base_here: bool
    room_bytes: int
    from_lock: bool = True
    recorded: tuple[str, str] = ("", "")
    caches: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GpuSupport:
    """What an engine says about giving GPUs to containers: the NVIDIA devices that it lists by CDI,
    the folders in which it looks for CDI's specifications, and the names of its runtimes."""

    devices: tuple[str, ...]
    cdi_folders: tuple[str, ...]
    runtimes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run of the worker: in which image, with which arguments, under which limits.

    ``cpus`` are the logical CPUs that it may use (a set, never a quota: TensorFlow sizes its
    thread pools by affinity).  ``memory_bytes`` bounds memory and swap together; None: no bound.
    ``volumes`` are made where they are not there yet; all else that it sees is read-only or memory.
    """

    image: Image
    arguments: tuple[str, ...]
    cpus: tuple[int, ...]
    memory_bytes: int | None = None
    gpu: GpuRequest | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    volumes: tuple[Volume, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a run ended: its exit code (None: unknown), the end of its standard error, and one phrase for
    people such as ``exit code 3`` or ``killed by SIGKILL`` or ``out of memory``; when, of ``time.monotonic``.

    ``left`` is what it has left behind and how to remove that, for people; empty: nothing."""

    code: int | None
    diary: str
    phrase: str
    ended: float
    left: str = ""


class Running(Protocol):
    """A run under way.  Always closed or abandoned, whatever happened."""

    @property
    def id(self) -> str:
        """The engine's name for it, unique for ever."""

    @property
    def process_id(self) -> int | None:
        """Its process on this machine, the first of its session; None: it is a container's."""

    def next_line(self, timeout_s: float) -> str | None:
        """The next whole line of its standard output, or None once that has ended.

        Blocks without spinning.

        Raises:
            TimeoutError: no line came in time; the run goes on.
            EngineError: the engine itself has gone.
        """

    def stop(self) -> None:
        """Kills it now; harmless when it has ended.  Raises nothing when it is gone already."""

    def abandon(self) -> Ending:
        """Ends it as it is, for who wants to leave: within seconds, and with what could not be removed.

        Raises nothing when the engine does not answer.  Instead of `close`, or where that failed.
        """

    def close(self) -> Ending:
        """Waits for its end (kills it if need be), collects how it ended, removes every trace.

        Can be called again and answers the same.

        Raises:
            EngineError: the engine itself has gone, so that neither is known.
        """


Say = Callable[[str], None]
"""Takes one line for people about something slow that is under way."""


class Engine(Protocol):
    """Something that can run the worker for an arm."""

    @property
    def name(self) -> str:
        """``docker``, ``local`` or ``inside``."""

    @property
    def kind(self) -> EngineKind:
        """In whose words a remedy has to be."""

    @property
    def isolation(self) -> Isolation:
        """``container``; for plain processes ``none``, or ``unseen`` in a container of others."""

    @property
    def is_here(self) -> bool | None:
        """Whether it is proven to be on this machine; None: unknown (a remote endpoint: False)."""

    def describe(self) -> dict[str, Scalar]:
        """Dotted facts about the engine for the document: version, endpoint kind, storage, cgroup, …

        Never an address, host or user name.
        """

    def cpus(self) -> tuple[int, ...]:
        """The logical CPUs that a run may use by default, ascending."""

    def memory_bytes(self) -> int | None:
        """The memory of the engine's machine; None where it does not say."""

    def demand(self, names: Iterable[str], progress: Say) -> None:
        """Demands, before anything is built, that nothing which can be known then stands against the images
        of these names: no lock, no wheel for this processor, another Python, too little disk.

        Raises:
            EngineError: something does; the remedy names the ways out.
        """

    def provide(self, name: str, progress: Say, *, packages: Path | None = None) -> Image:
        """The image of that name (``cpu``, ``cuda@2.20``), built now or reused; says why through
        ``progress``.  ``packages`` is a hash lock of what else is to be installed in it.

        Raises:
            EngineError: it can't be made here; the remedy names the ways out.
        """

    def settle_custom(self, progress: Say) -> str | None:
        """The reference of the image that CUDA_IMAGE names, which is fetched where it is missing:
        with its digest, where its registry gave it one.  None: no such image was asked for.

        Raises:
            EngineError: it is not here and not available.
        """

    def find_gpu(self, wanted: str | None) -> GpuRequest:
        """How to ask this engine for the GPU ``wanted`` (an index or UUID), proven to be accepted.  None: the
        first one; the first of the caller's CUDA_VISIBLE_DEVICES where no engine stands between.

        Raises:
            GpuError: there is none, or the engine refuses it; says what was seen and what to do.
        """

    def list_gpus(self) -> tuple[Card, ...]:
        """The GPUs of the engine's machine, by index; empty: none is seen.

        By NVIDIA's library where the machine is this one and it answers, else by the driver's list or the
        device nodes; without an engine only those of CUDA_VISIBLE_DEVICES.  `find_gpu` tells whether it
        is available.

        Raises:
            EngineError: the engine refused to look.
        """

    def start(self, job: Job) -> Running:
        """Starts the worker.

        Raises:
            EngineError: the engine refused; nothing is left behind.
        """

    def fill(self, volume: Volume, archive: bytes, image: Image) -> None:
        """Makes a volume and unpacks a tar archive in it, by means of an image that is there.

        Raises:
            EngineError: the engine refused, or there is no room.
        """

    def remove_volume(self, volume: Volume) -> None:
        """Removes a volume that no run of this campaign needs any more; harmless where there is none.

        Raises nothing: what can't be removed now is a leftover.
        """

    def claim(self) -> str | None:
        """Marks it as taken by this process, for those who use it from elsewhere.  None: it is ours, until
        `release`; else who has it, in words.

        Raises:
            EngineError: it does not answer, or refuses.
        """

    def release(self) -> None:
        """Takes our mark away; harmless where there is none.

        Raises nothing: what can't be removed now is a leftover.
        """

    def sweep_leftovers(self) -> int:
        """Removes stopped containers and volumes that a killed campaign left behind, by label; how many.

        Those of a live campaign are left alone, and lasting volumes that can still be of use.
        """

    # What it has, for the doctor: asked without making or fetching anything.

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
