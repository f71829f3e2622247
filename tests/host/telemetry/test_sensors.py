"""The host's own sensors, from folders that stand for machines."""

from __future__ import annotations

from pathlib import Path

from suite.host.telemetry.sampler import HostSensors
from tests.fakes.groups import GROUPS, unified
from tests.fakes.tree import lay

CPU = "sys/devices/system/cpu/cpu{}"
SENSORS = {
    **{
        f"{CPU.format(number)}/{name}": text
        for number, kilohertz in ((0, "2000000"), (1, "3000000"))
        for name, text in (
            ("cpufreq/scaling_cur_freq", kilohertz),
            ("thermal_throttle/core_throttle_count", "2"),
            ("thermal_throttle/package_throttle_count", "1"),
        )
    },
    "sys/class/hwmon/hwmon3/name": "coretemp",
    "sys/class/hwmon/hwmon3/temp1_input": "71000",
    "sys/class/hwmon/hwmon3/temp2_input": "nonsense",
}
HELD = unified("/a", {"a/cpu.stat": "throttled_usec 9000000", "cpu.stat": "throttled_usec 1500000"})
"""What holds back the sampler alone is not told; what holds back all that is here is."""
CONTAINER = "c0ffee" * 8
BOXED = {
    **unified(
        "/a", {"box.slice/cpu.max": "250000 100000", "box.slice/cpu.stat": "throttled_usec 7"}
    ),
    "proc/12/cgroup": "0::/b",
    "proc/77/cgroup": f"0::/box.slice/docker-{CONTAINER}.scope",
}
"""A container below a quota that it can't see."""
ZONE = {
    "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp",
    "sys/class/thermal/thermal_zone0/temp": "65000",
}


def test_the_hosts_sensors(tmp_path: Path) -> None:
    sensors = HostSensors((0, 1), lay(tmp_path, SENSORS | HELD))
    assert sensors.sample() == {
        "cpu.clock_mhz": 2500.0,
        "cpu.clock_least_mhz": 2000.0,
        "cpu.throttle_events": 6,
        "cpu.temperature_c": 71.0,
        "cpu.throttled_s": 0.0,
    }
    assert sensors.absent == {}
    lay(tmp_path, {f"{GROUPS}/cpu.stat": "throttled_usec 4000000"})
    assert sensors.sample()["cpu.throttled_s"] == 2.5
    assert sensors.facts() == {}
    sensors = HostSensors((0,), lay(tmp_path, ZONE))
    assert sensors.sample()["cpu.temperature_c"] == 65.0


def test_a_quota_above_a_container_is_seen_from_outside(tmp_path: Path) -> None:
    sensors = HostSensors((0,), lay(tmp_path, BOXED))
    assert sensors.sample()["cpu.throttled_s"] is None
    sensors.follow(CONTAINER)
    assert sensors.sample()["cpu.throttled_s"] == 0.0
    assert sensors.facts() == {"cpu.quota": "2.5"}
    # Its slice's waiting shows in its own group, too, and is the same.
    own = f"{GROUPS}/box.slice/docker-{CONTAINER}.scope/cpu.stat"
    lay(
        tmp_path, {own: "throttled_usec 0", f"{GROUPS}/box.slice/cpu.stat": "throttled_usec 500007"}
    )
    assert sensors.sample()["cpu.throttled_s"] == 0.5
    lay(tmp_path, {own: "throttled_usec 250000"})
    lay(tmp_path, {f"{GROUPS}/box.slice/cpu.stat": "throttled_usec 1000007"})
    assert sensors.sample()["cpu.throttled_s"] == 1.0


def test_a_container_below_no_quota_or_without_a_group_of_its_name(tmp_path: Path) -> None:
    free = {name: text for name, text in BOXED.items() if not name.endswith("cpu.max")}
    sensors = HostSensors((0,), lay(tmp_path, free))
    sensors.follow("another")
    sensors.sample()
    assert sensors.facts() == {}
    sensors.follow(CONTAINER)
    sensors.sample()
    assert sensors.facts() == {"cpu.quota": "none"}
    # It began after it was told of.
    lay(tmp_path, {"proc/78/cgroup": "0::/box.slice/docker-another.scope"})
    lay(tmp_path, {f"{GROUPS}/box.slice/cpu.max": "100000 100000"})
    sensors.sample()
    assert sensors.facts() == {"cpu.quota": "1"}


def test_a_machine_without_sensors_says_so(tmp_path: Path) -> None:
    sensors = HostSensors((0, 1), tmp_path)
    assert set(sensors.sample().values()) == {None}
    assert set(sensors.absent) == set(sensors.sample())
    text = "processor : 0\ncpu MHz : 2445.430\nprocessor : 1\ncpu MHz : 1200.000"
    lay(tmp_path, {"proc/cpuinfo": text})
    assert HostSensors((0,), tmp_path).sample()["cpu.clock_mhz"] == 2445.43
    assert HostSensors(range(64), tmp_path)._clocked == tuple(range(0, 64, 4))
