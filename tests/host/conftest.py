"""What tests of several folders begin with."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from suite.host.docker import build
from suite.host.local import run as leftovers
from suite.model import SuiteIdentity
from tests.host.campaign.stage import Stage


@pytest.fixture
def stage(tmp_path: Path, suite_identity: SuiteIdentity) -> Stage:
    """An empty results folder."""
    return Stage(tmp_path / "results")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where plain processes and their volumes have their folders."""
    place = tmp_path / "disk"
    place.mkdir()
    monkeypatch.setattr(leftovers, "PLACE", place)
    monkeypatch.setattr(leftovers.tempfile, "tempdir", str(place))
    return place


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An engine's disk without room."""
    monkeypatch.setattr(build.shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    return {"data_root": str(tmp_path)}
