"""Asking a real engine for a GPU that is not there: what NVIDIA's hook says, and what the suite makes
of it.  A daemon of the test's own finds a stand-in for the hook on its PATH."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from docker.api.client import APIClient

from suite.errors import GpuError
from suite.host.docker import gpu as docker_gpu
from suite.host.docker.engine import DockerEngine
from suite.host.engine import GpuRequest, Job
from suite.host.gpu.remedies import find_refusal
from tests.engine.conftest import bare
from tests.fakes.daemons import HOOK, Daemon, carry_image, why_not
from tests.lacking import lack

CLI = "Auto-detected mode as 'legacy'\nnvidia-container-cli: "

HOOKS = {
    "CDI mode": (
        "Auto-detected mode as 'cdi'\ninvoking the NVIDIA Container Runtime Hook directly (e.g. "
        "specifying the docker --gpus flag) is not supported. Please use the NVIDIA Container "
        "Runtime (e.g. specify the --runtime=nvidia flag) instead."
    ),
    "upgraded": CLI + "initialization error: nvml error: driver/library version mismatch",
    "no NVIDIA driver": CLI
    + "initialization error: load library failed: libnvidia-ml.so.1: cannot "
    "open shared object file: no such file or directory",
    "driver is older": CLI + "requirement error: unsatisfied condition: cuda>=12.5, please update "
    "your driver to a newer version, or use an earlier cuda container",
    "hook failed": CLI + "mount error: something that nobody has seen",
}
"""What the hook prints, as the toolkit wraps it, by a part of the cause that the suite names; what else it
prints is tried in tests/host/gpu, as a table."""


@pytest.fixture(scope="module")
def daemon(api: APIClient, base: str, engine: DockerEngine) -> Iterator[Daemon]:
    reason = why_not()
    if reason is not None:
        pytest.skip(f"no daemon of the test's own: {reason}")
    own = Daemon()
    try:
        own.start()
        carry_image(api, base, own.url)
        yield own
    except RuntimeError as error:
        lack(f"no daemon of the test's own: {error}")
    finally:
        own.remove()


@pytest.fixture
def asked(daemon: Daemon, base_id: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerEngine]:
    """The suite's engine on that daemon, on a machine that shows a GPU."""
    daemon.hook.accept()
    with reach(daemon, base_id, monkeypatch) as found:
        assert found.is_here
        yield found


@contextmanager
def reach(daemon: Daemon, image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerEngine]:
    monkeypatch.setenv("DOCKER_HOST", daemon.url)
    monkeypatch.setattr(docker_gpu, "machine_gpus", lambda: ("nvidia0",))
    with closing(DockerEngine(base_image=image)) as found:
        yield found
        assert containers(daemon) == [], "a probe's container was left behind"


def containers(daemon: Daemon) -> list[str]:
    with closing(APIClient(base_url=daemon.url)) as client:
        return [one["Id"] for one in client.containers(all=True)]


def check(asked: DockerEngine, cause: str, text: str, daemon: Daemon) -> str:
    """What to do about the GPU that is refused."""
    with pytest.raises(GpuError) as caught:
        asked.find_gpu("0")
    error = caught.value
    assert error.exit_status == 4
    assert cause in error.what
    for line in text.splitlines():
        assert line in error.what
    assert f"{daemon.url} (DOCKER_HOST)" in error.what
    assert "`" in error.remedy
    return error.remedy


@pytest.mark.parametrize(("cause", "text"), HOOKS.items(), ids=list(HOOKS))
def test_a_refusal_of_the_hook_is_told_whole_and_explained(
    asked: DockerEngine, daemon: Daemon, cause: str, text: str
) -> None:
    daemon.hook.refuse(text)
    known = find_refusal(text)
    assert known is not None
    assert check(asked, cause, text, daemon) == known.remedy
    assert daemon.hook.was_asked


def test_a_request_that_is_taken_and_does_nothing_is_no_gpu(
    asked: DockerEngine, daemon: Daemon
) -> None:
    check(asked, "its container sees no device", "", daemon)
    assert daemon.hook.was_asked


def test_an_engine_without_cdi_says_so(asked: DockerEngine, base_id: str) -> None:
    gpu = GpuRequest(driver="cdi", devices=("nvidia.com/gpu=0",))
    job = Job(image=bare(base_id), arguments=("-c", "print('ran')"), cpus=(), gpu=gpu)
    with pytest.raises(GpuError, match=r'device driver "cdi"|unresolvable CDI') as caught:
        asked.start(job, entrypoint=("python3",))
    assert '{"features":{"cdi":true}}' in caught.value.remedy or "cdi gen" in caught.value.remedy


def test_an_engine_without_the_toolkit_says_so(
    daemon: Daemon, base_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Last in this file: the daemon is started anew without the hook on its PATH."""
    if shutil.which(HOOK) is not None:
        pytest.skip("the machine's own toolkit is on PATH")
    daemon.stop()
    daemon.start(hooked=False)
    text = 'could not select device driver "" with capabilities'
    with reach(daemon, base_id, monkeypatch) as asked:
        remedy = check(asked, "toolkit is missing", text, daemon)
    assert "sudo apt-get install nvidia-container-toolkit" in remedy
