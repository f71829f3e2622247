"""What tests of several folders begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.model import SuiteIdentity
from tests.host.campaign.stage import Stage


@pytest.fixture
def stage(tmp_path: Path, suite_identity: SuiteIdentity) -> Stage:
    """An empty results folder."""
    return Stage(tmp_path / "results")
