"""The door to a folder: files are whole at every moment, and nothing leads out of it."""

from __future__ import annotations

import os
import resource
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from suite import safe_folder as door
from suite.errors import CrossoverError, DocumentError
from suite.safe_folder import Folder
from tests.plants import PLANTS, Plant


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    (tmp_path / "here").mkdir()
    with Folder.open(tmp_path / "here") as opened:
        yield opened


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def told(action: Callable[[], object]) -> str:
    with pytest.raises(DocumentError) as caught:
        action()
    assert caught.value.remedy
    return caught.value.what


def test_a_file_is_written_and_read_and_grows(folder: Folder) -> None:
    folder.write("a", "a × b\n")
    folder.append("a", "half a character \ud800")
    folder.append("sub/b", "begun")
    assert folder.read("a") == "a × b\nhalf a character ?".encode()
    assert folder.read("sub/b") == b"begun"
    assert folder.names() == ["a", "sub"]


FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("broken", "error"),
    [("fsync", FULL), ("replace", FULL), ("fsync", KeyboardInterrupt())],
)
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    broken: str, error: BaseException, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("campaign.json", "old")

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises((CrossoverError, KeyboardInterrupt)) as caught:
        folder.write("campaign.json", "new")
    if error is FULL:
        assert isinstance(caught.value, CrossoverError)
        assert "No space left" in str(caught.value)
        assert "RESUME=" in caught.value.remedy
    assert folder.read("campaign.json") == b"old"
    assert folder.names() == ["campaign.json"]


def test_a_reader_sees_the_old_text_until_the_new_one_is_whole(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("campaign.json", "old")
    seen: list[bytes] = []
    real = os.fsync

    def look(handle: int) -> None:
        seen.append(folder.read("campaign.json"))
        real(handle)

    monkeypatch.setattr(os, "fsync", look)
    folder.write("campaign.json", "new")
    assert seen == [b"old"]
    assert folder.read("campaign.json") == b"new"


@pytest.mark.parametrize(("mask", "mode"), [(0, 0o666), (0o027, 0o640)])
def test_files_are_for_whom_the_umask_lets(
    mask: int, mode: int, umask: None, folder: Folder
) -> None:
    os.umask(mask)
    folder.write("file", "text")
    assert stat.S_IMODE((folder.path / "file").stat().st_mode) == mode


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_nothing_but_a_regular_file_is_read_or_replaced(
    plant: Plant, folder: Folder, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    plant(folder.path / "a", outside)
    for action in (
        lambda: folder.read("a"),
        lambda: folder.write("a", "hers"),
        lambda: folder.append("a", "hers"),
        lambda: folder.remove("a"),
        lambda: folder.open_lock("a", make=True),
    ):
        assert told(action).startswith("a: is a")
        assert told(action).endswith(", not a regular file")
    for action in (
        lambda: folder.read("a/b"),
        lambda: folder.write("a/b", "hers"),
        lambda: folder.remove("a/b"),
        lambda: folder.holds("a/b"),
        lambda: folder.inside("a"),
    ):
        assert told(action).startswith("a: is a")
        assert told(action).endswith(", not a folder")
    assert outside.read_text() == "mine"
    assert folder.names() == ["a"]


def test_a_folder_in_a_files_place_is_refused(folder: Folder) -> None:
    folder.make("a").close()
    for action in (folder.read, folder.remove, lambda name: folder.write(name, "")):
        assert told(lambda action=action: action("a")) == "a: is a folder, not a regular file"  # type: ignore[misc]


@pytest.mark.parametrize(
    "path", ["..", "../a", "a/../../b", "/etc/passwd", "", "a//b", "a\0b", "."]
)
def test_no_path_leads_out(path: str, folder: Folder) -> None:
    for action in (folder.read, folder.remove, folder.holds):
        assert "is not a valid file name" in told(lambda action=action: action(path))  # type: ignore[misc]
    assert "is not a valid file name" in told(lambda: folder.write(path, "x"))
    assert folder.names() == []


def test_odd_names_are_names(folder: Folder) -> None:
    for name in ("two\nlines", "-rf", "~", "é", "x" * 200):
        folder.write(name, name)
        assert folder.read(name) == name.encode()
    with pytest.raises(CrossoverError, match="File name too long"):
        folder.write("x" * 300, "")


def test_what_is_too_large_is_not_read(folder: Folder) -> None:
    with (folder.path / "sparse").open("wb") as sparse:
        sparse.truncate(2**40)
    assert (
        told(lambda: folder.read("sparse"))
        == "sparse: is larger than 16 MiB, the most that is read"
    )
    with (folder.path / "most").open("wb") as most:
        most.truncate(door.MOST_BYTES)
    assert len(folder.read("most")) == door.MOST_BYTES


def test_what_is_not_there_is_told_by_its_name(folder: Folder) -> None:
    assert told(lambda: folder.read("a")).startswith("a: No such file")
    assert told(lambda: folder.read("sub/a")).startswith("sub/a: No such file")
    folder.remove("a")
    folder.remove("sub/a")
    assert not folder.holds("sub/a")
    assert "no such folder" in told(lambda: Folder.open(folder.path / "x"))
    (folder.path / "x").symlink_to(folder.path)
    assert told(lambda: Folder.open(folder.path / "x")).endswith("no such folder: it is a link")


@pytest.mark.parametrize(
    "action",
    [
        lambda here: here.read("a"),
        lambda here: here.write("a", "b"),
        lambda here: Folder.open(here.path),
    ],
)
def test_a_process_that_may_open_no_more_is_told_so(
    action: Callable[[Folder], object], folder: Folder
) -> None:
    folder.write("a", "a")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, before[1]))
    try:
        with pytest.raises(CrossoverError, match="Too many open files") as caught:
            action(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (caught.value.exit_status, "ulimit -n" in caught.value.remedy) == (1, True)


def test_a_folder_that_was_moved_is_still_the_same(folder: Folder, tmp_path: Path) -> None:
    folder.path.rename(tmp_path / "there")
    folder.path.symlink_to(tmp_path)
    folder.write("a", "x")
    assert (tmp_path / "there" / "a").read_text() == "x"
    assert not (tmp_path / "a").exists()
