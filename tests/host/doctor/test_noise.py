"""What else is at work: updates, load, and a clock that others interrupt."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from suite.host.doctor.host import look_at_clock
from suite.host.doctor.probe import Ran
from tests.fakes.clock import Clock
from tests.fakes.doctor_machine import FakeExamined, diagnose, line, make_machine, ran
from tests.host.doctor.rows import Row, hold, plain

PLANNED = {"systemctl is-active": ran(code=0, text="active\nactive\ninactive")}
BROKEN = {"systemctl is-active": ran(code=1, text="Failed to connect to bus")}
ELSEWHERE = {"proc/78/comm": "apt-get", "proc/78/cgroup": "0::/system.slice/docker-c0ffee.scope"}
WAITING = {
    "proc/712/comm": "unattended-upgr",
    "proc/712/cmdline": "/usr/bin/python3\0/usr/share/unattended-upgrades/"
    "unattended-upgrade-shutdown\0--wait-for-signal\0",
}
WORKING = {
    "proc/4711/comm": "unattended-upgr",
    "proc/4711/cmdline": "/usr/bin/python3\0/usr/bin/unattended-upgrade\0",
}
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"


def updating(marks: str, said: str, *files: Mapping[str, str], smi: Mapping[str, Ran] = {}) -> Row:
    whole = {name: text for one in files for name, text in one.items()}
    return plain(marks, files=whole, smi=smi, says={"updates": said})


ROWS: Mapping[str, Row] = {
    "updates that are planned": updating(
        "updates=x", "start by themselves: apt-daily.timer, apt-daily-upgrade.timer", smi=PLANNED
    ),
    "a systemd that does not answer": updating("updates=?", "", smi=BROKEN),
    "an upgrade right now": updating(
        "updates=x", "right now: unattended-upgr", {"proc/77/comm": "unattended-upgr"}
    ),
    "unattended-upgrades waiting for the machine's end": updating("", "nothing changes", WAITING),
    "unattended-upgrades at work, beside the part that waits": updating(
        "updates=x", "right now: unattended-upgr", WAITING, WORKING
    ),
    "an upgrade in somebody's container": updating(
        "", "", ELSEWHERE, {"proc/self/cgroup": "0::/user.slice"}
    ),
    "an upgrade beside us in ours": updating(
        "updates=x", "right now: apt-get", ELSEWHERE, {"proc/self/cgroup": "0::/docker/beef/"}
    ),
    "a machine without systemd": updating("", "", {"proc/1/comm": "dockerd"}),
    "a busy machine": plain("load=x", files={"proc/loadavg": "3.10 2.00 1.00 4/180 4242"}),
    "a coarse clock": plain("clock=x", files={CLOCK: "hpet"}, says={"clock": "(hpet)"}),
}


@pytest.mark.parametrize("name", ROWS)
def test_every_line_is_right_on(name: str, tmp_path: Path) -> None:
    hold(ROWS[name], tmp_path)


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
