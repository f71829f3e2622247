"""What lies under results/ is whole at every moment, named by rule, and written by one campaign."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from suite import wire
from suite.analysis.documents import read
from suite.analysis.documents.read import load_campaign
from suite.content import SUITE
from suite.errors import BusyError, CrossoverError, UsageError
from suite.host.campaign.store import (
    Store,
    campaign_name,
    only_campaign,
    try_results,
    write_atomically,
)
from suite.model import PLAN, document_name
from tests import synthetic


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "results", "one")


def test_documents_and_plan_are_loaded_again_with_their_offset(store: Store) -> None:
    made = synthetic.make_campaign(blocks=1)
    documents = synthetic.make_documents(made)
    zone = timezone(timedelta(hours=5, minutes=30))
    campaign = replace(made, created=made.created.astimezone(zone))
    store.write_plan(campaign)
    for document in documents:
        store.write_document(document)
    # What was left unfinished does not disturb.
    (store.folder / ".cpu-01.json.abc").write_text("{")
    (store.folder / ".cpu-01.json").write_text("{")
    loaded = load_campaign(store.folder)
    assert loaded.campaign == campaign
    assert loaded.documents == documents
    assert '"created": "2026-11-21T15:00:00+05:30"' in (store.folder / PLAN).read_text()


@pytest.mark.parametrize(
    ("named", "name"),
    [
        (("cpu", 1), "cpu-01.json"),
        (("cpu", 0), "cpu-00.json"),
        (("cuda-hidden", 12), "cuda-hidden-12.json"),
        (("cpu", 3, 1), "cpu-03-r1.json"),
        (("cpu", 100), "cpu-100.json"),
    ],
)
def test_names_are_made_by_rule(named: tuple[Any, ...], name: str) -> None:
    assert document_name(*named) == name
    created = datetime(2026, 11, 21, 10, 45, tzinfo=timezone.utc)
    assert campaign_name(created, "mybox", "quick") == "20261121T104500Z-mybox-quick"


def test_a_report_can_hold_pictures_and_lose_them_again(store: Store) -> None:
    store.write_reports({"report.md": "é\n", "plots/a.svg": "<svg/>\n", "plots/a.png": b"\x89\r\n"})
    assert (store.folder / "report.md").read_bytes() == "é\n".encode()
    assert (store.folder / "plots" / "a.png").read_bytes() == b"\x89\r\n"
    (store.folder / "plots" / "mine.svg").touch()
    store.drop_reports(["plots/a.svg", "plots/b.svg"])
    assert sorted(path.name for path in (store.folder / "plots").iterdir()) == ["a.png", "mine.svg"]


def test_a_rewritten_document_replaces_the_old_one_alone(store: Store) -> None:
    campaign = synthetic.make_campaign(blocks=1, arms=("cpu",))
    store.write_document(synthetic.make_document(campaign, "cpu", 1, samples=3))
    store.write_document(synthetic.make_document(campaign, "cpu", 1, samples=4))
    assert sorted(path.name for path in store.folder.iterdir()) == ["cpu-01.json", "logs"]
    document = read.load_document(store.folder / "cpu-01.json")
    assert {len(cell.samples_s) for cell in document.cells} == {1, 4}


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("where", "broken", "error", "raised"),
    [
        (os, "fsync", FULL, CrossoverError),
        (os, "fsync", KeyboardInterrupt("now"), KeyboardInterrupt),
        (Path, "replace", FULL, CrossoverError),
        (Path, "chmod", FULL, CrossoverError),
    ],
)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    where: Any,
    broken: str,
    error: BaseException,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    raised: type[BaseException],
) -> None:
    path = tmp_path / "campaign.json"
    write_atomically(path, "old")

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(where, broken, fail)
    with pytest.raises(raised, match=r"No space left|^now$"):
        write_atomically(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["campaign.json"]


def test_a_reader_sees_the_old_text_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "campaign.json"
    write_atomically(path, "old")
    seen: list[str] = []
    real = os.fsync

    def look(handle: int) -> None:
        seen.append(path.read_text())
        real(handle)

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(path, "new")
    assert seen == ["old"]
    assert path.read_text() == "new"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_files_are_for_whom_the_umask_lets_in_utf_8(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "file", "a × b\n")
        assert os.umask(mask) == mask, "the umask is as it was"
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    assert (tmp_path / "file").read_bytes() == b"a \xc3\x97 b\n"


def test_files_written_at_once_are_for_the_same(store: Store) -> None:
    before = os.umask(0o022)
    try:
        with ThreadPoolExecutor(8) as pool:
            for number in range(200):
                pool.submit(store.write_reports, {f"{number}.md": "text"})
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in store.folder.glob("*.md")} == {0o644}


def test_logs_grow_also_where_the_folder_for_them_has_gone(store: Store) -> None:
    (store.folder / "logs").rmdir()
    for text in ("one", "two\n", "", "half a character \ud800"):
        store.append_log("cpu-01", text)
    text = (store.folder / "logs" / "cpu-01.log").read_text()
    assert text == "one\ntwo\nhalf a character ?\n"


def test_what_is_there_is_not_written_into(tmp_path: Path) -> None:
    Store.create(tmp_path, "one")
    (tmp_path / "results").write_text("a file")
    for folder in (tmp_path, tmp_path / "results"):
        with pytest.raises(UsageError, match="can't make") as caught:
            Store.create(folder, "one")
        assert "RESULTS=" in caught.value.remedy
    with pytest.raises(UsageError, match="can't write"), only_campaign(tmp_path / "results"):
        pass


def test_one_campaign_at_a_time_in_a_folder_until_it_ends_or_fails(tmp_path: Path) -> None:
    with only_campaign(tmp_path / "results"):
        with pytest.raises(BusyError) as caught, only_campaign(tmp_path / "results"):
            pass
        assert caught.value.exit_status == 6
        with only_campaign(tmp_path / "elsewhere"):
            pass
    with pytest.raises(ZeroDivisionError), only_campaign(tmp_path / "results"):
        raise ZeroDivisionError
    with only_campaign(tmp_path / "results"):
        pass


def test_who_only_asks_leaves_nothing_and_is_told_the_same(tmp_path: Path) -> None:
    try_results(tmp_path / "not" / "yet")
    assert list(tmp_path.iterdir()) == []
    with only_campaign(tmp_path / "results"):
        with pytest.raises(BusyError):
            try_results(tmp_path / "results")
        assert [path.name for path in (tmp_path / "results").iterdir()] == [".lock"]
    try_results(tmp_path / "results")
    with pytest.raises(UsageError, match="can't write"):
        try_results(tmp_path / "results" / ".lock")


@pytest.mark.parametrize(
    ("number", "remedy"), [(errno.ENOSPC, "make room"), (errno.EIO, "name an")]
)
def test_a_full_disk_is_told_before_a_campaign_begins(
    number: int, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: object) -> None:
        raise OSError(number, "it is not to be")

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    for asked in (lambda: try_results(tmp_path), lambda: only_campaign(tmp_path).__enter__()):
        with pytest.raises(UsageError) as caught:
            asked()
        assert caught.value.remedy.startswith(remedy)


@pytest.mark.processes
def test_a_killed_campaign_does_not_keep_the_lock(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from suite.host.campaign.store import only_campaign\n"
        "with only_campaign(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
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
        with pytest.raises(BusyError), only_campaign(tmp_path):
            pass
        other.kill()
    with only_campaign(tmp_path):
        pass


def test_no_file_names_a_gpu(store: Store) -> None:
    uuid = "GPU-11111111-2222-3333-4444-555555555555"
    store.append_log("cuda-01", f"unresolvable CDI devices nvidia.com/gpu={uuid}")
    campaign = synthetic.make_campaign()
    document = synthetic.make_document(campaign, "cuda", 1)
    named = {**document.facts, "environment.NVIDIA_VISIBLE_DEVICES": uuid}
    store.write_document(replace(document, facts=named))
    for path in store.folder.rglob("*"):
        assert not path.is_file() or uuid[4:] not in path.read_text(encoding="utf-8")
    loaded = read.load_document(store.folder / "cuda-01.json")
    assert loaded.facts["environment.NVIDIA_VISIBLE_DEVICES"] == f"GPU-{wire.hash_uuid(uuid)}"


def test_a_lock_of_another_users_is_no_place_for_a_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, mode: str = "r", **_: Any) -> None:
        assert path.name == ".lock"
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / ".lock").touch()
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UsageError, match="Permission denied"):
        try_results(tmp_path)


def test_who_only_asks_turns_no_campaign_away(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    asking = (tmp_path / ".lock").open("r+")
    fcntl.flock(asking, fcntl.LOCK_SH)
    Timer(0.05, asking.close).start()
    with only_campaign(tmp_path):
        pass
