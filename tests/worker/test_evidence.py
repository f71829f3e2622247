"""Counters of a made-up kernel: what is read, what is unknown, and what they add up to."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from suite.worker import evidence

TICK = os.sysconf("SC_CLK_TCK")


def kernel(root: Path, *, throttled: str = "", pressure: str = "") -> Path:
    (root / "proc/pressure").mkdir(parents=True)
    (root / "sys/fs/cgroup").mkdir(parents=True)
    lines = ["cpu 0 0 0 0 0 0 0 0 0 0"]
    lines += [f"cpu{n} {TICK} {TICK} {TICK} 9 9 {TICK} {TICK} {2 * TICK} 0 0" for n in range(512)]
    (root / "proc/stat").write_text("\n".join([*lines, "intr 5"]) + "\n")
    if throttled:
        (root / "sys/fs/cgroup/cpu.stat").write_text(throttled)
    if pressure:
        (root / "proc/pressure/cpu").write_text(pressure)
    return root


def test_counters_are_those_of_the_usable_cpus(tmp_path: Path) -> None:
    found = evidence.read(kernel(tmp_path))
    cpus = len(os.sched_getaffinity(0))
    assert found.busy_s == pytest.approx(5.0 * cpus)
    assert found.steal_s == pytest.approx(2.0 * cpus)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("usage_usec 1\nnr_throttled 3\nthrottled_usec 2500000\n", 2.5),
        ("nr_periods 4\nnr_throttled 3\nthrottled_time 2500000000\n", 2.5),
        ("usage_usec 1\n", None),
    ],
)
def test_both_versions_of_control_groups_count_throttling(
    tmp_path: Path, text: str, seconds: float | None
) -> None:
    assert evidence.read(kernel(tmp_path, throttled=text)).throttled_s == seconds


def test_a_counter_that_is_not_there_is_unknown_and_never_zero(tmp_path: Path) -> None:
    found = evidence.read(tmp_path)
    assert (found.busy_s, found.steal_s, found.throttled_s, found.pressure_s) == (None,) * 4
    shares = evidence.compare(found, replace(found, wall_s=found.wall_s + 1))
    assert [name for name, value in shares.items() if value is None] == [
        "throttled_share",
        "steal_share",
        "foreign_cpus",
        "pressure_share",
    ]


def test_what_others_did_is_what_was_done_less_our_own(tmp_path: Path) -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0 total=0\n"
    before = evidence.read(kernel(tmp_path, throttled="throttled_usec 0\n", pressure=text))
    assert before.pressure_s == 1.5
    after = replace(
        before,
        wall_s=before.wall_s + 2.0,
        busy_s=(before.busy_s or 0) + 3.0,
        own_s=before.own_s + 2.0,
        steal_s=(before.steal_s or 0) + 0.5,
        throttled_s=1.0,
        pressure_s=2.5,
        cpus=2,
    )
    assert evidence.compare(before, after) == pytest.approx(
        {
            "throttled_share": 0.5,
            "steal_share": 0.125,
            "foreign_cpus": 0.5,
            "own_cpus": 1.0,
            "pressure_share": 0.5,
        }
    )
