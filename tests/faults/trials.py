"""A campaign as a process of its own, to which something happens, and what must hold afterwards.

The engine is the local one; the worker is a program that goes by a script and takes its time, so that a
campaign lasts seconds and its numbers are the same whenever it runs.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.host.machine.lock import PLACE
from tests.fakes import scripted_python

ROOT = Path(__file__).resolve().parents[2]
WORDS = (
    *("--profile", "smoke", "--blocks", "3", "--seed", "7", "--label", "x"),
    *("--arms", "cpu", "--only", "overhead.*"),
)
"""What is measured: seconds of it."""

LIMIT_S = 120.0
"""A campaign that has not ended by then hangs."""

SOON_S = 30.0
"""From the fault to the end of a command that it ends."""


@dataclass(frozen=True, kw_only=True)
class End:
    """How a command ended: its exit status (None: it hung), what it said, and seconds since the fault."""

    status: int | None
    out: str
    err: str
    seconds: float


@dataclass
class Trial:
    """One campaign in a folder of its own.

    ``words``, ``variables`` and ``limits`` (run in the new process, before the command) are the fault's;
    ``streams`` are what stands in for standard output and standard error.
    """

    folder: Path
    draw: random.Random
    words: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    limits: Callable[[], None] | None = None
    streams: Mapping[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    planted: float = 0.0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.results = self.folder / "results"
        self.said = self.folder / "said"
        self.python = scripted_python.write(self.folder / "python", f"paced:{self.said}")

    def start(self) -> None:
        """Begins the campaign, with whatever the fault gives it."""
        self._run(
            ["--results", str(self.results), *WORDS, *self.words],
            self.variables,
            limits=self.limits,
            streams=self.streams,
        )

    def resume(self, variables: Mapping[str, str] | None = None) -> End:
        """Goes on with it, undisturbed."""
        self._run(["--resume", str(self.campaign)], variables or {})
        return self.wait()

    def _run(
        self,
        words: Sequence[str],
        variables: Mapping[str, str],
        limits: Callable[[], None] | None = None,
        streams: Mapping[str, Any] | None = None,
    ) -> None:
        common = ["bench", "--engine", "local", "--local-python", str(self.python)]
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        # A lock of its own, so that trials beside each other do not wait.
        environment |= {PLACE: str(self.folder), "TMPDIR": str(self.folder)}
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "suite", *common, *words],
                cwd=ROOT,
                env=environment | dict(variables),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=limits,  # noqa: PLW1509  no thread of this program is under way
                **{"stdout": out, "stderr": err, **(streams or {})},
            )
        self.planted = time.monotonic()

    @property
    def pid(self) -> int:
        """The command's process."""
        assert self.process is not None
        return self.process.pid

    @property
    def campaign(self) -> Path:
        """The campaign's folder.

        Raises:
            FileNotFoundError: it has none yet.
        """
        for path in sorted(self.results.glob("*-x-smoke")):
            if (path / "campaign.json").is_file():
                return path
        raise FileNotFoundError(self.results)

    def wait_for_plan(self) -> bool:
        """Waits until there is a plan; False: the command ended without one."""
        until = time.monotonic() + LIMIT_S
        while time.monotonic() < until:
            if any(self.results.glob("*-x-smoke/campaign.json")):
                return True
            if self.process is not None and self.process.poll() is not None:
                return False
            time.sleep(0.02)
        return False

    def workers(self) -> list[int]:
        """The worker's processes that are there now."""
        return [pid for pid in self._processes() if pid != self.pid]

    def _processes(self) -> Iterator[int]:
        mark = str(self.folder).encode() + b"/"
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    words = (entry / "cmdline").read_bytes()
                    state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                except OSError:
                    continue  # it has ended meanwhile
                if mark in words and state != "Z":
                    yield int(entry.name)

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
        seconds = time.monotonic() - self.planted
        out, err = (
            (self.folder / name).read_text(errors="replace")
            if (self.folder / name).exists()
            else ""
            for name in ("out", "err")
        )
        return End(status=status, out=out, err=err, seconds=seconds)

    def left_behind(self) -> list[str]:
        """Processes that still run, and files that nobody but a writer under way has."""
        # What was told to end may take a moment for it.
        until = time.monotonic() + 5
        while (alive := list(self._processes())) and time.monotonic() < until:
            time.sleep(0.1)
        files = [path.name for path in self.results.rglob(".*") if path.name != ".lock"]
        return [*(f"process {pid}" for pid in alive), *files]

    def kept(self) -> Counter[str]:
        """How often each cell that was measured stands in a document."""
        counts: Counter[str] = Counter()
        for path in self.results.glob("*-x-smoke/cpu-*.json"):
            try:
                cells = json.loads(path.read_bytes())["cells"]
            except (OSError, ValueError, KeyError):
                continue
            counts.update(one["id"] for one in cells if one["outcome"] == "measured")
        return counts

    def told(self) -> Counter[str]:
        """How often the worker told of each cell."""
        return Counter(self.said.read_text().split()) if self.said.exists() else Counter()

    def result(self) -> dict[str, Any]:
        """What the finished campaign comes to, but for times of day and container times."""
        found = json.loads((self.campaign / "summary.json").read_bytes())
        return {
            one["id"]: {
                arm: {name: result.get(name) for name in ("outcome", "value", "low", "high", "n")}
                for arm, result in one["arms"].items()
            }
            for one in found["cells"]
        }
