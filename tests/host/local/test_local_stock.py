"""What the local engine has, and what it would make."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from suite.errors import EngineError
from suite.host.local.engine import LocalEngine
from suite.host.provision.images import read_specs

pytestmark = pytest.mark.processes


def test_the_local_engine_says_what_it_would_make(tmp_path: Path) -> None:
    engine = LocalEngine(home=tmp_path / "arms")
    try:
        stock = engine.take_stock("cpu")
    except EngineError as error:
        assert "LOCAL_PYTHON" in error.remedy  # noqa: PT017 - either answer is right here
        return
    assert (stock.image, stock.base_here) == (None, True)
    assert "Python" in stock.base
    assert stock.room_bytes == read_specs()["cpu"].free_bytes
    assert not (tmp_path / "arms").exists()
    assert engine.data_root == str(tmp_path / "arms")
    assert engine.has_probe_image()
    assert engine.reach_base("") is True
    assert engine.gpu_support().devices == ()


def test_the_local_engine_names_the_caches_that_are_there(tmp_path: Path) -> None:
    home = tmp_path / "arms"
    (tmp_path / "bin" / "tensorflow").mkdir(parents=True)
    (tmp_path / "bin" / "tensorflow" / "__init__.py").write_text("")
    (home / "crossover-0-compile-cache-570.1").mkdir(parents=True)
    python = tmp_path / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/bin exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    engine = LocalEngine(str(python), home=home)
    stock = engine.take_stock("cuda")
    assert not stock.from_lock
    assert stock.caches == ("crossover-0-compile-cache-570.1",)
    image = engine.provide("cuda", print)
    assert stock.recorded == (image.base, image.lock)
