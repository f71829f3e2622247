"""Invocations that the recorder's and the session's tests begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.campaign.flow import Flow


@pytest.fixture
def flow(tmp_path: Path) -> Flow:
    """Block 1 of the CPU arm: five cells in their random order."""
    return Flow(tmp_path)


@pytest.fixture
def calibration(tmp_path: Path) -> Flow:
    """Block 0 of the CPU arm: five cells in the plan's order."""
    return Flow(tmp_path, block=0)


@pytest.fixture
def on_gpu(tmp_path: Path) -> Flow:
    """Block 1 of the GPU's arm."""
    return Flow(tmp_path, arm="cuda")
