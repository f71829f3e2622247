"""What the worker says of CUDA's compile cache: counted, empty, not given, or not to be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.worker.proof import facts, libraries

EMPTY = {"cuda.cache.at_start.files": 0, "cuda.cache.at_start.bytes": 0}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(libraries.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill(cache: Path) -> None:
    # As CUDA lays it out: an index, and files in folders two deep.
    (cache / "a" / "0").mkdir(parents=True)
    (cache / "index").write_bytes(b"x" * 1000)
    (cache / "a" / "0" / "one").write_bytes(b"x" * 100)
    (cache / "a" / "index").write_bytes(b"x" * 20)


def test_what_is_compiled_is_counted(cache: Path) -> None:
    assert libraries.cache_facts("start") == EMPTY
    cache.mkdir()
    (cache / "index").write_bytes(b"x" * 1000)
    assert libraries.cache_facts("start") == EMPTY
    fill(cache)
    counted = {"cuda.cache.at_end.files": 2, "cuda.cache.at_end.bytes": 120}
    assert libraries.cache_facts("end") == counted


def test_no_cache_and_one_that_cannot_be_read_is_unknown_and_not_empty(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cache)
    real = libraries.os.scandir

    def refuse(place: str) -> object:
        if Path(place).name == "a":
            raise PermissionError(13, "Permission denied", place)
        return real(place)

    monkeypatch.setattr(libraries.os, "scandir", refuse)
    assert set(libraries.cache_facts("start").values()) == {None}
    monkeypatch.setenv(libraries.CACHE_VARIABLE, "")
    assert set(libraries.cache_facts("start").values()) == {None}
    monkeypatch.delenv(libraries.CACHE_VARIABLE)
    assert set(libraries.cache_facts("start").values()) == {None}


def test_files_that_go_while_they_are_counted_are_not_counted(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(cache)
    real = Path.lstat

    def lstat(path: Path) -> object:
        if path.name == "one":
            raise FileNotFoundError(2, "No such file or directory")
        return real(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert libraries.cache_facts("start")["cuda.cache.at_start.files"] == 1


def test_a_path_of_the_machine_is_no_fact(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_CACHE_MAXSIZE", "4294967296")
    found = facts.machine_facts()
    assert found["environment.CUDA_CACHE_MAXSIZE"] == "4294967296"
    assert f"environment.{libraries.CACHE_VARIABLE}" not in found
    assert str(cache) not in map(str, found.values())
