"""CUDA's libraries: the one that TensorFlow does not find, and what is missing, by the real linker."""

from __future__ import annotations

import ctypes
import ctypes.util
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.worker import libraries
from suite.worker.libraries import (
    CUSOLVER,
    DRIVER,
    TOOLKIT,
    UNFOUND,
    explain_absence,
    find,
    is_loaded,
    mapped,
    open_unfound,
)


def test_the_linker_says_what_is_loaded() -> None:
    assert is_loaded("libc.so.6")
    assert not is_loaded("libcuda.so.1")
    assert not is_loaded("libnothing-of-this-name.so.7")


def lay_library(site: Path, name: str = "libcusolver.so.11") -> Path:
    """A library that is none of CUDA's, under its name."""
    (source,) = [path for path in mapped() if path.rsplit("/", 1)[-1].startswith("libm.so")] or [""]
    target = site / UNFOUND[0] / name
    target.parent.mkdir(parents=True)
    shutil.copy(source, target)
    return target


def test_what_tensorflow_does_not_find_is_opened_for_it(tmp_path: Path) -> None:
    ctypes.CDLL("libm.so.6")
    target = lay_library(tmp_path)
    found = open_unfound([str(tmp_path / "elsewhere"), str(tmp_path)])
    assert found[CUSOLVER] == "opened by the suite"
    assert isinstance(found[f"{CUSOLVER}.seconds"], float)
    assert find(mapped(), "libcusolver.so") == str(target)


def test_where_the_package_is_not_here_it_is_left_to_tensorflow(tmp_path: Path) -> None:
    assert open_unfound([str(tmp_path)])[CUSOLVER] == "left to TensorFlow"


def test_a_library_that_does_not_open_says_why_and_not_where(tmp_path: Path) -> None:
    target = tmp_path / UNFOUND[0] / "libcusolver.so.11"
    target.parent.mkdir(parents=True)
    target.write_text("no library")
    found = str(open_unfound([str(tmp_path)])[CUSOLVER])
    assert found.startswith("can't be opened: libcusolver.so.11")
    assert str(tmp_path) not in found


def open_all_but(
    monkeypatch: pytest.MonkeyPatch, *missing: str, driver: int = 0, nvml: int = 0
) -> None:
    def load(name: str) -> Any:
        if name in missing:
            raise OSError(name)
        return SimpleNamespace(cuInit=lambda _: driver, nvmlInit_v2=lambda: nvml)

    monkeypatch.setattr(libraries.ctypes, "CDLL", load)


def maps(root: Path, *names: str) -> Path:
    (root / "proc/self").mkdir(parents=True)
    lines = [f"7f00-7f01 r--p 00000000 00:1f 1 /opt/lib/{name}" for name in names]
    (root / "proc/self/maps").write_text("\n".join(lines))
    return root


@pytest.mark.parametrize("missing", DRIVER)
def test_a_library_of_the_drivers_that_is_missing_is_named(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_all_but(monkeypatch, missing)
    assert explain_absence(maps(tmp_path)) == (
        f"{missing}, which the driver brings, can't be opened"
    )


def test_a_driver_that_does_not_start_says_so_before_any_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_all_but(monkeypatch, driver=999)
    assert explain_absence(maps(tmp_path)) == "CUDA's driver does not start (cuInit gives 999)"
    open_all_but(monkeypatch, driver=999, nvml=18)
    assert explain_absence(tmp_path) == "NVML does not start (nvmlInit gives 18)"


@pytest.mark.parametrize("missing", TOOLKIT)
def test_a_library_of_cudas_that_is_missing_is_named(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_all_but(monkeypatch)
    here = [f"{name}.12" for name in TOOLKIT if name != missing]
    assert explain_absence(maps(tmp_path, *here)) == f"TensorFlow has not loaded {missing}"


def test_where_all_are_there_nothing_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_all_but(monkeypatch)
    assert explain_absence(maps(tmp_path, *(f"{name}.12" for name in TOOLKIT))) is None
