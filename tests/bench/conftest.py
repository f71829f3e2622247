"""The tests of this folder simulate thousands of campaigns: a session of their own (`nox -s method`)."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.path.stem != "test_cublas":
            item.add_marker("method")
