"""A campaign as a process of its own, to which something happens, and what must hold afterwards.

The worker is a program that goes by a script and takes its time, so that a campaign lasts seconds and its
numbers are the same whenever and wherever it runs.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.host.machine.lock import PLACE
from tests.fakes.proxy import Proxy
from tests.faults.places import Place, find_processes, wait_until_gone

ROOT = Path(__file__).resolve().parents[2]
WORDS = (
    *("--profile", "full", "--blocks", "3", "--seed", "7", "--label", "x"),
    *("--arms", "cpu", "--only", "overhead.startup/* tfdata.read/*"),
)
"""What is measured: seconds of it, with a volume for the cells that read files."""

TIMED_BY_HOST = {"overhead.container"}
"""Cells whose numbers are no script's."""

LIMIT_S = 300.0
"""A campaign that has not ended by then hangs."""

SOON_S = 30.0
"""From the fault to the end of a command that it ends."""

STARTED_S = 10.0
"""Until there is a worker, where none is between two containers."""


@dataclass(frozen=True, kw_only=True)
class End:
    """How a command ended: its exit status (None: it hung), what it complained of, seconds since the fault,
    and the time of the day."""

    status: int | None
    err: str
    seconds: float
    at: float


@dataclass
class Trial:
    """One campaign in a folder of its own.

    ``words``, ``variables`` and ``shell`` (run before the command, by a shell that becomes it) are the
    fault's; ``streams`` are what stands in for standard output and standard error; ``proxy`` is what
    stands in front of the engine, if anything does; ``undo`` ends what must not outlast the trial.
    """

    folder: Path
    draw: random.Random
    place: Place
    words: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    shell: str = ":"
    streams: Mapping[str, Any] = field(default_factory=dict)
    undo: ExitStack = field(default_factory=ExitStack)
    proxy: Proxy | None = None
    process: subprocess.Popen[bytes] | None = None
    planted: float = 0.0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.results = self.folder / "results"
        self.place.prepare(self.folder)

    def start(self) -> None:
        """Begins the campaign, with whatever the fault gives it."""
        self._run("--results", str(self.results), *WORDS, *self.words)

    def resume(self) -> End:
        """Goes on with it, undisturbed."""
        self.variables, self.shell, self.streams = {}, ":", {}
        self._run("--resume", str(self.campaign))
        return self.wait()

    def _run(self, *words: str) -> None:
        command = [sys.executable, "-m", "suite", "bench", *self.place.words(self.folder), *words]
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        # A lock of its own, so that trials beside each other do not wait.
        environment |= {PLACE: str(self.folder), "TMPDIR": str(self.folder)}
        environment |= {**self.place.variables(), **self.variables}
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                ["sh", "-c", f'{self.shell}; exec "$@"', "sh", *command],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                **{"stdout": out, "stderr": err, **self.streams},
            )
        self.planted = time.monotonic()

    @property
    def pid(self) -> int:
        """The command's process."""
        assert self.process is not None
        return self.process.pid

    @property
    def plans(self) -> list[Path]:
        """The campaign's plan; nothing as long as it has none."""
        return list(self.results.glob("*-x-full/campaign.json"))

    @property
    def campaign(self) -> Path:
        """The campaign's folder, once it has its plan."""
        return self.plans[0].parent

    def has_ended(self) -> bool:
        """Whether the command has."""
        return self.process is None or self.process.poll() is not None

    def wait_for_plan(self) -> bool:
        """Waits until there is a plan; False: the command ended without one."""
        until = time.monotonic() + LIMIT_S
        while not (plans := self.plans) and time.monotonic() < until and not self.has_ended():
            time.sleep(0.02)
        return bool(plans)

    def workers(self) -> list[int]:
        """The worker's processes that are there now, what starts and watches them aside."""
        found = find_processes(self.place.mark(self.folder))
        python = (b"python", os.fsencode(sys.executable))
        return [pid for pid, words in found if pid != self.pid and words.startswith(python)]

    def await_workers(self) -> list[int]:
        """As `workers`, once there are some; nobody where the command ends before."""
        until = time.monotonic() + STARTED_S
        while not (found := self.workers()) and time.monotonic() < until and not self.has_ended():
            time.sleep(0.02)
        return found

    def mark(self) -> None:
        """The fault is there from now on."""
        self.planted = time.monotonic()

    def wait(self) -> End:
        """The command's end; one that hangs is killed, and its status is None."""
        assert self.process is not None
        try:
            status: int | None = self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(self.pid, signal.SIGKILL)
            self.process.wait()
        seconds, at = time.monotonic() - self.planted, time.time()
        err = (self.folder / "err").read_text(errors="replace")
        return End(status=status, err=err, seconds=seconds, at=at)

    def left_behind(self) -> list[str]:
        """What still runs or stands in the engine, and files that only a writer under way has."""
        alive = wait_until_gone(self._running) + wait_until_gone(self.place.left)
        files = [path.name for path in self.results.rglob(".*") if path.name != ".lock"]
        return [*alive, *files]

    def _running(self) -> list[str]:
        found = find_processes(self.place.mark(self.folder))
        return [f"process {pid}" for pid, _ in found]

    def kept(self) -> Counter[str]:
        """How often each cell that was measured stands in a document."""
        counts: Counter[str] = Counter()
        for path in self.results.glob("*-x-full/cpu-*.json"):
            try:
                cells = json.loads(path.read_bytes())["cells"]
            except (OSError, ValueError, KeyError):
                continue
            counts.update(one["id"] for one in cells if one["outcome"] == "measured")
        return counts

    def lost(self, end: End) -> int:
        """How many cells the worker told of until then that no document has."""
        return sum((self.place.told(self.folder, end.at) - self.kept()).values())

    def result(self) -> dict[str, Any]:
        """What the finished campaign comes to, but for times of day and container times."""
        found = json.loads((self.campaign / "summary.json").read_bytes())
        return {
            one["id"]: {
                arm: {name: result.get(name) for name in ("outcome", "value", "low", "high", "n")}
                for arm, result in one["arms"].items()
            }
            for one in found["cells"]
            if one["id"] not in TIMED_BY_HOST
        }
