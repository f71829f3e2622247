"""What these tests begin with: a folder, and invocations for those of the recorder and the session."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.host.campaign.store import Store
from tests.host.campaign.flow import FINDS, Flow


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "results", "one")


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    """Block 1 of the CPU arm: five cells in their random order."""
    return Flow(tmp_path)


@pytest.fixture
def first(tmp_path: Path) -> Flow:
    """The same where it finds K."""
    return Flow(tmp_path, fields=FINDS)


@pytest.fixture
def on_gpu(tmp_path: Path) -> Flow:
    """Block 1 of the GPU's arm."""
    return Flow(tmp_path, arm="cuda")
