"""The search for a GPU on an engine, against a table of what its containers see."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from suite.errors import GpuError, NoGpuError
from suite.host.docker import gpu as docker_gpu
from suite.host.docker.gpu import GpuSearch
from suite.host.engine import Card, EngineKind, GpuRequest
from suite.host.gpu import request as gpu
from suite.host.gpu.remedies import explain_refusal
from suite.procfs import VERSION_PROBE

FIRST = "11111111-aaaa-4bbb-8ccc-000000000001"
SECOND = "22222222-aaaa-4bbb-8ccc-000000000002"
CARDS = (Card(index=0, uuid=f"GPU-{FIRST}"), Card(index=1, uuid=f"GPU-{SECOND}"))
FOLDERS = {"ServerVersion": "26.1.5", "CDISpecDirs": ["/etc/cdi"]}
OLD = {"ServerVersion": "24.0"}
ONLY_ALL = {"ServerVersion": "29.0", "DiscoveredDevices": [{"ID": "nvidia.com/gpu=all"}]}
UNRESOLVED = "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0"
NO_HOOK = 'could not select device driver "" with capabilities: [[gpu]]'
ON_BUS = ("0000:01:00.0",)


class Machine:
    """An engine's machine: what it refuses by the request's driver, the nodes that a container gets,
    and the UUIDs that CUDA there sees, by CUDA_VISIBLE_DEVICES."""

    def __init__(
        self,
        *,
        refuses: Mapping[str, str] | None = None,
        nodes: tuple[str, ...] = ("/dev/nvidia0",),
        cuda: Mapping[str | None, tuple[str, ...]] | None = None,
        hardware: tuple[str, ...] = (),
        kind: EngineKind = "docker",
    ) -> None:
        self.refuses = refuses or {}
        self.kind = kind
        self.says = {gpu.GPU_PROBE: nodes, gpu.HARDWARE_PROBE: hardware}
        self.cuda = cuda or {}
        self.asked: list[tuple[str, GpuRequest | None]] = []

    def ask(self, code: str, request: GpuRequest | None) -> tuple[list[str], str]:
        self.asked.append((code, request))
        if request is not None:
            for device in (request.driver, *request.devices):
                if device in self.refuses:
                    raise explain_refusal(self.refuses[device], "there", self.kind)
            if code == gpu.CUDA_PROBE:
                return list(self.cuda.get(request.visible, ())), "exit code 0"
        return list(self.says.get(code, ())), "exit code 0"

    def find(self, wanted: str, info: Mapping[str, Any] | None = None, **known: Any) -> GpuRequest:
        given = {"podman": None, "is_here": None, **known}
        there = SimpleNamespace(where="there")
        engine = SimpleNamespace(endpoint=there, info=info or {}, kind=self.kind, **given)
        return GpuSearch(engine, self.ask).find(wanted)

    @property
    def drivers(self) -> list[str]:
        """By which the GPU was asked for."""
        return [asked.driver for code, asked in self.asked if code == gpu.GPU_PROBE and asked]


@pytest.fixture(autouse=True)
def seen_here(monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch)


def show(
    monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, ...] = (), cards: tuple[Card, ...] = ()
) -> None:
    """What the test's own machine shows."""
    monkeypatch.setattr(docker_gpu, "machine_gpus", lambda: nodes)
    monkeypatch.setattr(docker_gpu, "machine_cards", lambda: cards)


WSL = (gpu.WSL_NODE,)
EITHER = {
    None: (FIRST, SECOND),
    "0": (FIRST,),
    "1": (SECOND,),
    f"GPU-{FIRST}": (FIRST,),
    f"GPU-{SECOND}": (SECOND,),
    "GPU-2222": (SECOND,),
}


@pytest.mark.parametrize(
    ("here", "wanted", "visible", "uuid"),
    [
        (None, "1", "1", None),
        (None, "GPU-2222", "GPU-2222", f"GPU-{SECOND}"),
        (True, "1", f"GPU-{SECOND}", None),
        (True, "GPU-2222", f"GPU-{SECOND}", f"GPU-{SECOND}"),
    ],
)
def test_cuda_on_wsl_is_told_which_gpu(
    here: bool | None,
    wanted: str,
    visible: str,
    uuid: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    show(monkeypatch, ("dxg",), CARDS)
    found = Machine(nodes=WSL, cuda=EITHER).find(wanted, is_here=here)
    assert (found.visible, found.uuid) == (visible, uuid)
    order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert gpu.choose_variables(found) == {**order, "CUDA_VISIBLE_DEVICES": visible}


def test_cuda_that_takes_no_uuid_is_told_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, ("dxg",), CARDS)
    machine = Machine(nodes=WSL, cuda={"1": (SECOND,)})
    assert machine.find(f"GPU-{SECOND}", is_here=True).visible == "1"
    # The only one is taken though CUDA says nothing.
    show(monkeypatch, ("dxg",), CARDS[:1])
    assert Machine(nodes=WSL).find("0", is_here=True).visible == "0"


@pytest.mark.parametrize(
    "cuda",
    [
        {},  # it does not answer
        dict.fromkeys(EITHER, (FIRST, SECOND)),  # it takes no heed
        dict.fromkeys(EITHER, (FIRST,)),  # it gives another
    ],
)
def test_gpus_that_can_not_be_told_apart_are_refused(
    cuda: dict[str | None, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, ("dxg",), CARDS)
    with pytest.raises(GpuError, match="can't be held to 1") as caught:
        Machine(nodes=WSL, cuda=cuda).find("1", is_here=True)
    assert "`nvidia-smi -L`" in caught.value.remedy


@pytest.mark.parametrize(
    ("wanted", "uuid"), [(f"GPU-{FIRST}", f"GPU-{FIRST}"), ("GPU-1111", None), ("0", None)]
)
def test_the_whole_uuid_that_was_named_goes_with_the_request(wanted: str, uuid: str | None) -> None:
    assert Machine().find(wanted, OLD).uuid == uuid


def test_the_hook_is_tried_where_cdi_has_no_specification() -> None:
    machine = Machine(refuses={"cdi": UNRESOLVED})
    assert machine.find("0", FOLDERS) == GpuRequest(driver="nvidia", devices=("0",))
    assert machine.drivers == ["cdi", "nvidia"]
    # Not where the engine lists what it has.
    listed = {"ServerVersion": "29.0", "DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}]}
    machine = Machine(refuses={"cdi": UNRESOLVED}, hardware=ON_BUS)
    with pytest.raises(GpuError, match="unresolvable"):
        machine.find("0", listed)
    assert machine.drivers == ["cdi"]


def test_both_ways_are_told_where_neither_works() -> None:
    with pytest.raises(GpuError) as caught:
        Machine(refuses={"cdi": UNRESOLVED, "nvidia": NO_HOOK}, hardware=ON_BUS).find("0", FOLDERS)
    for said in (UNRESOLVED, "then asked through NVIDIA's hook", NO_HOOK):
        assert said in caught.value.what
    assert "cdi generate" in caught.value.remedy
    assert "apt-get install nvidia-container-toolkit" in caught.value.remedy


def test_podman_on_wsl_is_asked_for_the_only_name_there(monkeypatch: pytest.MonkeyPatch) -> None:
    refuses = {"nvidia.com/gpu=1": UNRESOLVED}
    machine = Machine(refuses=refuses, nodes=WSL, cuda=EITHER, kind="podman")
    show(monkeypatch, ("dxg",))
    found = machine.find("1", podman=(5, 4))
    assert (found.devices, found.visible) == ((gpu.ALL,), "1")
    show(monkeypatch, ("nvidia0",))
    with pytest.raises(GpuError, match="unresolvable"):
        machine.find("1", podman=(5, 4))


def test_a_podman_that_drops_the_request_is_refused() -> None:
    with pytest.raises(GpuError, match=r"podman 4\.3 .* runs without the GPU") as caught:
        Machine().find("0", podman=(4, 3))
    assert "`podman --version`" in caught.value.remedy


def test_all_is_taken_where_nothing_else_is_listed() -> None:
    found = Machine(nodes=WSL, cuda=EITHER).find("0", ONLY_ALL)
    assert (found.driver, found.devices, found.visible) == ("cdi", (gpu.ALL,), "0")
    # Real nodes, which `all` gives all of.
    nodes = ("/dev/nvidia0", "/dev/nvidia1")
    assert Machine(nodes=nodes, cuda=EITHER).find("1", ONLY_ALL).visible == "1"
    with pytest.raises(GpuError, match="it sees 2 GPUs"):
        Machine(nodes=nodes, cuda={"1": (FIRST, SECOND)}).find("1", ONLY_ALL)


def test_a_gpu_on_this_machine_is_no_missing_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker Desktop: whether it is here can't be told, and its containers see no PCI bus."""
    machine = Machine(refuses={"nvidia": NO_HOOK})
    with pytest.raises(NoGpuError):
        machine.find("0")
    show(monkeypatch, ("dxg",))
    with pytest.raises(GpuError, match="toolkit is missing") as caught:
        machine.find("0")
    assert not isinstance(caught.value, NoGpuError)
    # An engine that is proven to be elsewhere has nothing to do with it.
    with pytest.raises(NoGpuError):
        machine.find("0", is_here=False)


@pytest.mark.parametrize("here", [True, None, False])
def test_the_driver_is_read_here_or_seen_by_a_container(
    here: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, ("nvidia0",))
    monkeypatch.setattr(docker_gpu, "read_version", lambda: "here")
    machine = Machine()
    machine.says[VERSION_PROBE] = ("580.65.06",)
    found = machine.find("1", OLD, is_here=here)
    assert found.kernel_driver == ("here" if here else "580.65.06")
    assert (VERSION_PROBE in dict(machine.asked)) is not here


def make_cuda(*uuids: str, status: int = 0) -> SimpleNamespace:
    """As much of CUDA's library as the probe asks."""

    def count(out: Any) -> int:
        out._obj.value = len(uuids)
        return 0

    def get(device: Any, index: int) -> int:
        device._obj.value = index
        return 0

    def tell(digits: Any, device: Any) -> int:
        digits[:] = bytes.fromhex(uuids[device.value].replace("-", ""))
        return 0

    functions = {"cuDeviceGetCount": count, "cuDeviceGet": get, "cuDeviceGetUuid": tell}
    return SimpleNamespace(cuInit=lambda _flags: status, **functions)


@pytest.mark.parametrize(
    ("cuda", "said"),
    [(make_cuda(FIRST, SECOND), f"{FIRST}\n{SECOND}\n"), (make_cuda(FIRST, status=100), "")],
)
def test_the_probe_prints_the_uuids_that_cuda_sees(
    cuda: SimpleNamespace,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: cuda)
    exec(gpu.CUDA_PROBE, {})  # noqa: S102  as a container does
    assert capsys.readouterr().out == said


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        ("docker", "check the NVIDIA container toolkit: `docker run"),
        ("podman", "check the NVIDIA container toolkit: `podman run"),
        ("snap", "`sudo snap refresh docker`"),
    ],
)
def test_a_container_that_sees_nothing_is_told_in_its_engines_words(
    kind: EngineKind, remedy: str
) -> None:
    machine = Machine(nodes=(), hardware=ON_BUS, kind=kind)
    with pytest.raises(GpuError, match="sees no device") as caught:
        machine.find("0", OLD, is_here=False)
    assert caught.value.remedy.startswith(remedy)
