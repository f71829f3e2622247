"""Progress: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest

from suite.cli import terminal as terminals
from suite.model import Document, make_pending
from tests import synthetic

FENCE = "overhead.fence"
PLAN = synthetic.make_campaign(cells=synthetic.make_cells()[:7])


def make(done: int, block: int = 1) -> Document:
    """An invocation of seven cells that has come so far."""
    made = synthetic.make_document(PLAN, "cpu", block)
    return replace(made, cells=[*made.cells[:done], *map(make_pending, PLAN.cells[done:])])


class FakeTerminal(io.StringIO):
    """Standard error as a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", FakeTerminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    documents = [make(done) for done in (2, 3, 4)]
    with terminals.Terminal() as terminal:
        instants = iter([100.0, 100.5, 101.1])
        monkeypatch.setattr(terminals.time, "monotonic", lambda: next(instants))
        refreshed: list[str] = []
        assert terminal.bar is not None
        monkeypatch.setattr(terminal.bar, "refresh", lambda: refreshed.append("now"))
        for document in documents:
            terminal.show(document, FENCE, 3, 75.0)
        assert len(refreshed) == 2
        (task,) = terminal.bar.tasks
        assert (task.description, task.completed, task.total) == ("cpu block 1/3", 4, 7)
        assert task.fields["rest"] == f"1:15 left · {FENCE}"
        monkeypatch.undo()


def test_elsewhere_plain_lines_come_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [make(done, block=0) for done in (1, 2, 3, 4)]
    with terminals.Terminal() as terminal:
        instants = iter([100.0, 101.0, 114.9, 115.1])
        monkeypatch.setattr(terminals.time, "monotonic", lambda: next(instants))
        for document in documents:
            terminal.show(document, None, 3, None)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["  cpu before block 1 · 1/7 cells", "  cpu before block 1 · 4/7 cells"]
