"""The door to the real machine, and the doctor's memo: each thing is looked at once, whoever asks."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.doctor.finding import Unknown
from suite.host.doctor.probe import (
    Engine,
    Machine,
    Probe,
    Question,
    free_bytes,
    once,
    run_command,
)
from tests.fakes.doctor_machine import FakeExamined


@pytest.mark.processes
def test_programs_that_are_missing_fail_or_hang() -> None:
    assert run_command(["no-such-program-anywhere"], 1) is None
    failed = run_command(["sh", "-c", "echo out; echo err >&2; exit 3"], 5)
    assert failed is not None
    assert (failed.returncode, failed.stdout) == (3, "out\nerr\n")
    with pytest.raises(Unknown, match="did not answer within"):
        run_command(["sleep", "5"], 0.1)


def test_disks_and_folders_that_do_not_exist_yet(tmp_path: Path) -> None:
    # Others write meanwhile, so two readings of one disk are only near each other.
    there, here = free_bytes(tmp_path / "not" / "yet"), free_bytes(tmp_path)
    assert there is not None
    assert there == pytest.approx(here, rel=0.5)
    (tmp_path / "file").write_text("")
    machine = Machine(open_engine=FakeExamined, root=tmp_path)
    assert machine.read("/file") is None
    assert machine.find("/*") == ("/file",)


def refuse() -> Engine:
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
