"""The search for a GPU on an engine, against a table of what its containers see."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import pytest

from suite.errors import GpuError, NoGpuError
from suite.host.docker import gpu as docker_gpu
from suite.host.docker.gpu import GpuSearch
from suite.host.engine import Card, GpuRequest
from suite.host.gpu import request as gpu
from suite.host.gpu.commands import EngineKind
from suite.host.gpu.remedies import explain_refusal

FIRST = "11111111-aaaa-4bbb-8ccc-000000000001"
SECOND = "22222222-aaaa-4bbb-8ccc-000000000002"
CARDS = (Card(index=0, uuid=f"GPU-{FIRST}"), Card(index=1, uuid=f"GPU-{SECOND}"))
FOLDERS = {"ServerVersion": "26.1.5", "CDISpecDirs": ["/etc/cdi"]}
UNRESOLVED = "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=0"
NO_HOOK = 'could not select device driver "" with capabilities: [[gpu]]'


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

    def search(self, info: Mapping[str, Any] | None = None, **known: Any) -> GpuSearch:
        given = {"podman": None, "is_here": None, **known}
        return GpuSearch(where="there", info=info or {}, kind=self.kind, ask=self.ask, **given)

    @property
    def requests(self) -> list[GpuRequest]:
        return [request for code, request in self.asked if code == gpu.GPU_PROBE and request]


@pytest.fixture(autouse=True)
def seen_here(monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch)


def show(
    monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, ...] = (), cards: tuple[Card, ...] = ()
) -> None:
    """What the test's own machine shows."""
    monkeypatch.setattr(docker_gpu, "machine_gpus", lambda: nodes)
    monkeypatch.setattr(docker_gpu, "machine_cards", lambda: cards)
    monkeypatch.setattr(docker_gpu, "describe_machine", lambda: "what it shows")


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
    machine = Machine(nodes=WSL, cuda=EITHER)
    found = machine.search(is_here=here).find(wanted)
    assert (found.visible, found.uuid) == (visible, uuid)
    assert gpu.choose_variables(found) == {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": visible,
    }


def test_cuda_that_takes_no_uuid_is_told_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, ("dxg",), CARDS)
    machine = Machine(nodes=WSL, cuda={"1": (SECOND,)})
    assert machine.search(is_here=True).find(f"GPU-{SECOND}").visible == "1"


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
        Machine(nodes=WSL, cuda=cuda).search(is_here=True).find("1")
    assert "`nvidia-smi -L`" in caught.value.remedy


def test_the_only_gpu_of_wsl_is_taken_though_cuda_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    show(monkeypatch, ("dxg",), CARDS[:1])
    assert Machine(nodes=WSL).search(is_here=True).find("0").visible == "0"


def test_a_gpu_of_its_own_needs_no_telling() -> None:
    found = Machine().search({"ServerVersion": "24.0"}).find("1")
    assert found.visible is None
    assert gpu.choose_variables(found) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert gpu.choose_variables(None) == {}


def test_the_whole_uuid_that_was_named_goes_with_the_request() -> None:
    search = Machine().search({"ServerVersion": "24.0"})
    assert search.find(f"GPU-{FIRST}").uuid == f"GPU-{FIRST}"
    assert search.find("GPU-1111").uuid is None
    assert search.find("0").uuid is None


def test_the_hook_is_tried_where_cdi_has_no_specification() -> None:
    machine = Machine(refuses={"cdi": UNRESOLVED})
    found = machine.search(FOLDERS).find("0")
    assert found == GpuRequest(driver="nvidia", devices=("0",))
    assert [one.driver for one in machine.requests] == ["cdi", "nvidia"]


def test_both_ways_are_told_where_neither_works() -> None:
    machine = Machine(refuses={"cdi": UNRESOLVED, "nvidia": NO_HOOK}, hardware=("0000:01:00.0",))
    with pytest.raises(GpuError) as caught:
        machine.search(FOLDERS).find("0")
    assert UNRESOLVED in caught.value.what
    assert "then asked through NVIDIA's hook: the engine at there refused the GPU: " in (
        caught.value.what
    )
    assert NO_HOOK in caught.value.what
    assert "cdi generate" in caught.value.remedy
    assert "apt-get install nvidia-container-toolkit" in caught.value.remedy


def test_an_engine_that_lists_its_devices_is_not_asked_through_the_hook() -> None:
    info = {"ServerVersion": "29.0", "DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}]}
    machine = Machine(refuses={"cdi": UNRESOLVED}, hardware=("0000:01:00.0",))
    with pytest.raises(GpuError, match="unresolvable"):
        machine.search(info).find("0")
    assert [one.driver for one in machine.requests] == ["cdi"]


def test_podman_on_wsl_is_asked_for_the_only_name_there(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(
        refuses={"nvidia.com/gpu=1": UNRESOLVED}, nodes=WSL, cuda=EITHER, kind="podman"
    )
    search = machine.search(podman=(5, 4))
    show(monkeypatch, ("dxg",))
    found = search.find("1")
    assert (found.devices, found.visible) == ((gpu.ALL,), "1")
    show(monkeypatch, ("nvidia0",))
    with pytest.raises(GpuError, match="unresolvable"):
        search.find("1")


ONLY_ALL = {"ServerVersion": "29.0", "DiscoveredDevices": [{"ID": "nvidia.com/gpu=all"}]}


def test_all_is_taken_where_nothing_else_is_listed() -> None:
    found = Machine(nodes=WSL, cuda=EITHER).search(ONLY_ALL).find("0")
    assert (found.driver, found.devices, found.visible) == ("cdi", (gpu.ALL,), "0")
    # Real nodes, which `all` gives all of.
    nodes = ("/dev/nvidia0", "/dev/nvidia1")
    assert Machine(nodes=nodes, cuda=EITHER).search(ONLY_ALL).find("1").visible == "1"
    with pytest.raises(GpuError, match="it sees 2 GPUs"):
        Machine(nodes=nodes, cuda={"1": (FIRST, SECOND)}).search(ONLY_ALL).find("1")


def test_a_gpu_on_this_machine_is_no_missing_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Docker Desktop: whether it is here can't be told, and its containers see no PCI bus."""
    machine = Machine(refuses={"nvidia": NO_HOOK})
    with pytest.raises(NoGpuError):
        machine.search().find("0")
    show(monkeypatch, ("dxg",))
    with pytest.raises(GpuError, match="what it shows") as caught:
        machine.search().find("0")
    assert not isinstance(caught.value, NoGpuError)
    # An engine that is proven to be elsewhere has nothing to do with it.
    with pytest.raises(NoGpuError):
        machine.search(is_here=False).find("0")


class Cuda:
    """As much of CUDA's library as the probe asks."""

    def __init__(self, *uuids: str, status: int = 0) -> None:
        self.uuids = uuids
        self.status = status

    def cuInit(self, flags: int) -> int:  # noqa: N802  CUDA's
        return self.status

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.uuids)
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:  # noqa: N802
        device._obj.value = index
        return 0

    def cuDeviceGetUuid(self, digits: Any, device: Any) -> int:  # noqa: N802
        digits[:] = bytes.fromhex(self.uuids[device.value].replace("-", ""))
        return 0


def test_the_probe_prints_the_uuids_that_cuda_sees(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for cuda, said in (
        (Cuda(FIRST, SECOND), f"{FIRST}\n{SECOND}\n"),
        (Cuda(FIRST, status=100), ""),
    ):
        monkeypatch.setattr(ctypes, "CDLL", lambda _name, cuda=cuda: cuda)
        exec(gpu.CUDA_PROBE, {})  # noqa: S102  as a container does
        assert capsys.readouterr().out == said
