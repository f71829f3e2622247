"""What a machine lacks for some tests."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lack(reason: str, required: str = "REQUIRE_ENGINE") -> NoReturn:
    """Skips what needs it, or fails where that variable says that nothing may be missing."""
    if os.environ.get(required) == "1":
        pytest.fail(reason)
    pytest.skip(reason)
