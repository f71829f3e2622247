"""TensorFlow itself, for the runs of scripts: the environment that the local engine makes for its arm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from suite.host.local.engine import HOME, LocalEngine


@pytest.fixture(scope="session")
def tensorflow_python() -> Path:
    """An interpreter with TensorFlow; made where it is missing and engines are required, else a skip."""
    if not list(HOME.glob("cpu-*/complete")) and not os.environ.get("REQUIRE_ENGINE"):
        pytest.skip("no environment with TensorFlow: `make images ENGINE=local ARMS=cpu` makes it")
    image = LocalEngine().provide("cpu", print)
    return HOME / image.id / "bin" / "python"
