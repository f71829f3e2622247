"""Progress: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest

from suite.cli import terminal as terminals
from suite.host.campaign.listener import Progress

FENCE = "overhead.fence"
PROGRESS = Progress(arm="cpu", block=1, blocks=3, done=2, cells=7, in_flight=FENCE, left_s=75.0)


class FakeTerminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", FakeTerminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with terminals.Terminal() as terminal:
        instants = iter([100.0, 100.5, 101.1])
        monkeypatch.setattr(terminals.time, "monotonic", lambda: next(instants))
        refreshed: list[str] = []
        assert terminal.bar is not None
        monkeypatch.setattr(terminal.bar, "refresh", lambda: refreshed.append("now"))
        for done in (2, 3, 4):
            terminal.show(replace(PROGRESS, done=done))
        assert len(refreshed) == 2
        (task,) = terminal.bar.tasks
        assert (task.description, task.completed, task.total) == ("cpu block 1/3", 4, 7)
        assert task.fields["rest"] == f"1:15 left · {FENCE}"
        monkeypatch.undo()


def test_elsewhere_plain_lines_come_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = replace(PROGRESS, block=0, in_flight=None, left_s=None)
    with terminals.Terminal() as terminal:
        instants = iter([100.0, 101.0, 114.9, 115.1])
        monkeypatch.setattr(terminals.time, "monotonic", lambda: next(instants))
        for done in (1, 2, 3, 4):
            terminal.show(replace(progress, done=done))
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["  cpu calibration · 1/7 cells", "  cpu calibration · 4/7 cells"]
