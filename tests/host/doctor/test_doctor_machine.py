"""The door to the real machine: programs that are missing, fail or hang, and folders that do not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.host.doctor.finding import Unknown
from suite.host.doctor.probe import Machine, Ran, free_bytes, run_command
from tests.fakes.doctor_machine import FakeExamined


@pytest.mark.processes
def test_programs_that_are_missing_fail_or_hang() -> None:
    assert run_command(["no-such-program-anywhere"], 1) is None
    failed = run_command(["sh", "-c", "echo out; echo err >&2; exit 3"], 5)
    assert failed == Ran(code=3, text="out\nerr")
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
