"""Watching from outside: the sampler against a stub of the library, and as a real process."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suite import wire
from suite.content import SUITE
from suite.host.engine import GpuRequest
from suite.host.gpu import cards, nvml
from suite.host.watch import observe
from suite.host.watch.observe import Sampled, make_observer, read_lines
from suite.host.watch.sampler import Owners
from suite.host.watch.sensors import HostSensors
from suite.model import Arm, Telemetry, control_of
from tests.fakes.clock import Time
from tests.fakes.engine import FakeEngine
from tests.fakes.nvml import (
    BRAKED,
    CAPPED,
    CUT,
    DUMB,
    ELSEWHERE,
    HEALTHY,
    HOT,
    SHARED,
    SLICE_UUIDS,
    UUIDS,
    FakeNvml,
    NVMLError,
    Profile,
)
from tests.host.watch.watching import CONTAINER, make_processes, watch

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
    assert set(found.absent) == {
        "cpu.clock_mhz",
        "cpu.clock_least_mhz",
        "cpu.throttle_events",
        "cpu.temperature_c",
    }
    assert json.loads(wire.dump_document(found))["at_s"] == found.at_s


def test_no_uuid_and_no_serial_leave_the_machine(tmp_path: Path) -> None:
    text = wire.dump_document(watch(tmp_path, HEALTHY))
    assert UUIDS[0] not in text
    assert "serial" not in text
    assert '"gpu.uuid": "sha256:' in text


def test_older_libraries_give_bytes(tmp_path: Path) -> None:
    texts, plain = (
        watch(tmp_path, replace(HEALTHY, as_bytes=as_bytes)).facts for as_bytes in (True, False)
    )
    # What the test's own process has used by then is no fact of the library's.
    assert {**texts, "sampler.cpu_s": None} == {**plain, "sampler.cpu_s": None}


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


def test_a_foreign_process_is_told_from_the_workers(tmp_path: Path) -> None:
    found = watch(tmp_path, SHARED)
    assert found.series["gpu.own_processes"][-1] == 1
    assert found.series["gpu.other_processes"][-1] == 1
    unseen = watch(tmp_path, replace(HEALTHY, here=(100, 300)))
    assert "gpu.other_processes" in unseen.absent
    assert unseen.series["gpu.other_processes"][-1] is None
    assert unseen.series["gpu.own_processes"][-1] == 1


def test_a_worker_on_another_gpu_is_seen_there(tmp_path: Path) -> None:
    found = watch(tmp_path, ELSEWHERE)
    assert found.series["gpu.own_processes"][-1] == 0
    assert found.series["gpu.own_processes_elsewhere"][-1] == 1
    by_uuid = watch(tmp_path, ELSEWHERE, wanted=f"nvidia.com/gpu={UUIDS[1]}")
    assert by_uuid.series["gpu.own_processes"][-1] == 1
    assert by_uuid.series["gpu.own_processes_elsewhere"][-1] == 0


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
    assert gpu.absent["gpu.energy_j"] == "Not Supported"
    assert gpu.absent["gpu.other_processes"] == "Not Supported"
    assert "can't say" in gpu.absent["gpu.pcie_width"]
    assert library.calls.count("nvmlDeviceGetTotalEnergyConsumption") == 1
    found = watch(tmp_path, DUMB)
    assert "gpu.energy_j" not in found.series
    assert found.absent["gpu.energy_j"] == "Not Supported"


def test_what_fails_once_is_asked_again(tmp_path: Path) -> None:
    library = FakeNvml(replace(HEALTHY, failing={"nvmlDeviceGetPowerUsage": 999}))
    gpu = nvml.Gpu(library, "0")
    assert gpu.sample(lambda _pid: True)["gpu.power_w"] is None
    library.profile = HEALTHY
    assert gpu.sample(lambda _pid: True)["gpu.power_w"] == 250.0
    assert gpu.absent["gpu.power_w"] == "Unknown Error"


def test_a_library_that_is_not_there_or_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(nvml.NoLibrary, match="not installed"):
        nvml.load_library()
    broken = FakeNvml(replace(HEALTHY, failing={"nvmlInit": 999}))
    monkeypatch.setitem(sys.modules, "pynvml", broken)
    with pytest.raises(nvml.NoLibrary, match="does not start: Unknown Error"):
        nvml.load_library()
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(HEALTHY))
    for wanted in ("7", "GPU-unknown"):
        with pytest.raises(nvml.NoLibrary, match="no such GPU"):
            nvml.Gpu(nvml.load_library(), wanted)
    assert str(NVMLError(3)) == "Not Supported"


def test_a_plain_process_owns_its_session(tmp_path: Path) -> None:
    owners = Owners(make_processes(tmp_path))
    assert [owners.is_own(pid) for pid in (100, 200, 300)] == [False, False, None]
    for line in ("process 200", "nonsense", "process x", "container "):
        owners.tell(line)
    assert [owners.is_own(pid) for pid in (100, 200)] == [False, True]
    owners.tell(f"container {CONTAINER}\n")
    assert owners.is_own(100) is True


def test_the_hosts_sensors(tmp_path: Path) -> None:
    cpu = tmp_path / "sys/devices/system/cpu"
    for number, kilohertz in ((0, 2_000_000), (1, 3_000_000)):
        for name, text in (
            ("cpufreq/scaling_cur_freq", str(kilohertz)),
            ("thermal_throttle/core_throttle_count", "2"),
            ("thermal_throttle/package_throttle_count", "1"),
        ):
            path = cpu / f"cpu{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
    sensor = tmp_path / "sys/class/hwmon/hwmon3"
    sensor.mkdir(parents=True)
    (sensor / "name").write_text("coretemp\n")
    (sensor / "temp1_input").write_text("71000\n")
    (sensor / "temp2_input").write_text("nonsense\n")
    sensors = HostSensors((0, 1), tmp_path)
    assert sensors.sample() == {
        "cpu.clock_mhz": 2500.0,
        "cpu.clock_least_mhz": 2000.0,
        "cpu.throttle_events": 6,
        "cpu.temperature_c": 71.0,
    }
    assert sensors.absent == {}
    zone = tmp_path / "sys/class/thermal/thermal_zone0"
    zone.mkdir(parents=True)
    (zone / "type").write_text("x86_pkg_temp\n")
    (zone / "temp").write_text("65000\n")
    assert HostSensors((0,), tmp_path).sample()["cpu.temperature_c"] == 65.0


def test_a_machine_without_sensors_says_so(tmp_path: Path) -> None:
    sensors = HostSensors((0, 1), tmp_path)
    assert set(sensors.sample().values()) == {None}
    assert set(sensors.absent) == set(sensors.sample())
    (tmp_path / "proc").mkdir()
    text = "processor : 0\ncpu MHz : 2445.430\nprocessor : 1\ncpu MHz : 1200.000\n"
    (tmp_path / "proc/cpuinfo").write_text(text)
    assert HostSensors((0,), tmp_path).sample()["cpu.clock_mhz"] == 2445.43
    assert HostSensors(range(64), tmp_path)._clocked == tuple(range(0, 64, 4))


def test_lines_that_were_cut_off_cost_only_themselves() -> None:
    whole = [
        '{"started": 1763712000.5, "facts": {"sampler.every_s": 0.5}}',
        '{"at_s": 0.0, "values": {"a": 1, "b": null}}',
        '{"at_s": 0.5, "values": {"a": null, "b": null, "c": 3}}',
        '{"at_s": 1.0, "val',
    ]
    found = read_lines(whole)
    assert found is not None
    assert found.series == {"a": [1, None], "c": [None, 3]}
    assert found.absent == {"b": "never told"}
    assert found.started.utcoffset() is not None
    assert read_lines(whole[:1]) is None
    assert read_lines([]) is None


def test_who_is_not_watched_and_why() -> None:
    engine, cpu = FakeEngine(), Arm(name="cpu", image="cpu", gpu=False)
    assert "switched off" in str(make_observer(engine, "off")(cpu, None, (0,)))
    assert "left unwatched" in str(
        make_observer(engine, "first")(control_of(cpu, "again"), None, (0,))
    )

    class Elsewhere(FakeEngine):
        @property
        def is_here(self) -> bool | None:
            return None

    assert "not proven" in str(make_observer(Elsewhere(), "on")(cpu, None, (0,)))


def test_a_sampler_that_can_not_be_started_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("not today")

    monkeypatch.setattr(observe.subprocess, "Popen", refuse)
    assert "could not be started: not today" in str(Sampled.begin(None, (0,)))


@pytest.mark.parametrize(
    ("request_", "watched"),
    [
        (GpuRequest(driver="cdi", devices=("nvidia.com/gpu=1",)), "nvidia.com/gpu=1"),
        (GpuRequest(driver="cdi", devices=("nvidia.com/gpu=all",), visible="1"), "1"),
    ],
)
def test_the_gpu_that_cuda_may_see_is_watched(
    request_: GpuRequest, watched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def refuse(words: list[str], **_: Any) -> None:
        asked.append(words)
        raise PermissionError("not today")

    monkeypatch.setattr(observe.subprocess, "Popen", refuse)
    Sampled.begin(request_, (0,))
    assert asked[0][-2:] == ["--gpu", watched]


class Followed:
    """As much of a run as the sampler is told."""

    id = CONTAINER
    process_id = None


@pytest.mark.processes
def test_a_real_sampler_watches_this_machine() -> None:
    begun = Sampled.begin(None, tuple(sorted(os.sched_getaffinity(0))))
    assert isinstance(begun, Sampled)
    begun.follow(Followed())  # type: ignore[arg-type]
    time.sleep(0.3)
    found = begun.end()
    assert isinstance(found, Telemetry), found
    assert len(found.at_s) >= 2
    assert found.facts["sampler.every_s"] == observe.HOST_EVERY_S
    assert isinstance(found.facts["sampler.cpu_s"], float)
    assert not any(name.startswith("gpu.") for name in (*found.series, *found.facts))


@pytest.mark.processes
def test_a_gpu_without_its_library_leaves_the_hosts_part() -> None:
    begun = Sampled.begin(GpuRequest(driver="nvidia", devices=("0",)), (0,))
    assert isinstance(begun, Sampled)
    found = begun.end()
    assert isinstance(found, Telemetry), found
    assert found.absent["gpu"]
    assert not any(name.startswith("gpu.") for name in found.series)


@pytest.mark.processes
def test_a_sampler_that_is_killed_leaves_what_it_saw() -> None:
    begun = Sampled.begin(None, (0,))
    assert isinstance(begun, Sampled)
    begun._process.send_signal(signal.SIGKILL)
    begun._process.wait()
    begun.follow(Followed())  # type: ignore[arg-type]
    found = begun.end()
    assert isinstance(found, Telemetry), found
    assert "ended early" in found.absent["sampler"]


@pytest.mark.processes
def test_a_sampler_ends_with_its_campaign() -> None:
    begun = Sampled.begin(None, (0,))
    assert isinstance(begun, Sampled)
    assert begun._process.stdin is not None
    begun._process.stdin.close()
    assert begun._process.wait(timeout=10) == 0
    begun.end()


@pytest.mark.parametrize(
    "wanted", ["1", UUIDS[1], f"nvidia.com/gpu={UUIDS[1]}", "nvidia.com/gpu=1"]
)
def test_of_several_gpus_only_the_named_one_is_watched(wanted: str, tmp_path: Path) -> None:
    # Somebody else computes on the first GPU, the worker on the second.
    found = watch(tmp_path, replace(HEALTHY, here=(200,), there=(100,)), wanted=wanted)
    assert found.facts["gpu.pci"] == "0000:c1:00.0"
    assert found.facts["gpu.uuid"] == wire.hash_uuid(UUIDS[1])
    assert found.series["gpu.own_processes"][-1] == 1
    assert found.series["gpu.other_processes"][-1] == 0
    assert found.series["gpu.own_processes_elsewhere"][-1] == 0


@pytest.mark.parametrize("wanted", ["0:1", "nvidia.com/gpu=0:1", SLICE_UUIDS[1]])
def test_a_mig_instance_has_its_gpus_clocks_and_no_power_of_its_own(
    wanted: str, tmp_path: Path
) -> None:
    cut = replace(CUT, here=(100,), beside=(200,))
    found = watch(tmp_path, cut, wanted=wanted)
    assert found.facts["gpu.uuid"] == wire.hash_uuid(SLICE_UUIDS[1])
    assert found.facts["gpu.name"] == "NVIDIA Made-Up 100 MIG 1g.10gb"
    assert found.facts["gpu.memory_bytes"] == 10 * 2**30
    assert found.facts["gpu.pci"] == "0000:81:00.0"
    assert found.facts["gpu.mig"] is True
    assert found.series["gpu.clock_sm_mhz"][-1] == 1980
    for name in ("gpu.power_w", "gpu.energy_j", "gpu.utilization_percent"):
        assert name not in found.series
        assert "whole GPU" in found.absent[name]
    # Another instance's process is none on this one.
    assert found.series["gpu.own_processes"][-1] == 1
    assert found.series["gpu.other_processes"][-1] == 0
    assert found.series["gpu.own_processes_elsewhere"][-1] == 0
    away = watch(tmp_path, replace(CUT, here=(), beside=(100,)), wanted=wanted)
    assert away.series["gpu.own_processes"][-1] == 0
    assert away.series["gpu.own_processes_elsewhere"][-1] == 1


def test_an_instance_that_is_not_there_is_none() -> None:
    for wanted in ("0:2", SLICE_UUIDS[2], "1:0"):
        with pytest.raises(nvml.NoLibrary, match="no such GPU"):
            nvml.Gpu(FakeNvml(CUT), wanted)


@pytest.mark.processes
def test_the_real_process_asks_the_library_about_the_named_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pynvml.py").write_text(
        "import sys\nfrom tests.fakes.nvml import CUT, FakeNvml\n"
        "sys.modules[__name__] = FakeNvml(CUT)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(SUITE.parent)]))
    begun = Sampled.begin(GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0:3",)), (0,))
    assert isinstance(begun, Sampled)
    found = begun.end()
    assert isinstance(found, Telemetry), found
    assert found.facts["gpu.uuid"] == wire.hash_uuid(SLICE_UUIDS[3])
    assert found.series["gpu.clock_sm_mhz"][0] == 1980
    listed = cards.ask_library()
    assert listed is not None
    assert [one.index for one in listed[0].slices] == [1, 3]
