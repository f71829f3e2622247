"""Podman behind docker's API: 4 drops a request for a GPU, 5.4 knows CDI; both run a campaign."""

from __future__ import annotations

from contextlib import closing

import pytest

from suite.errors import GpuError
from suite.host.docker.engine import DockerEngine
from suite.host.docker.run import start_run
from suite.host.engine import GpuRequest
from suite.host.gpu.request import GPU_PROBE
from tests.engine.conftest import read
from tests.engines.nested import Bench, Machine, Nested, Reach, probe
from tests.engines.test_cdi import SPEC

ONLY = ("--only", "tfdata.*", "--only", "overhead.fence")


def seen(engine: DockerEngine, gpu: GpuRequest) -> list[str]:
    """What a container sees of a GPU that is asked for past the suite's own refusal."""
    how = {"owner": "test", "memlock": False, "entrypoint": ("python3",)}
    with closing(start_run(engine._daemon, probe(engine, GPU_PROBE, gpu=gpu), **how)) as run:
        return read(run)


def test_podman_5_is_asked_by_cdi(podman5: Nested, reach: Reach) -> None:
    podman5.specify(SPEC)
    engine = reach(podman5.url)
    assert (engine._description.podman or ()) >= (5, 4)
    assert engine.find_gpu("0") == GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0",))
    # Any other request is taken, and dropped.
    assert seen(engine, GpuRequest(driver="nvidia", devices=("0",))) == []


@pytest.mark.parametrize("spec", [None, SPEC.replace('"0"', '"1"'), "devices: [ {name"])
def test_podman_5_without_the_device_is_no_gpu(
    podman5: Nested, reach: Reach, spec: str | None
) -> None:
    podman5.specify(spec)
    with pytest.raises(GpuError) as caught:
        reach(podman5.url).find_gpu("0")
    assert caught.value.exit_status == 4
    assert "unresolvable CDI devices nvidia.com/gpu=0" in caught.value.what + caught.value.remedy


def test_a_campaign_of_the_cpu_runs_on_podman_5(
    podman5: Nested, machine: Machine, bench: Bench
) -> None:
    machine.carry("cpu", podman5.url)
    done = bench(podman5.url, "--arms", "cpu", *ONLY)
    assert done.returncode == 0, done.stderr
    assert "measured" in done.stdout
