"""Several runs of a real engine stopped at once from another thread, as a survey does it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from suite.host.docker.engine import DockerEngine
from suite.host.engine import Job
from suite.host.survey.halting import Halted, HaltingEngine
from tests.engine.conftest import SLEEPS, Jobs


def test_a_halt_ends_every_run_at_once_and_leaves_nothing(jobs: Jobs, base: str) -> None:
    up = threading.Barrier(3, timeout=60)
    inner = [DockerEngine(base_image=base) for _ in range(2)]
    engines = [HaltingEngine(_Sleeper(one)) for one in inner]  # type: ignore[arg-type]

    def listen(engine: HaltingEngine) -> str:
        run = engine.start(jobs.make(SLEEPS))
        try:
            assert run.next_line(60) == "up"
            up.wait()
            with pytest.raises(Halted):
                run.next_line(600)
        finally:
            ending = run.close()
        return ending.phrase

    with ThreadPoolExecutor(2) as pool:
        listening = [pool.submit(listen, one) for one in engines]
        up.wait()
        for engine in engines:
            engine.halt()
        assert [one.result() for one in listening] == ["killed by SIGKILL"] * 2
    assert jobs.left() == []
    for one in inner:
        one.close()


class _Sleeper:
    """The engine with Python in place of the image's own entry point."""

    def __init__(self, engine: DockerEngine) -> None:
        self._engine = engine

    def start(self, job: Job) -> Any:
        return self._engine.start(job, entrypoint=("python3",))
