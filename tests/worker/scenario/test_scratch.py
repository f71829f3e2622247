"""The scratch space: files that are whole or not there, and what the page cache holds of them."""

from __future__ import annotations

import os
import posix
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker.scenario import scratch
from suite.worker.scenario.scenario import Inapplicable
from tests.worker.verdict import hear

MOUNTS = """\
22 28 0:21 / /proc rw,nosuid - proc proc rw
28 1 254:1 / / ro,relatime shared:1 - overlay overlay rw
40 28 0:36 / /tmp rw,nosuid - tmpfs tmpfs rw
41 28 254:2 /volumes/x /scratch rw,relatime - ext4 /dev/vda rw
42 28 254:2 / /with\\040space rw - xfs /dev/vdb rw
43 28 254:2 / /scratch/deep rw - tmpfs tmpfs rw
44 28 254:2 / /twice rw - tmpfs tmpfs rw
45 28 254:2 / /twice rw - ext4 /dev/vda rw
"""


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(scratch.VARIABLE, str(tmp_path))
    return tmp_path


def write(text: str) -> Any:
    return lambda path: path.write_text(text)


def test_a_file_is_made_once_and_is_whole(space: Path) -> None:
    def die(path: Path) -> None:
        path.write_text("half")
        raise KeyboardInterrupt

    # What was being written when its writer died is made anew.
    with pytest.raises(KeyboardInterrupt):
        scratch.keep("a", 10, die)
    assert not (space / "a").exists()
    assert scratch.keep("a", 10, write("first")) == space / "a"
    assert scratch.keep("a", 10, write("second")).read_text() == "first"
    assert [path.name for path in space.iterdir()] == ["a"]


def test_without_a_scratch_space_there_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, reason in (("", "no scratch space"), (str(tmp_path / "missing"), "is not there")):
        monkeypatch.setenv(scratch.VARIABLE, where)
        assert reason in hear(Inapplicable, scratch.keep, "a", 10, write("x"))
        assert scratch.facts() == {}


def test_a_place_that_is_full_or_can_not_be_written_is_a_reason(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    said = hear(Inapplicable, scratch.keep, "a", 10, refuse)
    assert said == "refused: the scratch space can't be written: Permission denied"
    small = SimpleNamespace(f_bavail=10, f_frsize=4096, f_blocks=100)
    monkeypatch.setattr(os, "statvfs", lambda _: small)
    said = hear(Inapplicable, scratch.keep, "a", 10, write("x"))
    assert "40960 bytes free; this cell needs" in said
    assert not list(space.iterdir())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/scratch", "ext4"),
        ("/scratch/a", "ext4"),
        ("/scratch/deep/a", "tmpfs"),
        ("/scratchy", "overlay"),
        ("/with space/a", "xfs"),
        ("/twice", "ext4"),
        ("/", "overlay"),
    ],
)
def test_the_innermost_mount_says_the_file_system(tmp_path: Path, path: str, kind: str) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS)
    assert scratch._filesystem(Path(path), mounts) == kind
    assert scratch._filesystem(Path(path), tmp_path / "none") is None


def test_the_facts_tell_the_kind_and_the_sizes_and_no_path(space: Path) -> None:
    found = scratch.facts()
    assert set(found) == {"scratch.filesystem", "scratch.bytes", "scratch.free_bytes"}
    assert found["scratch.filesystem"]
    assert not [value for value in found.values() if "/" in str(value)]


def test_what_the_page_cache_holds_of_a_file_is_a_share(
    space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only what the disk has can be dropped.
    monkeypatch.setattr(os, "fsync", posix.fsync)
    path = scratch.keep("a", 2**20, lambda path: path.write_bytes(os.urandom(2**20)))
    path.read_bytes()
    assert scratch.cached_share(path) == 1.0
    scratch.drop_cache(path)
    kind = scratch.facts()["scratch.filesystem"]
    # A memory's file system has nowhere else to keep them.
    expected = 1.0 if kind in {"tmpfs", "ramfs"} else 0.0
    assert scratch.cached_share(path) == expected
    assert len(path.read_bytes()) == 2**20


def test_what_came_from_the_disk_is_read_where_the_kernel_counts_it(tmp_path: Path) -> None:
    counters = tmp_path / "io"
    counters.write_text("rchar: 9\nread_bytes: 4096\nwrite_bytes: 1\n")
    assert scratch.bytes_from_disk(counters) == 4096
    counters.write_text("rchar: 9\n")
    assert scratch.bytes_from_disk(counters) is None
    assert scratch.bytes_from_disk(tmp_path / "none") is None
