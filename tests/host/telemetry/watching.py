"""The sampler watches a made-up GPU, on a clock that only waiting moves."""

from __future__ import annotations

import io
from pathlib import Path

from suite.clock import Span
from suite.host.gpu import nvml
from suite.host.telemetry.observer import read_lines
from suite.host.telemetry.sampler import HostSensors, sample_until_told
from suite.model import Telemetry
from tests.fakes.clock import Time
from tests.fakes.nvml import FakeNvml, Profile
from tests.fakes.tree import lay

CONTAINER = "c0ffee" * 8


def make_processes(root: Path) -> Path:
    """Process 100 is in the worker's container, 200 in another; of 300 nothing can be seen."""
    for pid, group in ((100, f"0::/system.slice/docker-{CONTAINER}.scope"), (200, "0::/user")):
        stat = f"{pid} (a (strange) name) S 1 {pid} {pid} 0 -1"
        lay(root, {f"proc/{pid}/cgroup": group, f"proc/{pid}/stat": stat})
    return root


def watch(
    root: Path,
    profile: Profile,
    *,
    wanted: str = "0",
    looks: int = 8,
    later: Profile | None = None,
    after_s: float = 0.0,
) -> Telemetry:
    """What the sampler tells of a made-up GPU, read back; ``later`` is what becomes of that GPU."""
    now = Time([f"container {CONTAINER}"], looks=looks)
    gpu = nvml.Gpu(FakeNvml(profile, now, later=later, after_s=after_s), wanted)
    out = io.StringIO()
    sample_until_told(
        out,
        gpu=gpu,
        host=HostSensors((0,), make_processes(root)),
        every_s=0.25,
        wait=now.wait,
        absent={},
        on_bus=2,
        clock=now,
    )
    found = read_lines(out.getvalue().splitlines(), Span())
    assert found is not None
    return found
