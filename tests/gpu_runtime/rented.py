"""A machine as one rents it: a GPU that is none, and an engine of the tests' own that passes it through."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.api.client import APIClient
from docker.errors import NotFound

from suite.fingerprint import SUITE
from tests.fakes.daemons import Daemon
from tests.gpu_runtime.machine import GpuMachine, environ

EAGER = "overhead.eager_op"
ONE_CELL = ("--profile", "smoke", "--blocks", "1", "--arms", "cpu cuda", "--only", EAGER)
"""A campaign that shows whether the GPU is to be had, in the least time."""

PATIENCE_S = 300.0


@dataclass
class Rented:
    """A machine with an engine and a GPU."""

    machine: GpuMachine
    daemon: Daemon
    base: str
    images: Mapping[str, str]
    """The tag of each image by its name."""

    @property
    def variables(self) -> dict[str, str]:
        """What a command there finds in its environment."""
        return {"DOCKER_HOST": self.daemon.url, "BASE_IMAGE": self.base}

    @property
    def client(self) -> APIClient:
        return APIClient(base_url=self.daemon.url, version="1.41")

    def left(self) -> list[str]:
        """The containers that are there, running or not."""
        with closing(self.client) as client:
            return [one["Id"] for one in client.containers(all=True)]

    def say(self, what: str = "") -> None:
        """What the hook does instead of its work."""
        path = self.machine.folder / "hook"
        path.unlink(missing_ok=True)
        if what:
            path.write_text(what)

    def suite(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`python -m suite …` on that machine."""
        return self.machine.suite(*words, wheels=False, **self.variables)

    def doctor(self, *words: str) -> dict[str, Any]:
        """What the doctor finds."""
        done = self.suite("doctor", "--json", *words)
        found: dict[str, Any] = json.loads(done.stdout)
        assert found["status"] == done.returncode
        return found

    def make(self, target: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """`make …`, as a person types it."""
        given = [
            f"{name}={value}" for name, value in {"BASE_IMAGE": self.base, **variables}.items()
        ]
        words = ["make", "--no-print-directory", "-C", str(SUITE.parent), target, *given]
        return self.machine.run(words, environ(**self.variables), wheels=False)

    def bench(self, results: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], Path]:
        """A campaign: how it ended, and its folder."""
        done = self.suite("bench", "--results", str(results), *words)
        return done, find_folder(results)

    def begin(self, results: Path, *words: str) -> subprocess.Popen[bytes]:
        """A campaign that goes on beside us; nobody reads what it says."""
        command = [sys.executable, "-m", "suite", "bench", "--results", str(results), *words]
        return subprocess.Popen(
            self.machine.words(command, wheels=False),
            env=environ(**self.variables),
            cwd=self.machine.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def find_folder(results: Path) -> Path:
    """The folder of the only campaign there; that of all, where there is none."""
    folders = [path for path in results.iterdir() if path.is_dir()] if results.exists() else []
    return folders[-1] if folders else results


def load(folder: Path, name: str) -> Any:
    """A document, or the summary."""
    return json.loads((folder / name).read_text())


def wait_until(holds: Callable[[], bool], what: str, lives: Callable[[], bool]) -> None:
    """Waits, for long enough on any machine, while what should bring it about lives."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"not seen: {what}"
        assert lives(), f"it ended before {what}"
        time.sleep(0.05)


@contextmanager
def watch_containers(rented: Rented) -> Iterator[list[dict[str, Any]]]:
    """What the engine says of every container that starts meanwhile."""
    seen: list[dict[str, Any]] = []
    client = rented.client
    events = client.events(decode=True, filters={"event": "start", "type": "container"})

    def look() -> None:
        asking = rented.client
        for event in events:
            # A trivial one may be gone already.
            with suppress(NotFound):
                seen.append(asking.inspect_container(event["id"]))
        asking.close()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        events.close()
        thread.join(30)
        client.close()
