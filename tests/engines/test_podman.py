"""Podman behind docker's API: 4 drops a request for a GPU, 5.4 knows CDI; both run a campaign."""

from __future__ import annotations

from contextlib import closing

import pytest

from suite.errors import GpuError
from suite.host.docker import gpu as docker_gpu
from suite.host.docker.engine import DockerEngine
from suite.host.docker.run import start_run
from suite.host.engine import GpuRequest
from suite.host.gpu.request import GPU_PROBE
from tests.engine.conftest import read
from tests.engines.nested import Bench, Machine, Nested, PodmanHere, Reach, probe
from tests.engines.test_cdi import SPEC

ONLY = ("--only", "tfdata.*", "--only", "overhead.fence")


def seen(engine: DockerEngine, gpu: GpuRequest) -> list[str]:
    """What a container sees of a GPU that is asked for past the suite's own refusal."""
    how = {"owner": "test", "memlock": False, "entrypoint": ("python3",)}
    with closing(start_run(engine._daemon, probe(engine, GPU_PROBE, gpu=gpu), **how)) as run:
        return read(run)


def test_an_old_podman_is_refused_before_it_drops_the_request(
    podman_here: PodmanHere, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docker_gpu, "machine_gpus", lambda: ("nvidia0",))
    engine = reach(podman_here.url)
    assert engine.describe()["product"] == "podman"
    if (engine._description.podman or ()) >= (5, 4):
        pytest.skip("the machine's podman is new")
    request = GpuRequest(driver="nvidia", devices=("0",))
    with pytest.raises(GpuError, match="runs without the GPU") as caught:
        engine.find_gpu("0")
    assert caught.value.exit_status == 4
    assert podman_here.url in caught.value.what
    assert "`podman --version`" in caught.value.remedy
    with pytest.raises(GpuError, match="runs without the GPU"):
        engine.start(probe(engine, GPU_PROBE, gpu=request))
    # That it would: it takes both kinds of request, and the container sees nothing.
    assert seen(engine, request) == []
    assert seen(engine, GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0",))) == []


def test_a_gpu_arm_on_an_old_podman_ends_before_the_first_container(
    podman_here: PodmanHere, reach: Reach, bench: Bench
) -> None:
    if (reach(podman_here.url)._description.podman or ()) >= (5, 4):
        pytest.skip("the machine's podman is new")
    done = bench(podman_here.url, "--arms", "cpu cuda", gpu=True)
    assert done.returncode == 4, done.stderr
    assert done.stdout == ""
    assert "/dev/nvidia0" in done.stderr


def test_a_campaign_of_the_cpu_runs_on_the_machines_podman(
    podman_here: PodmanHere, machine: Machine, reach: Reach, bench: Bench
) -> None:
    machine.carry("cpu", podman_here.url)
    done = bench(podman_here.url, "--arms", "cpu", *ONLY)
    assert done.returncode == 0, done.stderr
    assert "measured" in done.stdout
    assert reach(podman_here.url).sweep_leftovers() == 0


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
