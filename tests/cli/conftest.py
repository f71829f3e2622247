"""What the tests of the commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.cli import keep_tools
from suite.report import produce
from tests import synthetic
from tests.cli.shell import Shell


@pytest.fixture(autouse=True)
def _as_here(own_signals: None, suite_identity: object) -> None:
    """Nobody asks git, and the handlers of signals are put back."""


@pytest.fixture(autouse=True)
def _undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take a second a command; as if matplotlib were missing, but for ``drawing``."""
    if "drawing" not in request.fixturenames:
        monkeypatch.setattr(produce, "can_draw", lambda: False)


@pytest.fixture(autouse=True)
def _alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tool of this machine's is run, but for ``path``, where tests put their own."""
    if "path" not in request.fixturenames:
        monkeypatch.setattr(keep_tools, "run_tools", lambda *_: iter(()))


@pytest.fixture
def drawing() -> None:
    """This test draws its pictures."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the campaigns are kept that several tests of a file begin with."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def shell(
    tmp_path: Path,
    made: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Shell:
    return Shell(tmp_path / "results", made, capsys, monkeypatch)


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """A finished campaign's folder."""
    return synthetic.write_campaign(tmp_path / "made-up", synthetic.make_campaign(blocks=3))
