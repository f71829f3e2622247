"""Counters of a made-up kernel: what is read, what is unknown, and what they add up to."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from suite import clock
from suite.worker.loop import counters
from tests.fakes.groups import GROUPS, unified
from tests.fakes.tree import lay

TICK = os.sysconf("SC_CLK_TCK")


def kernel(root: Path, *, throttled: str = "", pressure: str = "") -> Path:
    lines = ["cpu 0 0 0 0 0 0 0 0 0 0"]
    lines += [f"cpu{n} {TICK} {TICK} {TICK} 9 9 {TICK} {TICK} {2 * TICK} 0 0" for n in range(512)]
    told = {
        "proc/stat": "\n".join([*lines, "intr 5"]),
        **unified("/job", {"job/cpu.stat": throttled} if throttled else {}),
        **({"proc/pressure/cpu": pressure} if pressure else {}),
    }
    return lay(root, told)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("usage_usec 1\nnr_throttled 3\nthrottled_usec 2500000\n", 2.5),
        ("nr_periods 4\nnr_throttled 3\nthrottled_time 2500000000\n", 2.5),
        ("usage_usec 1\n", None),
        ("", None),
    ],
)
def test_counters_are_those_of_the_usable_cpus_and_of_either_version_of_control_groups(
    tmp_path: Path, text: str, seconds: float | None
) -> None:
    found = counters.read(kernel(tmp_path, throttled=text))
    cpus = len(os.sched_getaffinity(0))
    assert (found.busy_s, found.steal_s) == (pytest.approx(5.0 * cpus), pytest.approx(2.0 * cpus))
    assert next(iter(found.throttled_s.values()), None) == seconds


def test_a_counter_that_is_not_there_is_unknown_and_never_zero(tmp_path: Path) -> None:
    found = counters.read(tmp_path)
    assert (found.busy_s, found.steal_s, found.pressure_s) == (None,) * 3
    assert (found.thermal_events, found.clock_mhz) == (None, None)
    shares = counters.compare(found, replace(found, wall_s=found.wall_s + 1))
    assert [name for name, value in shares.items() if value is None] == [
        *("throttled_share", "steal_share", "foreign_cpus", "pressure_share"),
        *("thermal_events", "clock_mhz"),
    ]


def test_what_others_did_is_what_was_done_less_our_own(tmp_path: Path) -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0 total=0\n"
    before = counters.read(kernel(tmp_path, throttled="throttled_usec 0\n", pressure=text))
    assert before.pressure_s == 1.5
    after = replace(
        before,
        wall_s=before.wall_s + 2.0,
        busy_s=(before.busy_s or 0) + 3.0,
        own_s=before.own_s + 2.0,
        page_faults=before.page_faults + 300,
        steal_s=(before.steal_s or 0) + 0.5,
        throttled_s=dict.fromkeys(before.throttled_s, 1.0),
        pressure_s=2.5,
        cpus=2,
    )
    assert counters.compare(before, after) == pytest.approx(
        {
            "throttled_share": 0.5,
            "steal_share": 0.125,
            "foreign_cpus": 0.5,
            "own_cpus": 1.0,
            "page_faults": 150.0,
            "pressure_share": 0.5,
            "thermal_events": None,
            "clock_mhz": None,
            "from_s": clock.to_timestamp(before.wall_s),
            "to_s": clock.to_timestamp(before.wall_s) + 2.0,
        }
    )


def test_of_groups_within_each_other_the_worst_counts_not_the_one_that_once_was(
    tmp_path: Path,
) -> None:
    job, top = f"{GROUPS}/job/cpu.stat", f"{GROUPS}/cpu.stat"
    root = kernel(tmp_path, throttled="throttled_usec 0")
    lay(root, {top: "throttled_usec 90000000"})
    before = counters.read(root)
    lay(root, {job: "throttled_usec 3000000", top: "throttled_usec 91000000"})
    after = replace(counters.read(root), wall_s=before.wall_s + 10)
    assert counters.compare(before, after)["throttled_share"] == pytest.approx(0.3)


def test_heat_is_counted_by_core_and_once_a_package(tmp_path: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    folders = [tmp_path / f"sys/devices/system/cpu/cpu{cpu}/thermal_throttle" for cpu in cpus]
    for folder in folders:
        folder.mkdir(parents=True)
    # Folders that the engine has emptied tell nothing.
    assert counters.read(tmp_path).thermal_events is None
    for folder in folders:
        (folder / "core_throttle_count").write_text("2\n")
        (folder / "package_throttle_count").write_text("5\n")
    before = counters.read(tmp_path)
    assert before.thermal_events == 2 * len(cpus) + 5
    (folders[0] / "core_throttle_count").write_text("5\n")
    assert counters.compare(before, counters.read(tmp_path))["thermal_events"] == 3


def test_the_clock_comes_from_cpufreq_else_from_the_list_of_processors(tmp_path: Path) -> None:
    lines = [f"processor\t: {n}\ncpu MHz\t\t: 2000.5\n" for n in range(512)]
    lay(tmp_path, {"proc/cpuinfo": "\n".join(lines)})
    few = len(os.sched_getaffinity(0)) <= 16
    assert counters.read(tmp_path).clock_mhz == (pytest.approx(2000.5) if few else None)
    clock = "sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq"
    lay(tmp_path, dict.fromkeys(map(clock.format, range(512)), "3100000"))
    assert counters.read(tmp_path).clock_mhz == pytest.approx(3100.0)
