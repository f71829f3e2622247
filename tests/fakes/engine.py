"""An engine whose containers live by scripts, and the well-behaved worker that most of them run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from suite import codec
from suite.cells.cell import Cell
from suite.errors import EngineError, GpuError, NoGpuError
from suite.host.engine import LABEL, Card, Ending, EngineKind, GpuRequest, Job, Say, Volume
from suite.host.machine.output import describe_ending
from suite.model import CellResult, Check, Image, Isolation, Scalar, make_pending
from suite.worker import scenarios

Word = str | BaseException
"""What a container does next: writes a line, or makes the host's wait end with an exception."""


@dataclass(frozen=True, kw_only=True)
class Life:
    """One container's life: what it says, in order, and how it ends.

    ``seconds`` is how long it is said to have existed.  ``farewell`` stands in for the ending where
    the engine itself has gone; ``left`` what it leaves behind where it is abandoned.
    """

    words: Iterable[Word]
    code: int | None = 0
    out_of_memory: bool = False
    diary: str = ""
    seconds: float = 0.0
    farewell: EngineError | None = None
    left: str = ""

    def but(self, **fields: Any) -> Life:
        """The same life with another end."""
        return replace(self, **fields)


Script = Callable[[Job], Life]
"""How a container lives, given what it was asked."""


def record(name: str, **fields: Any) -> str:
    """A line of the worker."""
    return codec.dump_record({"record": name, **fields})


def asked_cells(job: Job) -> list[tuple[str, int | None]]:
    """The ids that a job asks for, each with its K or None."""
    arguments = list(job.arguments)
    assert arguments[0] in {"measure", "script"}
    rest = arguments[1:]
    while rest and rest[0].startswith("--"):
        rest = rest[1 if rest[0] in {"--gpu", "--brief"} else 2 :]
    found: list[tuple[str, int | None]] = []
    for word in rest:
        identity, _, calls = word.partition("@")
        calls, _, _ = calls.partition(":")
        found.append((identity, int(calls) if calls else None))
    return found


def asked_arm(job: Job) -> str:
    """The arm that a campaign's job is a turn of."""
    return job.labels[f"{LABEL}.invocation"].rpartition("-")[0]


def is_on_gpu(job: Job) -> bool:
    """Whether a job is of the arm with a GPU."""
    return "--gpu" in job.arguments


FACTS: Mapping[str, Scalar] = {
    "content.hash": "f" * 64,
    "cpu.model": "Made-Up Processor",
    "cpu.usable": 2,
    "python.version": "3.13.5",
    "numpy.version": "2.5.5",
    "keras.version": "3.15.1",
    "tensorflow.version": "2.21.0",
}
GPU_FACTS: Mapping[str, Scalar] = {
    "cuda.driver_api": 12050,
    "gpu.0.name": "Made-Up Accelerator",
    "tensorflow.build.cuda": True,
    "tensorflow.devices": "CPU:0, GPU:0",
    "tensorflow.soft_placement": False,
    "tensorflow.tf32": False,
}
"""What a container tells of itself, and one with a GPU beside it."""


@dataclass
class Worker:
    """A well-behaved worker: does whatever a ``measure`` job asks, in the order asked.

    ``outcomes`` gives by id the fields in which a cell's result differs from the ordinary.
    ``call_s`` is every cell's seconds a call; ``sample_calls`` the K that a calibration finds.
    ``gpu_facts`` is what it tells of itself on a GPU beside the usual, and ``at_end`` what it tells in their
    place before its good-bye.
    """

    cells: Mapping[str, Cell] = field(
        default_factory=lambda: {cell.id: cell for cell in scenarios.cells()}
    )
    outcomes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    call_s: float = 0.002
    sample_calls: int = 6
    seconds: float = 5.0
    gpu_facts: Mapping[str, Scalar] = field(default_factory=lambda: GPU_FACTS)
    at_end: Mapping[str, Scalar] = field(default_factory=dict)

    def __call__(self, job: Job) -> Life:
        """All of it, to a good end."""
        return Life(words=self.words(job), seconds=self.seconds)

    def words(self, job: Job) -> list[str]:
        """Every line, from the first word to the last."""
        gpu = is_on_gpu(job)
        lines = self.greeting(gpu=gpu)
        for identity, calls in asked_cells(job):
            lines += self.cell_lines(identity, calls, gpu=gpu)
        again = [self.tell(gpu=gpu, **self.at_end)] if self.at_end else []
        return [*lines, *again, record("bye")]

    def greeting(self, *, gpu: bool = False) -> list[str]:
        """What comes before the first cell; ``gpu``: on the arm that has one."""
        return [
            record(
                "hello",
                schema=codec.SCHEMA,
                version="0.1.0",
                pid=7,
                at=datetime.now(timezone.utc),
            ),
            record(
                "startup",
                stages={
                    "import": 2.0,
                    "devices": 0.1,
                    "kernel": 0.1,
                    "build": 0.3,
                    "clone": 0.1,
                    "deep": 0.9,
                    "step": 0.9,
                },
                device="/GPU:0" if gpu else "/CPU:0",
            ),
            self.tell(gpu=gpu),
        ]

    def tell(self, *, gpu: bool = False, **more: Scalar) -> str:
        """What it tells of itself; ``more`` beside that, or in its place."""
        facts = {**FACTS, **(self.gpu_facts if gpu else {}), **more}
        return record("facts", facts=facts, seconds=0.25)

    def cell_lines(
        self, identity: str, calls: int | None = None, *, gpu: bool = False
    ) -> list[str]:
        """A cell's two lines."""
        return [
            record("cell_started", id=identity),
            record("cell", cell=self.result(identity, calls, gpu=gpu)),
        ]

    def result(self, identity: str, calls: int | None = None, *, gpu: bool = False) -> CellResult:
        """What comes of a cell."""
        cell = self.cells[identity]
        now = datetime.now(timezone.utc)
        blank = replace(make_pending(cell), outcome="skipped", started=now, ended=now)
        different = dict(self.outcomes.get(identity, {}))
        if different.get("outcome", "measured") != "measured":
            return replace(blank, **different)
        one_shot = cell.one_shot
        device = "GPU:0" if gpu and cell.device == "arm" else "CPU:0"
        return replace(
            blank,
            outcome="measured",
            first_call_s=self.call_s * 5,
            calls_per_sample=1 if one_shot else (calls or self.sample_calls),
            warmup_status="cold" if one_shot else "settled",
            warmup_s=[] if one_shot else [self.call_s * 1.1, self.call_s],
            samples_s=[self.call_s] * (1 if one_shot else 3),
            **{
                "placement": {device: 3},
                "check": Check(what="a sum", value=42.0, tolerance=1e-6),
                "spent_s": {"prepare": 0.01, "first_call": 0.01, "calibrate": 0.05, "measure": 0.1},
                "absent": {
                    "enqueue_fraction": "a CPU's step blocks",
                    "peak_memory_bytes": "TensorFlow does not count the CPU's memory",
                },
                **different,
            },
        )

    def until(self, identity: str, *, begun: bool) -> Callable[[Job], list[str]]:
        """The lines up to a cell: to its start if it has ``begun``, else to just before it."""

        def words(job: Job) -> list[str]:
            gpu = is_on_gpu(job)
            lines = self.greeting(gpu=gpu)
            for asked, calls in asked_cells(job):
                start, outcome = self.cell_lines(asked, calls, gpu=gpu)
                if asked == identity:
                    return [*lines, start] if begun else lines
                lines += [start, outcome]
            raise AssertionError(f"{identity} was not asked for: {job.arguments}")

        return words

    def dies_in(self, identity: str, **end: Any) -> Script:
        """A container that ends in the middle of a cell."""
        words = self.until(identity, begun=True)
        return lambda job: Life(words=words(job), **{"code": 137, **end})

    def dies_before(self, identity: str, **end: Any) -> Script:
        """A container that ends when the cell before this one has its outcome."""
        words = self.until(identity, begun=False)
        return lambda job: Life(words=words(job), **{"code": 137, **end})

    def meets(self, identity: str, word: Word, **end: Any) -> Script:
        """A container that does something else in the middle of a cell, and then goes on."""
        before = self.until(identity, begun=True)

        def life(job: Job) -> Life:
            head = before(job)
            return Life(words=[*head, word, *self.words(job)[len(head) :]], **end)

        return life


class FakeRunning:
    """A container under way, by its script."""

    process_id = None

    def __init__(self, engine: FakeEngine, identity: str, life: Life) -> None:
        self.id = identity
        self._engine = engine
        self._life = life
        self._words: Iterator[Word] = iter(life.words)
        self._ending: Ending | None = None
        self._stopped = False
        self.timeouts: list[float] = []

    def next_line(self, timeout_s: float) -> str | None:
        assert self._ending is None, "a closed run was listened to"
        self.timeouts.append(timeout_s)
        word = None if self._stopped else next(self._words, None)
        if isinstance(word, BaseException):
            raise word
        return word

    def stop(self) -> None:
        self._engine.log.append(("stop", self.id))
        self._stopped = True

    def abandon(self) -> Ending:
        self._engine.log.append(("abandon", self.id))
        now, life = time.monotonic(), self._life
        phrase = "stopped by the host"
        return Ending(code=None, diary=life.diary, phrase=phrase, ended=now, left=life.left)

    def close(self) -> Ending:
        self._engine.log.append(("close", self.id))
        life = self._life
        if life.farewell is not None:
            raise life.farewell
        if self._ending is None:
            code = 137 if self._stopped else life.code
            phrase = describe_ending(code, out_of_memory=life.out_of_memory, memory_bytes=2**30)
            ended = time.monotonic() + life.seconds
            self._ending = Ending(code=code, diary=life.diary, phrase=phrase, ended=ended)
        return self._ending


class FakeEngine:
    """An engine whose containers live by scripts: the listed ones first, then ``otherwise``.

    An `EngineError` in the list is a refusal to start.  ``gpu`` is what a request for one gets.
    """

    def __init__(
        self,
        *scripts: Script | EngineError,
        otherwise: Script | None = None,
        gpu: GpuRequest | GpuError | None = None,
        image_trouble: EngineError | None = None,
        isolation: Isolation = "container",
        memory: int | None = 8 * 2**30,
        cards: tuple[Card, ...] = (),
        here: bool | None = True,
        custom: str | None = None,
        kind: EngineKind | None = None,
    ) -> None:
        self.isolation = isolation
        self.name = {"container": "docker", "none": "local", "unseen": "inside"}[isolation]
        self.kind: EngineKind = kind or self.name  # type: ignore[assignment]
        self.is_here = here
        self.cards = cards
        self.scripts = list(scripts)
        self.otherwise = otherwise or Worker()
        self.gpu = gpu or NoGpuError("this machine has no GPU", "measure with ARMS=cpu")
        self.image_trouble = image_trouble
        self.custom = custom
        self._memory = memory
        self.jobs: list[Job] = []
        self.runs: list[FakeRunning] = []
        self.log: list[tuple[str, str]] = []
        self.demanded: list[str] = []
        self.provided: list[str] = []
        self.gpus_asked: list[str | None] = []
        self.filled: dict[str, bytes] = {}
        self.removed_volumes: list[Volume] = []
        self.taken_by: str | None = None
        self.claims: list[str] = []

    def describe(self) -> dict[str, Scalar]:
        return {"name": self.name, "version": "0.0-fake", "endpoint": "none"}

    def cpus(self) -> tuple[int, ...]:
        return (0, 1)

    def memory_bytes(self) -> int | None:
        return self._memory

    def settle_custom(self, progress: Say) -> str | None:
        return self.custom

    def demand(self, names: Iterable[str], progress: Say) -> None:
        self.demanded += names

    def provide(self, name: str, progress: Say, *, packages: Path | None = None) -> Image:
        if self.image_trouble is not None:
            raise self.image_trouble
        self.provided.append(name)
        progress(f"the image {name} is here already")
        return fake_image(name)

    def find_gpu(self, wanted: str | None) -> GpuRequest:
        self.gpus_asked.append(wanted)
        if isinstance(self.gpu, GpuError):
            raise self.gpu
        return self.gpu

    def list_gpus(self) -> tuple[Card, ...]:
        return self.cards

    def start(self, job: Job) -> FakeRunning:
        self.jobs.append(job)
        script = self.scripts.pop(0) if self.scripts else self.otherwise
        if isinstance(script, EngineError):
            raise script
        run = FakeRunning(self, f"fake-{len(self.runs) + 1}", script(job))
        self.log.append(("start", run.id))
        self.runs.append(run)
        return run

    def fill(self, volume: Volume, archive: bytes, image: Image) -> None:
        self.filled[volume.name] = archive

    def remove_volume(self, volume: Volume) -> None:
        self.removed_volumes.append(volume)

    def claim(self) -> str | None:
        self.claims.append("claim")
        return self.taken_by

    def release(self) -> None:
        self.claims.append("release")

    def sweep_leftovers(self) -> int:
        return 0

    def closed(self) -> bool:
        """Whether every container that was started was also closed."""
        ids = [run.id for run in self.runs]
        return ids == [identity for verb, identity in self.log if verb in {"close", "abandon"}]


def fake_image(name: str) -> Image:
    """An image that was never built."""
    return Image(
        id=f"sha256:{name}",
        content=None,
        base="python@sha256:0",
        digests=[],
        lock=f"docker/{name}.txt",
        origin="made up",
        size_bytes=1_000_000_000,
    )
