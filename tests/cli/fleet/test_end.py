"""How a command ended: what it writes of it, and what is read in its place where it never ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.cli import entry
from suite.cli.fleet.end import ENDED, PLACE, End, parse_end, read_end
from suite.cli.fleet.reasons import Reason
from suite.errors import BusyError, EngineError
from tests.cli.shell import Shell
from tests.fakes.doctor_machine import FakeExamined

ROOM = f"{'':4096}\n"


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / ENDED
    path.write_text(ROOM)
    monkeypatch.setenv(PLACE, str(path))
    return path


def test_a_campaign_says_that_it_ended_well(shell: Shell, ended: Path) -> None:
    assert shell.bench_short().status == 0
    assert ended.read_text() == "status 0\n"
    end = read_end(ended.parent)
    assert end == End(status=0)
    assert end.well


def test_what_stops_a_campaign_is_told_whole_with_its_remedy(shell: Shell, ended: Path) -> None:
    shell.engine = BusyError("another campaign is running here:\nof root, since 10:00", "wait")
    assert shell.run("bench", "--results", str(shell.results), "--profile", "smoke").status == 6
    assert ended.read_text() == (
        "status 6\nwhat another campaign is running here: of root, since 10:00\nremedy wait\n"
    )
    shell.run("bench", "--profile", "nonsense")
    end = read_end(ended.parent)
    assert end is not None
    assert end.status == 2
    assert end.reason is not None
    assert "nonsense" in end.reason.what


@pytest.mark.processes
def test_the_doctor_tells_which_of_its_answers_stops_the_campaign(
    shell: Shell, ended: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeExamined()
    engine.stock_trouble = EngineError("no room", "free some")
    monkeypatch.setattr(entry, "connect", lambda _given, **_: engine)
    assert shell.run("doctor", "--arms", "cpu").status == 3
    assert read_end(ended.parent) == End(
        status=3, reason=Reason(what="images: no room", remedy="free some")
    )


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("status 1", End(status=1)),
        ("status 1\nTraceback\nValueError: x", End(status=1, reason=Reason(what="ValueError: x"))),
        ("no status at all", End(status=None, reason=Reason(what="no status at all"))),
        (
            "status 2\nwhat wrong\nremedy right",
            End(status=2, reason=Reason(what="wrong", remedy="right")),
        ),
    ],
)
def test_what_others_write_is_read(text: str, end: End) -> None:
    assert parse_end(text + ROOM.strip("\n")) == end


def test_an_end_without_a_reason_is_none_that_went_well() -> None:
    end = parse_end("status 137")
    assert end.reason is not None
    assert "exit status 137 and gave no reason" in end.reason.what
    assert not end.well


def test_no_end_is_no_end(tmp_path: Path) -> None:
    assert read_end(tmp_path / "nowhere") is None
    (tmp_path / ENDED).write_text(ROOM)
    assert read_end(tmp_path) is None
