"""A diagnosis on a terminal of any width, and as plain lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from suite.host.doctor.examine import CHECKS, Diagnosis
from suite.host.doctor.page import draw_screen, write_lines
from tests.fakes.doctor_machine import GB, FakeExamined, diagnose, make_machine


@pytest.fixture
def troubled(tmp_path: Path) -> Diagnosis:
    return diagnose(make_machine(tmp_path, FakeExamined(), free=GB))


def test_plain_lines_have_a_mark_a_name_and_the_remedy_below(troubled: Diagnosis) -> None:
    lines = write_lines(troubled, "utf-8")
    place = next(i for i, text in enumerate(lines) if text.startswith("✗ disk "))
    assert lines[place + 1].strip().startswith("what to do: free some")
    assert lines[-1] == troubled.verdict
    assert not any("\x1b" in text for text in lines)
    plain = "\n".join(write_lines(troubled, "ascii"))
    assert plain.isascii()
    assert "\nX disk " in plain


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_screen_wraps_and_loses_nothing(troubled: Diagnosis, width: int) -> None:
    console = Console(width=width, force_terminal=True, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(draw_screen(troubled, "utf-8"))
    shown = capture.get()
    assert all(len(text) <= width + 20 for text in shown.splitlines())  # codes of bold count, too
    for name in CHECKS:
        assert name in shown
