"""Standard streams that can't be written: one line where anybody can read it, and the right status."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from suite.cli import entry
from suite.cli.entry import main
from suite.cli.terminal import Terminal, tell
from suite.errors import UsageError
from tests import synthetic
from tests.commands import run


class Full:
    """A stream on a disk that is full."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.tried = 0

    def write(self, _: str) -> int:
        self.tried += 1
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "it has none")


def test_progress_that_nobody_can_read_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Full()
    monkeypatch.setattr(sys, "stderr", full)
    with Terminal() as terminal:
        terminal.say("one")
        terminal.say("two")
    assert full.tried >= 2


def test_what_has_to_be_told_is_told_on_the_other_stream(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Full())
    tell(lambda stream: stream.write("trouble\n"))
    assert capsys.readouterr().out == "trouble\n"


def shell(words: str, folder: Path) -> tuple[int, str, str]:
    """A command of a shell: how it ended, and what came where it was not sent elsewhere."""
    env = {"SUITE": f"{sys.executable} -m suite", "FOLDER": str(folder)}
    done = run("bash", "-c", f"set -o pipefail; {words}", env=env)
    assert "Traceback" not in done.stdout + done.stderr
    assert "Exception ignored" not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Of one cell: there is nothing to draw."""
    made = synthetic.make_campaign(blocks=1, cells=synthetic.make_cells()[:1], arms=("cpu",))
    return synthetic.write_campaign(tmp_path / "made-up", made)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("$SUITE report $FOLDER > /dev/full", 0, "No space left on device; everything is in"),
        ("$SUITE list > /dev/full", 1, "No space left on device (standard output)"),
        ("$SUITE list --only zzz 2>&- >&-", 2, ""),
    ],
)
def test_a_command_ends_as_it_would_have(
    words: str, status: int, said: str, campaign: Path
) -> None:
    ended, out, err = shell(words, campaign)
    assert ended == status
    assert said in out + err
    assert bool(said) is bool(out + err)
    assert (campaign / "report.md").exists() == ("report" in words)


def test_a_hangup_that_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def look(*_: object, **__: object) -> int:
        seen["hangup"] = signal.getsignal(signal.SIGHUP)
        seen["term"] = signal.getsignal(signal.SIGTERM)
        return 0

    monkeypatch.setattr(entry.commands, "main", look)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert main(["list"]) == 0
        assert seen["hangup"] == signal.SIG_IGN
        assert callable(seen["term"])
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert main(["list"]) == 0
        assert callable(seen["hangup"])
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_that_came_together_while_it_was_paused_are_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    complaints: list[object] = []

    def wake(*_: object, **__: object) -> int:
        both = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
        signal.pthread_sigmask(signal.SIG_BLOCK, both)
        for number in both:
            os.kill(os.getpid(), number)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, both)
        return 0

    monkeypatch.setattr(entry.commands, "main", wake)
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    assert main(["list"]) == 130
    assert complaints == []
    assert capfd.readouterr().err.strip() == "crossover: interrupted"


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/x/y"),
            1,
            "No space left on device (/x/y)",
        ),
        (UsageError("odd\x1b[31m", "mend"), 2, "odd"),
        # Who was to read it has gone.
        (BrokenPipeError(), 0, ""),
    ],
)
def test_what_goes_wrong_anywhere_is_one_line(
    error: Exception, status: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise error

    monkeypatch.setattr(entry.commands, "main", fail)
    assert main(["list"]) == status
    told = capsys.readouterr().err
    assert said in told
    assert ("what to do" in told) is bool(status)
    assert "\x1b" not in told
