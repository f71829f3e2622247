"""One campaign at a time: who holds a lock is told, a dead holder holds none, and who waits gets it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

import pytest

from suite.errors import BusyError, DocumentError
from suite.fingerprint import SUITE
from suite.host.machine import lock
from suite.host.machine.lock import PLACE, Lock, describe_holder, find_place, wait_for
from tests.plants import PLANTS, Plant


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Lock]:
    with closing(Lock(tmp_path, "a.lock", make=True)) as found:
        assert found.take() is None
        yield found


def test_who_comes_second_is_told_who_holds_it_since_when_and_for_how_long(
    held: Lock, tmp_path: Path
) -> None:
    with closing(Lock(tmp_path, "a.lock", make=True)) as other:
        assert "for an unknown time" in str(other.take())
        held.expect(600.0)
        for said in (other.take(), other.ask()):
            assert lock.name_self() in str(said)
            assert f"since {datetime.now(timezone.utc):%Y-%m-%d}" in str(said)
            assert "for about 10 min more" in str(said)
        held.expect(5.0)
        assert "nearly done" in str(other.take())
        held.close()
        assert other.ask() is None
        assert other.take() is None


@pytest.mark.parametrize(
    "note",
    [b"", b"{", b"[]", b'{"who": 1}', b'{"who": "x", "since": 1e99}', b"\xff", b'{"who": "x"}',
     b'{"who": "x", "since": -1e18}', b'{"who": "x", "since": "2026-11-22T10:00:00"}'],
)  # fmt: skip
def test_a_note_that_says_nothing_is_no_reason_to_stumble(note: bytes) -> None:
    assert describe_holder(note) == "of an unknown owner"


def test_a_lock_is_every_users(tmp_path: Path) -> None:
    Lock(tmp_path, "a.lock", make=True).close()
    assert (tmp_path / "a.lock").stat().st_mode & 0o777 == 0o666
    with pytest.raises(FileNotFoundError):
        Lock(tmp_path, "b.lock", make=False)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_what_is_planted_in_its_place_is_not_followed(plant: Plant, tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    plant(tmp_path / "locks" / "a.lock", tmp_path / "outside")
    with pytest.raises(DocumentError, match=r"^a\.lock: is a"):
        Lock(tmp_path / "locks", "a.lock", make=True)
    assert not (tmp_path / "outside").exists()


@pytest.mark.processes
def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from suite.host.machine.lock import Lock\n"
        "lock = Lock(pathlib.Path(sys.argv[1]), 'a.lock', make=True)\n"
        "assert lock.take() is None\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=SUITE.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with closing(Lock(tmp_path, "a.lock", make=True)) as mine:
            assert f"process {other.pid}" in str(mine.take())
            other.kill()
            other.wait()
            assert mine.take() is None


def test_who_waits_is_told_once_and_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    said: list[str] = []
    monkeypatch.setattr(lock.time, "sleep", slept.append)
    answers = iter(["ann"] * 20)
    wait_for(lambda: next(answers, None), "here", time.monotonic() + 1800, said.append)
    assert said == ["waiting up to 30 min for another campaign here: ann"]
    assert max(slept) == 5.0


def test_who_waits_in_vain_is_told_who_still_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(lock.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(lock.time, "sleep", lambda s: now.__setitem__(0, now[0] + s))
    said: list[str] = []
    with pytest.raises(BusyError, match="another campaign is running here: ann") as caught:
        wait_for(lambda: "ann", "here", 160.0, said.append)
    assert (caught.value.exit_status, len(said), now[0]) == (6, 1, 160.0)
    assert "WAIT=30m" in caught.value.remedy


def test_the_machines_lock_lies_where_all_its_users_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PLACE, str(tmp_path))
    assert find_place() == tmp_path
    monkeypatch.delenv(PLACE)
    assert find_place().stat().st_mode & 0o002
    monkeypatch.setattr(Path, "stat", lambda *_: (_ for _ in ()).throw(FileNotFoundError()))
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    assert find_place() == Path("/run/user/7")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(tempfile, "tempdir", "/elsewhere")
    assert find_place() == Path("/elsewhere")
