"""What the doctor says of the made-up machines of ``machines.toml``, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.doctor.rows import hold, read_rows

pytestmark = pytest.mark.simulated

ROWS = read_rows(Path(__file__).with_name("machines.toml"))


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ROWS[name], tmp_path)
