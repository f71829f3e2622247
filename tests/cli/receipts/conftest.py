"""A finished campaign with its report, its logs and its manifest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from suite.host.campaign.store import Store
from tests import synthetic
from tests.cli.shell import Heard, Shell
from tests.golden_campaigns import time_it

NAME = "20261121T093000Z-here-standard"


@pytest.fixture
def honest(tmp_path: Path, shell: Shell) -> Path:
    cells = [one for one in synthetic.make_cells() if one.scenario in {"matmul", "overhead"}]
    plan = synthetic.make_campaign(blocks=3, cells=cells)
    documents = synthetic.make_documents(plan, samples=3)
    folder = synthetic.write_campaign(
        tmp_path / "results" / NAME, time_it(plan, documents), documents
    )
    for block in range(4):
        Store(folder).append_log(f"cpu-{block:02d}", "--- a container\nsaid nothing")
    assert shell.run("report", str(folder)).status == 0
    return folder


@pytest.fixture
def check(shell: Shell) -> Callable[..., Heard]:
    """Checks a folder or a bundle."""

    def run(run: Path, *words: str) -> Heard:
        return shell.run("check", str(run), *words)

    return run
