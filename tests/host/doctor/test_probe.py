"""The doctor's memo: each thing is looked at once, whoever asks and whatever comes of it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.doctor.probe import Examined, Machine, Probe, Question, once


def refuse() -> Examined:
    raise EngineError("no engine here", "start one")


@pytest.fixture
def probe() -> Probe:
    return Probe(Machine(open_engine=refuse), Question(results=Path("results"), cells=()), 0.0)


def test_who_comes_while_a_look_is_under_way_waits_for_it(probe: Probe) -> None:
    looks: list[str] = []

    @once
    def look(_: Probe) -> str:
        time.sleep(0.05)
        looks.append("looked")
        return "seen"

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(look(probe))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (looks, found) == (["looked"], ["seen"] * 4)


def test_a_look_that_failed_is_not_made_again_and_tells_everyone_the_same(probe: Probe) -> None:
    errors = []
    for _ in range(2):
        with pytest.raises(EngineError) as caught:
            probe.engine()
        errors.append(caught.value)
    assert errors[0] is errors[1]
