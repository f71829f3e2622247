"""Watching from outside: the sampler against a stub of the library, and the host's own sensors."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from suite import codec
from suite.host.gpu import nvml
from suite.host.telemetry.sampler import HostSensors
from tests.fakes.clock import Time
from tests.fakes.groups import GROUPS, unified
from tests.fakes.nvml import (
    AFTER_VOLTA,
    BEFORE_AMPERE,
    BRAKED,
    CAPPED,
    CUT,
    DUMB,
    ELSEWHERE,
    HEALTHY,
    HOT,
    LOST,
    SHARED,
    SLICE_UUIDS,
    SLICED,
    UUIDS,
    FakeNvml,
    NVMLError,
    Profile,
)
from tests.fakes.tree import lay
from tests.host.telemetry.watching import CONTAINER, make_processes, watch

pytestmark = pytest.mark.simulated


def test_a_healthy_gpu_is_sampled_whole(tmp_path: Path) -> None:
    found = watch(tmp_path, HEALTHY)
    assert found.at_s == [0.25 * i for i in range(10)]
    assert found.series["gpu.clock_sm_mhz"] == [1980] * 10
    assert found.series["gpu.power_w"] == [250.0] * 10
    energy = found.series["gpu.energy_j"]
    assert energy[0] is not None
    assert energy[8] is not None
    assert energy[8] - energy[0] == pytest.approx(500.0)
    assert found.series["gpu.pcie_width"] == [16] * 10
    assert found.series["gpu.own_processes"] == [0, *[1] * 9]
    assert found.series["gpu.other_processes"] == [1, *[0] * 9]
    assert found.facts["gpu.name"] == "NVIDIA Made-Up 100"
    assert found.facts["driver.version"] == "550.90.07"
    assert found.facts["driver.cuda"] == "12.4"
    assert found.facts["gpu.capability"] == "9.0"
    assert found.facts["gpu.power_limit_w"] == 700.0
    assert found.facts["gpu.on_bus"] == 2
    unseen = ("clock_mhz", "clock_least_mhz", "throttle_events", "temperature_c", "throttled_s")
    unseen += ("steal_s",)
    assert set(found.absent) == {f"cpu.{name}" for name in unseen}
    text = codec.dump_document(found)
    assert json.loads(text)["at_s"] == found.at_s
    # No UUID and no serial leave the machine.
    assert UUIDS[0] not in text
    assert "serial" not in text
    assert '"gpu.uuid": "sha256:' in text


@pytest.mark.parametrize(
    ("profile", "reasons", "held"),
    [(CAPPED, 0x4, "power"), (HOT, 0x20, "heat"), (BRAKED, 0x80, None)],
)
def test_what_holds_a_gpu_back_is_kept_raw(
    profile: Profile, reasons: int, held: str | None, tmp_path: Path
) -> None:
    found = watch(tmp_path, profile)
    assert set(found.series["gpu.reasons_bits"]) == {reasons}
    for name in ("power", "heat"):
        column = found.series[f"gpu.held_by_{name}_s"]
        assert column[0] is not None
        assert column[-1] is not None
        assert (column[-1] > column[0]) == (name == held)


def test_what_is_not_supported_is_null_with_its_reason_and_not_asked_again(tmp_path: Path) -> None:
    now = Time(looks=8)
    library = FakeNvml(DUMB, now)
    gpu = nvml.Gpu(library, "0")
    facts = gpu.facts()
    for _ in range(5):
        values = gpu.sample(lambda _pid: True)
    assert values["gpu.energy_j"] is values["gpu.held_by_heat_s"] is values["gpu.power_w"] is None
    assert values["gpu.own_processes"] is values["gpu.other_processes"] is None
    assert values["gpu.pcie_width"] is None
    assert values["gpu.clock_sm_mhz"] == 1980
    assert facts["gpu.vbios"] is None
    assert facts["gpu.pci_device"] == "2237:152f"
    assert gpu.absent["gpu.energy_j"] == "Not Supported"
    assert gpu.absent["gpu.other_processes"] == "Not Supported"
    assert "can't say" in gpu.absent["gpu.pcie_width"]
    assert library.calls.count("nvmlDeviceGetTotalEnergyConsumption") == 1
    found = watch(tmp_path, DUMB)
    assert "gpu.energy_j" not in found.series
    assert found.absent["gpu.energy_j"] == "Not Supported"


HEALTH_NAMES = ("corrected_errors", "memory_errors", "rows_remapped", "pcie_replays")


def test_a_gpus_health_is_read_at_both_ends_and_its_messages_in_between(tmp_path: Path) -> None:
    first = replace(HEALTHY, errors=(2, 0), errors_ever=(9, 1), rows=(1, 1, 0, 0), pages=(3, 4))
    later = replace(
        first, errors=(5, 1), rows=(1, 2, 1, 1), replays=7, sram_worn=True, xids=(31, 79, 31)
    )
    facts = watch(tmp_path, first, later=later, after_s=1.0).facts
    assert [facts[f"gpu.{name}"] for name in HEALTH_NAMES] == [2, 0, 2, 0]
    assert [facts[f"gpu.at_end.{name}"] for name in HEALTH_NAMES] == [5, 1, 3, 7]
    assert (facts["gpu.corrected_errors_ever"], facts["gpu.memory_errors_ever"]) == (9, 1)
    assert facts["gpu.pages_retired"] == facts["gpu.at_end.pages_retired"] == 7
    for name in ("remapping_pending", "remapping_failed", "sram_worn"):
        assert (facts[f"gpu.{name}"], facts[f"gpu.at_end.{name}"]) == (False, True)
    assert facts["gpu.retirement_pending"] is facts["gpu.at_end.retirement_pending"] is False
    assert facts["gpu.xids"] == "31,79"
    assert watch(tmp_path, first).facts["gpu.xids"] == "none"


@pytest.mark.parametrize(
    ("profile", "unknown"),
    [
        (BEFORE_AMPERE, {"rows_remapped", "remapping_pending", "remapping_failed", "sram_worn"}),
        (AFTER_VOLTA, {"pages_retired", "retirement_pending"}),
        (SLICED, {name.removeprefix("gpu.") for name in nvml.HEALTH}),
        (LOST, set()),
    ],
)
def test_what_a_card_does_not_count_is_unknown_and_asked_once(
    profile: Profile, unknown: set[str], tmp_path: Path
) -> None:
    facts = watch(tmp_path, profile).facts
    for name in nvml.HEALTH:
        is_unknown = name.removeprefix("gpu.") in unknown
        assert (facts[name] is None) is is_unknown
        assert (facts[name.replace("gpu.", "gpu.at_end.")] is None) is is_unknown
    library = FakeNvml(profile)
    gpu = nvml.Gpu(library, "0")
    gpu.facts()
    gpu.last_facts()
    assert {name for name in gpu.absent if name in nvml.HEALTH} == {f"gpu.{n}" for n in unknown}
    for name, call in (("sram_worn", "SramEccErrorStatus"), ("pcie_replays", "PcieReplayCounter")):
        asked = library.calls.count(f"nvmlDeviceGet{call}")
        assert asked == (1 if name in unknown else 2)


@pytest.mark.parametrize(
    ("failing", "value", "heard", "calls"),
    [
        ("nvmlDeviceRegisterEvents", 3, None, 0),
        ("nvmlEventSetCreate", 999, None, 0),
        ("nvmlEventSetWait", 13, None, 1),
        # A GPU that is lost may yet say why; as long as it does not, that is unknown.
        ("nvmlEventSetWait", 15, None, 4),
    ],
)
def test_a_driver_without_messages_is_not_asked_for_them(
    failing: str, value: int, heard: str | None, calls: int
) -> None:
    library = FakeNvml(replace(HEALTHY, failing={failing: value}, xids=(48,)))
    gpu = nvml.Gpu(library, "0")
    for _ in range(3):
        gpu.sample(lambda _pid: True)
    assert gpu.last_facts()["gpu.xids"] == heard
    assert library.calls.count("nvmlEventSetWait") == calls
    assert "gpu.xids" in gpu.absent


@pytest.mark.parametrize("value", [1, 15])
def test_what_the_driver_said_before_it_was_lost_is_kept(value: int) -> None:
    library = FakeNvml(replace(HEALTHY, xids=(79,)))
    gpu = nvml.Gpu(library, "0")
    gpu.sample(lambda _pid: True)
    library.profile = replace(library.profile, failing={"nvmlEventSetWait": value})
    gpu.sample(lambda _pid: True)
    assert gpu.last_facts()["gpu.xids"] == "79"


def test_messages_without_end_do_not_hold_it_up() -> None:
    gpu = nvml.Gpu(FakeNvml(replace(HEALTHY, xids=tuple(range(1, 1000)))), "0")
    gpu.sample(lambda _pid: True)
    assert str(gpu.last_facts()["gpu.xids"]).count(",") < 200


def test_a_library_that_is_not_there_or_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(nvml.NoLibrary, match="not installed"):
        nvml.load_library()
    broken = FakeNvml(replace(HEALTHY, failing={"nvmlInit": 999}))
    monkeypatch.setitem(sys.modules, "pynvml", broken)
    with pytest.raises(nvml.NoLibrary, match="does not start: Unknown Error"):
        nvml.load_library()
    missing = {"7": HEALTHY, "GPU-unknown": HEALTHY, "0:2": CUT, SLICE_UUIDS[2]: CUT, "1:0": CUT}
    for wanted, profile in missing.items():
        with pytest.raises(nvml.NoLibrary, match="no such GPU"):
            nvml.Gpu(FakeNvml(profile), wanted)
    assert str(NVMLError(3)) == "Not Supported"


def test_a_plain_process_owns_its_session(tmp_path: Path) -> None:
    host = HostSensors((0,), make_processes(tmp_path))
    assert [host.is_own(pid) for pid in (100, 200, 300)] == [False, False, None]
    for line in ("process 200", "nonsense", "process x", "container "):
        host.tell(line)
    assert [host.is_own(pid) for pid in (100, 200)] == [False, True]
    host.tell(f"container {CONTAINER}\n")
    assert host.is_own(100) is True


def test_what_fails_once_is_asked_again() -> None:
    library = FakeNvml(replace(HEALTHY, failing={"nvmlDeviceGetPowerUsage": 999}))
    gpu = nvml.Gpu(library, "0")
    assert gpu.sample(lambda _pid: True)["gpu.power_w"] is None
    library.profile = HEALTHY
    assert gpu.sample(lambda _pid: True)["gpu.power_w"] == 250.0
    assert gpu.absent["gpu.power_w"] == "Unknown Error"


CDI_SECOND = f"nvidia.com/gpu={UUIDS[1]}"
FIRST_ALONE = replace(HEALTHY, here=(200,), there=(100,))
ON_SLICE = replace(CUT, here=(100,), beside=(200,))
BESIDE = replace(CUT, here=(), beside=(100,))


@pytest.mark.parametrize(
    ("profile", "wanted", "processes"),
    [
        # Those of the worker, of others, and of the worker elsewhere.
        (SHARED, "0", (1, 1, 0)),
        # Of process 300 nothing can be seen.
        (replace(HEALTHY, here=(100, 300)), "0", (1, None, 0)),
        (ELSEWHERE, "0", (0, 0, 1)),
        (ELSEWHERE, CDI_SECOND, (1, 0, 0)),
        # Somebody else computes on the first GPU, the worker on the second.
        *((FIRST_ALONE, wanted, (1, 0, 0)) for wanted in ("1", UUIDS[1], CDI_SECOND)),
        (FIRST_ALONE, "nvidia.com/gpu=1", (1, 0, 0)),
        # Another instance's process is none on this one.
        *((ON_SLICE, wanted, (1, 0, 0)) for wanted in ("0:1", SLICE_UUIDS[1])),
        *((BESIDE, wanted, (0, 0, 1)) for wanted in ("0:1", "nvidia.com/gpu=0:1")),
    ],
)
def test_whose_processes_compute_on_the_gpu_is_told(
    profile: Profile, wanted: str, processes: tuple[int | None, ...], tmp_path: Path
) -> None:
    found = watch(tmp_path, profile, wanted=wanted)
    names = ("gpu.own_processes", "gpu.other_processes", "gpu.own_processes_elsewhere")
    assert tuple(found.series[name][-1] for name in names) == processes
    assert ("gpu.other_processes" in found.absent) is (processes[1] is None)
    if found.facts["gpu.pci"] != "0000:81:00.0":
        assert found.facts["gpu.pci"] == "0000:c1:00.0"
        assert found.facts["gpu.uuid"] == codec.hash_uuid(UUIDS[1])


@pytest.mark.parametrize("wanted", ["0:1", "nvidia.com/gpu=0:1", SLICE_UUIDS[1]])
def test_a_mig_instance_has_its_gpus_clocks_and_no_power_of_its_own(
    wanted: str, tmp_path: Path
) -> None:
    found = watch(tmp_path, ON_SLICE, wanted=wanted)
    known = {
        "gpu.uuid": codec.hash_uuid(SLICE_UUIDS[1]),
        "gpu.name": "NVIDIA Made-Up 100 MIG 1g.10gb",
        "gpu.memory_bytes": 10 * 2**30,
        "gpu.pci": "0000:81:00.0",
        "gpu.mig": True,
    }
    assert {name: found.facts[name] for name in known} == known
    assert found.series["gpu.clock_sm_mhz"][-1] == 1980
    for name in ("gpu.power_w", "gpu.energy_j", "gpu.utilization_percent"):
        assert name not in found.series
        assert "whole GPU" in found.absent[name]


CPU = "sys/devices/system/cpu/cpu{}"
SENSORS = {
    "proc/stat": "cpu 1 1\ncpu0 9 9 9 9 9 9 9 10\ncpu1 9 9 9 9 9 9 9 20\ncpu2 9 9 9 9 9 9 9 99\n",
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
BOX = "c0ffee" * 8
BOXED = {
    **unified(
        "/a", {"box.slice/cpu.max": "250000 100000", "box.slice/cpu.stat": "throttled_usec 7"}
    ),
    "proc/12/cgroup": "0::/b",
    "proc/77/cgroup": f"0::/box.slice/docker-{BOX}.scope",
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
        "cpu.steal_s": pytest.approx(30 / os.sysconf("SC_CLK_TCK")),
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
    sensors.tell(f"container {BOX}")
    assert sensors.sample()["cpu.throttled_s"] == 0.0
    assert sensors.facts() == {"cpu.quota": "2.5"}
    # Its slice's waiting shows in its own group, too, and is the same.
    own = f"{GROUPS}/box.slice/docker-{BOX}.scope/cpu.stat"
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
    sensors.tell("container another")
    sensors.sample()
    assert sensors.facts() == {}
    sensors.tell(f"container {BOX}")
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
