"""CUDA's libraries: the one that TensorFlow does not find, and what is missing, by the real linker."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker.__main__ import _look_before
from suite.worker.proof import facts, libraries
from suite.worker.proof.libraries import (
    COMPILERS,
    CUSOLVER,
    DRIVER,
    PTXAS,
    TOOLKIT,
    UNFOUND,
    cache_facts,
    explain_absence,
    find,
    is_loaded,
    lead_with_compilers,
    mapped,
    open_unfound,
)
from tests.fakes.tree import lay


def test_the_linker_says_what_is_loaded() -> None:
    assert is_loaded("libc.so.6")
    assert not is_loaded("libnothing-of-this-name.so.7")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The second of the places where Python looks for packages."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "site-packages")])
    return tmp_path / "site-packages"


def test_what_tensorflow_does_not_find_is_opened_for_it_where_it_is_here_and_opens(
    site: Path,
) -> None:
    assert open_unfound()[CUSOLVER] == "left to TensorFlow"
    lay(site, {f"{UNFOUND[0]}/libcusolver.so.11": "no library"})
    refused = str(open_unfound()[CUSOLVER])
    assert refused.startswith("can't be opened: libcusolver.so.11")
    assert str(site) not in refused
    # A library that is none of CUDA's, under its name.
    ctypes.CDLL("libm.so.6")
    source = find(mapped(), "libm.so")
    target = site / UNFOUND[0] / "libcusolver.so.11"
    shutil.copy(str(source), target)
    opened = open_unfound()
    assert opened[CUSOLVER] == "opened by the suite"
    assert isinstance(opened[f"{CUSOLVER}.seconds"], float)
    assert find(mapped(), "libcusolver.so") == str(target)


def lay_compiler(folder: Path) -> Path:
    """A folder with a program of the name that XLA looks for."""
    folder.mkdir(parents=True)
    program = folder / "ptxas"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return folder


def test_xla_finds_the_packages_own_ptxas_before_another_cudas(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site: Path
) -> None:
    """Another CUDA's, on the caller's PATH, would be another compiler than the wheels were built for."""
    given = f"{lay_compiler(tmp_path / 'usr/local/cuda/bin')}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", given)
    own = lay_compiler(site / COMPILERS)
    assert lead_with_compilers() == {PTXAS: "the packages' own"}
    # The rest of it is left as it was; without any, the system's own follows.
    assert os.environ["PATH"] == f"{own}{os.pathsep}{given}"
    assert shutil.which("ptxas") == str(own / "ptxas")
    monkeypatch.delenv("PATH")
    lead_with_compilers()
    assert os.environ["PATH"] == f"{own}{os.pathsep}{os.defpath}"


@pytest.mark.parametrize("gpu", [True, False])
def test_only_the_arm_with_a_gpu_is_told_of_compilers_and_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site: Path, gpu: bool
) -> None:
    monkeypatch.setenv("PATH", "/bin")
    # Another program, and a folder of that name, are no compiler.
    lay(tmp_path / "first" / COMPILERS, {"nvlink": ""})
    (site / COMPILERS / "ptxas").mkdir(parents=True)
    assert lead_with_compilers() == {PTXAS: "the first on PATH"}
    shutil.rmtree(tmp_path / "first")
    shutil.rmtree(site)
    own = lay_compiler(tmp_path / "first" / COMPILERS)
    lay_compiler(site / COMPILERS)
    found = _look_before(gpu=gpu)
    assert found.get(PTXAS) == ("the packages' own" if gpu else None)
    assert os.environ["PATH"] == (f"{own}{os.pathsep}/bin" if gpu else "/bin")


def open_all_but(
    monkeypatch: pytest.MonkeyPatch, *missing: str, driver: int = 0, nvml: int = 0
) -> None:
    def load(name: str, _mode: int = 0) -> Any:
        if name in missing:
            raise OSError(name)
        return SimpleNamespace(cuInit=lambda _: driver, nvmlInit_v2=lambda: nvml)

    monkeypatch.setattr(libraries.ctypes, "CDLL", load)


def maps(root: Path, *names: str) -> Path:
    lines = [f"7f00-7f01 r--p 00000000 00:1f 1 /opt/lib/{name}" for name in names]
    return lay(root, {"proc/self/maps": "\n".join(lines)})


@pytest.mark.parametrize(
    ("missing", "statuses", "said"),
    [
        *(((name,), {}, f"{name}, which the driver brings, can't be opened") for name in DRIVER),
        # Before any library of CUDA's that is missing.
        (TOOLKIT, {"driver": 999}, "CUDA's driver does not start (cuInit gives 999)"),
        (TOOLKIT, {"driver": 999, "nvml": 18}, "NVML does not start (nvmlInit gives 18)"),
        *(((name,), {}, f"TensorFlow has not loaded {name}") for name in TOOLKIT),
        ((), {}, None),
    ],
)
def test_what_is_missing_is_named(
    missing: tuple[str, ...],
    statuses: dict[str, int],
    said: str | None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    open_all_but(monkeypatch, *missing, **statuses)
    here = [f"{name}.12" for name in TOOLKIT if name not in missing]
    assert explain_absence(maps(tmp_path, *here)) == said


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a compile cache is given, which is not there yet."""
    monkeypatch.setenv(libraries.CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def fill(cache: Path) -> None:
    """As CUDA lays it out: an index, and files in folders two deep."""
    lay(cache, {"index": "x" * 1000, "a/0/one": "x" * 100, "a/index": "x" * 20})


def test_what_is_compiled_is_counted(cache: Path) -> None:
    empty = {"cuda.cache.at_start.files": 0, "cuda.cache.at_start.bytes": 0}
    assert cache_facts("start") == empty
    lay(cache, {"index": "x" * 1000})
    assert cache_facts("start") == empty
    fill(cache)
    assert cache_facts("end") == {"cuda.cache.at_end.files": 2, "cuda.cache.at_end.bytes": 122}


@pytest.mark.parametrize(
    ("error", "files"), [(PermissionError(13, "denied"), None), (FileNotFoundError(2, "gone"), 1)]
)
def test_a_folder_that_cannot_be_read_is_unknown_and_a_file_that_went_is_not_counted(
    cache: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, files: int | None
) -> None:
    fill(cache)
    scan, stat = os.scandir, Path.lstat

    def refuse_folder(place: str) -> Any:
        if Path(place).name == "a" and files is None:
            raise error
        return scan(place)

    def refuse_file(path: Path) -> Any:
        if path.name == "one":
            raise error
        return stat(path)

    monkeypatch.setattr(os, "scandir", refuse_folder)
    monkeypatch.setattr(Path, "lstat", refuse_file)
    assert cache_facts("start")["cuda.cache.at_start.files"] == files


def test_no_cache_is_unknown_and_not_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(libraries.CACHE_VARIABLE, "")
    assert set(cache_facts("start").values()) == {None}
    monkeypatch.delenv(libraries.CACHE_VARIABLE)
    assert set(cache_facts("start").values()) == {None}


def test_a_path_of_the_machine_is_not_a_fact(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_CACHE_MAXSIZE", "4294967296")
    told = facts.machine_facts()
    assert told["environment.CUDA_CACHE_MAXSIZE"] == "4294967296"
    assert f"environment.{libraries.CACHE_VARIABLE}" not in told
    assert str(cache) not in map(str, told.values())
