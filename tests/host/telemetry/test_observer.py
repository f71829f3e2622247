"""Watching from outside as a real process, and the reasons for not watching."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from suite import codec
from suite.clock import Span
from suite.fingerprint import SUITE
from suite.host.engine import GpuRequest
from suite.host.gpu import visible_devices
from suite.host.telemetry import observer
from suite.host.telemetry.observer import Sampled, make_observer, read_lines
from suite.model import Arm, Telemetry, control_of
from tests.fakes.engine import FakeEngine
from tests.fakes.nvml import SLICE_UUIDS
from tests.host.telemetry.watching import CONTAINER


def test_lines_that_were_cut_off_cost_only_themselves() -> None:
    whole = [
        '{"began_s": 71.5, "facts": {"sampler.every_s": 0.5}}',
        '{"at_s": 0.0, "values": {"a": 1, "b": null}}',
        '{"at_s": 0.5, "values": {"a": null, "b": null, "c": 3}}',
        '{"at_s": 1.0, "val',
    ]
    span = Span()
    found = read_lines(whole, span)
    assert found is not None
    assert found.series == {"a": [1, None], "c": [None, 3]}
    assert found.absent == {"b": "never told"}
    assert found.started == span.at(71.5)
    assert read_lines(whole[:1], span) is None
    assert read_lines([], span) is None


CPU = Arm(name="cpu", image="cpu", gpu=False)


@pytest.mark.parametrize(
    ("engine", "mode", "arm", "said"),
    [
        (FakeEngine(), "off", CPU, "switched off"),
        (FakeEngine(), "first", control_of(CPU, "again"), "left without telemetry"),
        (FakeEngine(here=None), "on", CPU, "not proven"),
    ],
)
def test_who_is_not_watched_and_why(engine: FakeEngine, mode: str, arm: Arm, said: str) -> None:
    assert said in str(make_observer(engine, mode)(arm, None, (0,)))


@pytest.mark.parametrize(
    ("asked", "watched"),
    [
        (GpuRequest(driver="cdi", devices=("nvidia.com/gpu=1",)), "nvidia.com/gpu=1"),
        (GpuRequest(driver="cdi", devices=("nvidia.com/gpu=all",), visible="1"), "1"),
    ],
)
def test_the_gpu_that_cuda_may_see_is_watched_or_there_is_a_reason(
    asked: GpuRequest, watched: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def refuse(words: list[str], **_: Any) -> None:
        started.append(words)
        raise PermissionError("not today")

    monkeypatch.setattr(observer.subprocess, "Popen", refuse)
    assert "not today" in str(Sampled.begin(asked, (0,)))
    assert started[0][-2:] == ["--gpu", watched]


class Followed:
    """As much of a run as the sampler is told."""

    id = CONTAINER
    process_id = None


def begin(gpu: GpuRequest | None = None) -> Sampled:
    begun = Sampled.begin(gpu, tuple(sorted(os.sched_getaffinity(0))))
    assert isinstance(begun, Sampled)
    return begun


def finish(begun: Sampled) -> Telemetry:
    found = begun.end(Span())
    assert isinstance(found, Telemetry), found
    return found


@pytest.mark.processes
def test_a_real_sampler_watches_this_machine() -> None:
    begun = begin()
    begun.follow(Followed())  # type: ignore[arg-type]
    time.sleep(0.3)
    found = finish(begun)
    assert len(found.at_s) >= 2
    assert found.facts["sampler.every_s"] == observer.HOST_EVERY_S
    assert isinstance(found.facts["sampler.cpu_s"], float)
    assert not any(name.startswith("gpu.") for name in (*found.series, *found.facts))


@pytest.mark.processes
def test_a_gpu_without_its_library_leaves_the_hosts_part() -> None:
    found = finish(begin(GpuRequest(driver="nvidia", devices=("0",))))
    assert found.absent["gpu"]
    assert not any(name.startswith("gpu.") for name in found.series)


@pytest.mark.processes
def test_a_sampler_that_is_killed_leaves_what_it_saw() -> None:
    begun = begin()
    begun._process.send_signal(signal.SIGKILL)
    begun._process.wait()
    begun.follow(Followed())  # type: ignore[arg-type]
    assert "ended early" in finish(begun).absent["sampler"]


@pytest.mark.processes
def test_a_sampler_ends_with_its_campaign() -> None:
    begun = begin()
    assert begun._process.stdin is not None
    begun._process.stdin.close()
    assert begun._process.wait(timeout=10) == 0
    begun.end(Span())


@pytest.mark.processes
@pytest.mark.simulated
def test_the_real_process_asks_the_library_about_the_named_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pynvml.py").write_text(
        "import sys\nfrom tests.fakes.nvml import CUT, FakeNvml\n"
        "sys.modules[__name__] = FakeNvml(CUT)\n"
        "sys.stderr.write('a warning\\nanother\\none without an end')\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(SUITE.parent)]))
    found = finish(begin(GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0:3",))))
    assert found.facts["gpu.uuid"] == codec.hash_uuid(SLICE_UUIDS[3])
    assert found.series["gpu.clock_sm_mhz"][0] == 1980
    listed = visible_devices.ask_library()
    assert listed is not None
    assert [one.index for one in listed[0].slices] == [1, 3]
