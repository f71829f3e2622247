"""The guard around unit tests, and what flows of the whole campaign share.

A test that is not marked ``engine`` or ``processes`` can neither start a process nor open a
connection: it fails on the spot, whatever the code around it catches.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Iterator
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from suite.fingerprint import suite_content
from suite.host.campaign import request
from suite.host.machine.identity import SALT
from suite.host.machine.lock import PLACE
from suite.model import SuiteIdentity
from tests.share import draw_share

ALLOWED = (
    "engine",
    "engines",
    "fleet",
    "gpu_containers",
    "gpu_runtime",
    "processes",
)


HERE = Path(__file__).parent
FOLDERS = {
    "bench": "method",
    "engine": "engine",
    "engines": "engines",
    "fleet": "fleet",
    "gpu_runtime": "gpu_runtime",
}
"""By folder the marker of all its tests: most are sessions of their own."""
FILES = {
    **dict.fromkeys(("test_page", "test_structure", "test_tasks")),
    "test_nvml_binding": None,
    "test_resting": None,
    "test_replay": None,
    "test_gpu_containers": "gpu_containers",
    "test_gpu_containers_failing": "gpu_containers",
}
"""The files in them that have another one, or None: they need nothing."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("a share of the tests")
    group.addoption(
        "--one-in", type=int, default=1, metavar="N", help="run one in N of each file's tests"
    )
    group.addoption(
        "--day",
        type=date.fromisoformat,
        default=datetime.now(timezone.utc).date(),
        metavar="YYYY-MM-DD",
        help="the day that says which (default: today); N days in a row run all",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    parts, day = config.option.one_in, config.option.day
    if parts == 1:
        return None
    return f"one in {parts} of each file's tests, as --one-in={parts} --day={day} draws them"


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Marks the tests; where several processes test, whatever needs the engine is one group, and so is
    each other file.

    Before pytest-xdist looks for groups, and pytest for the markers that were asked for; what is left then
    is what a share is drawn of.
    """
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if marker := FILES.get(item.path.stem, FOLDERS.get(folder)):
            item.add_marker(marker)
        if hasattr(config, "workerinput"):
            group = "engine" if item.get_closest_marker("engine") else item.path.stem
            item.add_marker(pytest.mark.xdist_group(group))
    yield
    drawn = draw_share(items, config.option.one_in, config.option.day, lambda item: item.path)
    if len(drawn) < len(items):
        kept = set(drawn)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = drawn


# As `suite.report.plots` does it, for tests that load matplotlib first: nothing in anybody's home.
os.environ.setdefault("MPLCONFIGDIR", str(Path(sys.prefix) / "var" / "matplotlib"))


@pytest.fixture(scope="session", autouse=True)
def _fonts() -> None:
    """matplotlib asks a program for the fonts, once in an environment: before the guard stands."""
    if not any(Path(os.environ["MPLCONFIGDIR"]).glob("fontlist-*.json")):
        import matplotlib.font_manager  # noqa: F401


@pytest.fixture(autouse=True)
def _no_way_out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real engines and processes are out of reach of a unit test."""
    if any(request.node.get_closest_marker(name) for name in ALLOWED):
        return

    def refuse_process(*words: object, **_: object) -> None:
        pytest.fail(f"a unit test started a process: {words[1:]!r}; mark it `processes` if meant")

    def refuse_connection(*words: object, **_: object) -> None:
        pytest.fail(f"a unit test opened a connection: {words[1:]!r}; mark it `engine` if meant")

    monkeypatch.setattr(subprocess.Popen, "__init__", refuse_process)
    for name in ("system", "fork", "forkpty", "posix_spawn", "posix_spawnp"):
        monkeypatch.setattr(os, name, refuse_process)
    for name in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, refuse_connection)


@pytest.fixture(scope="session", autouse=True)
def _no_fsync() -> Iterator[None]:
    """No test loses its power: what is written need not reach the disk before the test goes on.

    Who needs that asks for `posix.fsync`.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda _handle: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_lock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test waits for a campaign on this machine, nor keeps one waiting."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(PLACE, str(tmp_path_factory.mktemp("locks")))
        yield


@pytest.fixture(autouse=True)
def _no_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test's hashes are those of whoever's fleet runs it."""
    monkeypatch.delenv(SALT, raising=False)


@pytest.fixture
def suite_identity(monkeypatch: pytest.MonkeyPatch) -> SuiteIdentity:
    """What new campaigns are said to be measured by: this suite, without asking git."""
    identity = SuiteIdentity(version="0.1.0", commit="c" * 40, content=suite_content())
    monkeypatch.setattr(request, "identify_suite", lambda: identity)
    return identity


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The default handlers, whoever ran the tests (nohup ignores SIGHUP), and theirs put back after."""
    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_DFL) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)
