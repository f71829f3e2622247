"""A finished campaign with its report, its logs and its manifest."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.cli.run_campaign import write_reports
from suite.host.campaign.store import Store
from suite.model import SuiteIdentity
from tests import synthetic
from tests.cli.shell import Heard, Shell
from tests.golden_campaigns import time_it

NAME = "20261121T093000Z-here-standard"


@pytest.fixture(autouse=True)
def _identity(suite_identity: SuiteIdentity) -> None:
    """What does not follow is held against the suite that checks; no test asks git for it."""


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; who looks at it gets a copy."""
    cells = [cell for cell in synthetic.make_cells() if cell.scenario in {"matmul", "overhead"}]
    plan = synthetic.make_campaign(blocks=3, cells=cells)
    documents = synthetic.make_documents(plan, samples=3)
    folder = tmp_path_factory.mktemp("finished") / NAME
    synthetic.write_campaign(folder, time_it(plan, documents), documents)
    for block in range(4):
        Store(folder).append_log(f"cpu-{block:02d}", "--- a container\nsaid nothing")
    write_reports(Store(folder), pictures=False)
    return folder


@pytest.fixture
def honest(tmp_path: Path, finished: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "results" / NAME)


@pytest.fixture
def check(shell: Shell) -> Callable[..., Heard]:
    """Checks a folder or a bundle."""

    def run(run: Path, *words: str) -> Heard:
        return shell.run("check", str(run), *words)

    return run
