"""A clock that others interrupt."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.host.doctor.host import look_at_clock
from tests.fakes.clock import Clock
from tests.fakes.doctor_machine import FakeExamined, diagnose, line, make_machine


def test_a_clock_that_is_interrupted(tmp_path: Path) -> None:
    noisy = make_machine(tmp_path, FakeExamined(), clock=Clock(gap_ns=3_990_000))
    one = line(diagnose(noisy), "clock")
    assert one.state == "no"
    assert "at most 4000 µs at once" in one.text


def test_the_look_at_the_clock_counts_gaps_alone() -> None:
    step, lost, longest, _ = look_at_clock(Clock(step_ns=50), span_ns=1_000_000)
    assert (lost, longest, step) == (0, 0, 50)
    step, lost, longest, _ = look_at_clock(Clock(gap_ns=500_000, step_ns=50), span_ns=1_000_000)
    assert lost == longest == 500_050
    assert step == pytest.approx(50, rel=0.01)
