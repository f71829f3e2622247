"""Where a campaign of the bench runs: plain processes, or containers of an engine of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from docker.api.client import APIClient
from docker.client import from_env
from docker.errors import DockerException, NotFound

from suite.host.engine import LABEL
from suite.host.provision.debian_base import STAND_IN
from suite.host.provision.image_table import read_specs
from suite.host.provision.images import follow, plan_build
from suite.worker import scenarios
from tests.fakes import daemons, paced_worker, scripted_python
from tests.fakes.engine import Worker

BASE = os.environ.get("BASE_IMAGE") or STAND_IN
"""What the bench's image is built on: anything with a python3."""

FORKS = {"local": 200, "docker": 5000}
"""Processes that a cell starts: in a container more than it may."""

LEFT_S = 5.0
"""What was told to end may take a moment for it."""

LOOK_S = 0.03
"""Between two looks at which containers have a log: each lives longer."""


def write_script(name: str) -> bytes:
    """What the paced worker says: all cells, in the words of the well-behaved one."""
    worker = Worker()
    lines = {one.id: json.loads(worker.cell_lines(one.id)[1])["cell"] for one in scenarios.cells()}
    script = {"greeting": worker.greeting(), "cells": lines, "forks": FORKS[name]}
    return json.dumps(script).encode()


class Place:
    """Where the campaign of a trial runs, which has a ``folder`` of its own: plain processes here."""

    name = "local"

    def prepare(self, folder: Path) -> None:
        """Makes ready for a trial there, whatever the last one left."""
        (folder / "script").write_bytes(write_script(self.name))
        words = (sys.executable, paced_worker.__file__, folder / "script", folder / "said")
        scripted_python.stand_in(folder / "python", f"exec {' '.join(map(str, words))}")

    def words(self, folder: Path) -> Sequence[str]:
        """What `bench` is told of it."""
        return ("--engine", "local", "--local-python", str(folder / "python"))

    def variables(self) -> Mapping[str, str]:
        """What `bench` finds in its environment."""
        return {}

    def mark(self, folder: Path) -> str:
        """What stands in the command line of each process of a trial, its own command's aside."""
        return f"{folder}/"

    def told(self, folder: Path, until: float) -> Counter[str]:
        """How often a worker told of each cell before that time of the day, in seconds.

        Who speaks to nobody dies of it, so that here all of it was told before.
        """
        said = folder / "said"
        return Counter(said.read_text().split()) if said.exists() else Counter()

    def left(self) -> list[str]:
        """What is there beside processes that must not be."""
        return []


class Docker(Place):
    """An engine of the bench's own, whose CPU image is a small one with the paced worker."""

    name = "docker"

    def __init__(self) -> None:
        """Starts it; to be removed.

        Raises:
            RuntimeError: it does not start.
        """
        self.daemon = daemons.Daemon()
        try:
            self.daemon.start()
            with closing(from_env().api) as source:
                daemons.carry_image(source, BASE, self.daemon.url)
            self.api = APIClient(base_url=self.daemon.url, version="1.41", timeout=120)
            self.image = self._build()
            with (self.daemon.root / "image").open("wb") as file:
                file.writelines(self.api.get_image(self.image))
            self._ear = _Ear(self.daemon.root / "data" / "containers")
        except BaseException:
            self.daemon.remove()
            raise

    def _build(self) -> str:
        """An image that the suite takes for its own; its name."""
        plan = plan_build(
            follow(read_specs()["cpu"], BASE),
            base_identity=str(self.api.inspect_image(BASE)["Id"]),
            architecture=str(self.api.version()["Arch"]),
        )
        # In the command line of its processes this tells whose they are.
        place = f"/{self.daemon.root.name}"
        files = {
            "Dockerfile": (
                f"FROM {BASE}\nCOPY worker.py script {place}/\nUSER 10001:10001\n"
                f'ENTRYPOINT ["python3", "{place}/worker.py", "{place}/script", "-"]\n'
            ).encode(),
            "worker.py": Path(paced_worker.__file__).read_bytes(),
            "script": write_script(self.name),
        }
        daemons.build_image(self.api, files, tag=plan.tag, labels=dict(plan.labels))
        return plan.tag

    def prepare(self, folder: Path) -> None:
        self.resume_all()
        if not self.daemon.lives:
            self.start()
        for one in self.containers():
            with suppress(NotFound):
                self.api.remove_container(one["Id"], force=True)
        self.remove_volumes()
        self.restore_image()
        self._ear.forget()

    def start(self) -> None:
        """Starts it again; its own containerd does not come up in time on a machine that is busy.

        Raises:
            RuntimeError: it does not start.
        """
        for _ in range(2):
            with suppress(RuntimeError):
                return self.daemon.start()
        return self.daemon.start()

    def restore_image(self) -> None:
        """Brings the image back, the same one, where somebody has removed it."""
        try:
            self.api.inspect_image(self.image)
        except NotFound:
            with (self.daemon.root / "image").open("rb") as file:
                for event in self.api.load_image(file) or ():
                    if "error" in event:
                        raise RuntimeError(event["error"]) from None

    def resume_all(self) -> None:
        """Continues whatever of it is stopped."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def processes(self) -> list[int]:
        """All of the engine's, its containers' among them."""
        return [pid for pid, _ in find_processes(self.daemon.root.name)]

    def containers(self) -> list[dict[str, Any]]:
        """The project's containers that are there, running or not."""
        return list(self.api.containers(all=True, filters={"label": LABEL}))

    def volumes(self) -> list[str]:
        """The project's volumes that must not outlast a campaign."""
        found = self.api.volumes(filters={"label": f"{LABEL}=volume"})["Volumes"]
        return [str(one["Name"]) for one in found or ()]

    def remove_volumes(self) -> None:
        """Removes them."""
        for name in self.volumes():
            self.api.remove_volume(name)

    def words(self, folder: Path) -> Sequence[str]:
        return ("--engine", "docker", "--base-image", BASE)

    def variables(self) -> Mapping[str, str]:
        return {"DOCKER_HOST": self.daemon.url}

    def mark(self, folder: Path) -> str:
        return f"/{self.daemon.root.name}/worker.py"

    def told(self, folder: Path, until: float) -> Counter[str]:
        """By what stands in the containers' logs, also of those that are gone."""
        return self._ear.told(until)

    def left(self) -> list[str]:
        try:
            names = [f"container {one['Id'][:12]}" for one in self.containers()]
            return [*names, *(f"volume {one}" for one in self.volumes())]
        except (DockerException, OSError) as error:
            return [f"an engine that does not answer: {error}"]

    def remove(self) -> None:
        """Ends it, and removes all that it had."""
        self._ear.end()
        # As after a trial: nothing must run any more when its folder goes.
        self.prepare(self.daemon.root)
        self.api.close()
        self.daemon.remove()


class _Ear:
    """Holds every container's log open, so that what it said can be read when it is gone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._logs: dict[int, Any] = {}
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while not self._ended.wait(LOOK_S):
            # Folders come and go beneath.
            with suppress(OSError), self._lock:
                for path in self._folder.glob("*/*-json.log*"):
                    if path.stat().st_ino not in self._logs:
                        self._logs[path.stat().st_ino] = path.open("rb")

    def forget(self) -> None:
        """All that was heard; to be called where no container is left."""
        with self._lock:
            while self._logs:
                self._logs.popitem()[1].close()

    def end(self) -> None:
        """Listens no more."""
        self._ended.set()
        self._thread.join()
        self.forget()

    def told(self, until: float) -> Counter[str]:
        """How often each cell was told of before that time of the day."""
        found: Counter[str] = Counter()
        with self._lock:
            logs = list(self._logs.values())
        for log in logs:
            log.seek(0)
            for line in log:
                if rb"\"record\": \"cell\"" in line and read_time(line) < until:
                    found[json.loads(json.loads(line)["log"])["cell"]["id"]] += 1
        return found


def read_time(line: bytes) -> float:
    """When the engine wrote a line into a log, in seconds of the clock of the day."""
    head, _, rest = str(json.loads(line)["time"]).partition(".")
    return datetime.fromisoformat(f"{head}.{rest.rstrip('Z')[:6]:0<6}+00:00").timestamp()


def find_processes(mark: str) -> Iterator[tuple[int, bytes]]:
    """The processes that have that in their command line, which comes with each."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue  # it has ended meanwhile
            if mark.encode() in words and state != "Z":
                yield int(entry.name), words


def wait_until_gone(find: Any) -> list[str]:
    """What is still found after a moment."""
    until = time.monotonic() + LEFT_S
    while (found := list(find())) and time.monotonic() < until:
        time.sleep(0.1)
    return found
