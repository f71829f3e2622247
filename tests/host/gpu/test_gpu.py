"""Seeing a GPU and choosing how to ask for it, all without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.errors import GpuError, NoGpuError
from suite.host.engine import Card, GpuRequest, Slice
from suite.host.gpu import request as gpu


def make(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


def test_device_nodes_are_counted_in_their_order(tmp_path: Path) -> None:
    make(tmp_path, "dev/nvidia10", "dev/nvidia2", "dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia0")
    assert gpu.machine_gpus(tmp_path) == ("nvidia0", "nvidia2", "nvidia10")


def test_the_drivers_list_and_wsl_count_too(tmp_path: Path) -> None:
    assert gpu.machine_gpus(tmp_path) == ()
    make(tmp_path, "dev/dxg")
    assert gpu.machine_gpus(tmp_path) == ("dxg",)
    make(tmp_path, "proc/driver/nvidia/gpus/0000:01:00.0/information")
    assert gpu.machine_gpus(tmp_path) == ("0000:01:00.0",)


def test_a_machine_without_a_gpu_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(NoGpuError, match="/dev/nvidia") as caught:
        gpu.find_local_gpu("0", (), tmp_path)
    assert caught.value.exit_status == 4
    assert caught.value.remedy


def test_a_gpu_without_a_driver_is_no_machine_without_a_gpu(tmp_path: Path) -> None:
    for address, vendor, kind in (
        ("0000:01:00.0", "0x10de", "0x030200"),
        ("0000:01:00.1", "0x10de", "0x040300"),  # the sound on the same card
        ("0000:02:00.0", "0x1a03", "0x030000"),  # another maker's screen
    ):
        make(tmp_path, f"sys/bus/pci/devices/{address}/vendor")
        (tmp_path / f"sys/bus/pci/devices/{address}/vendor").write_text(vendor + "\n")
        (tmp_path / f"sys/bus/pci/devices/{address}/class").write_text(kind + "\n")
    assert gpu.pci_gpus(tmp_path) == ("0000:01:00.0",)
    with pytest.raises(GpuError, match=r"0000:01:00\.0.*no driver is loaded") as caught:
        gpu.find_local_gpu("0", (), tmp_path)
    assert not isinstance(caught.value, NoGpuError)


CARDS = (
    Card(index=0, name="NVIDIA A", uuid="GPU-aaaa1111-0", pci="0000:81:00.0", mig=False),
    Card(index=1, name="NVIDIA B", uuid="GPU-aabb2222-0", pci="0000:c1:00.0", mig=False),
)
CUT = (
    Card(
        index=0,
        name="NVIDIA A",
        uuid="GPU-aaaa1111-0",
        mig=True,
        slices=(
            Slice(index=1, uuid="MIG-c001-0", name="NVIDIA A MIG 1g.10gb"),
            Slice(index=3, uuid="MIG-c003-0", name="NVIDIA A MIG 3g.40gb"),
        ),
    ),
    CARDS[1],
)


@pytest.mark.parametrize(
    ("cards", "wanted", "device"),
    [
        (CARDS, "1", "1"),
        (CARDS, "GPU-aabb2222-0", "GPU-aabb2222-0"),
        (CARDS, "GPU-aabb", "GPU-aabb2222-0"),
        (CUT, "0:3", "MIG-c003-0"),
        (CUT, "MIG-c001", "MIG-c001-0"),
        # CUDA counts otherwise beside a GPU that is cut into instances.
        (CUT, "1", "GPU-aabb2222-0"),
        # What NVIDIA's library does not tell is left to CUDA.
        ((Card(index=0), Card(index=1)), "1", "1"),
        ((Card(index=0),), "GPU-aabb2222-0", "GPU-aabb2222-0"),
        ((Card(index=0, uuid="GPU-1"),), "MIG-c001-0", "MIG-c001-0"),
        ((), "7", "7"),
    ],
)
def test_a_plain_process_is_told_its_gpu(
    cards: tuple[Card, ...], wanted: str, device: str, tmp_path: Path
) -> None:
    make(tmp_path, "dev/nvidia0")
    found = gpu.find_local_gpu(wanted, cards, tmp_path)
    assert found == GpuRequest(driver="none", devices=(device,))


def test_a_plain_process_keeps_the_uuid_that_was_named(tmp_path: Path) -> None:
    make(tmp_path, "dev/nvidia0")
    uuid = "GPU-11111111-aaaa-4bbb-8ccc-000000000001"
    cards = (Card(index=0, uuid=uuid, mig=False),)
    assert gpu.find_local_gpu("GPU-1111", cards, tmp_path).uuid == uuid
    assert gpu.find_local_gpu("0", cards, tmp_path).uuid is None


@pytest.mark.parametrize(
    ("cards", "wanted", "said", "remedy"),
    [
        (CARDS, "2", "no GPU 2 on this machine: it has 0: NVIDIA A", "nvidia-smi -L"),
        (CARDS, "GPU-ffff", "no GPU GPU-ffff", "nvidia-smi -L"),
        (CARDS, "GPU-aa", "several GPUs begin with GPU-aa", "nvidia-smi -L"),
        (CARDS, "0:1", "0:1 names no single MIG instance of this machine: there is none", "-L"),
        (CARDS, "MIG-c001-0", "there is none", "nvidia-smi -L"),
        (CUT, "0", "cut into MIG instances.*0:1 .1g.10gb", "GPU=0:1"),
        (CUT, "GPU-aaaa", "cut into MIG instances", "GPU=0:1"),
        (CUT, "0:2", "there are 0:1 .1g.10gb.*0:3 .3g.40gb", "GPU="),
        (CUT, "1:0", "1:0 names no single MIG instance", "GPU="),
        (CUT, "MIG-c0", "MIG-c0 names no single MIG instance", "GPU="),
        ((Card(index=0, mig=True),), "0", "MIG mode and has no instances", "-mig 0"),
        ((Card(index=0),), "0:1", "UUID alone", "nvidia-smi -L"),
    ],
)
def test_a_gpu_that_can_not_be_had_is_refused_with_what_there_is(
    cards: tuple[Card, ...], wanted: str, said: str, remedy: str, tmp_path: Path
) -> None:
    make(tmp_path, "dev/nvidia0")
    with pytest.raises(GpuError, match=said) as caught:
        gpu.find_local_gpu(wanted, cards, tmp_path)
    assert remedy in caught.value.remedy
    assert "aaaa1111-0" not in caught.value.what


LISTS = [
    {"Source": "cdi", "ID": f"nvidia.com/gpu={name}"}
    for name in ("0:1", "1", "all", "GPU-aabb2222-0", "MIG-c003-0")
]


@pytest.mark.parametrize(
    ("cards", "wanted", "name"),
    [
        (CUT, "1", "1"),
        (CUT, "GPU-aabb", "GPU-aabb2222-0"),
        (CUT, "0:1", "0:1"),
        # The specification has this one by its UUID alone.
        (CUT, "0:3", "MIG-c003-0"),
        (CUT, "MIG-c001-0", "0:1"),
        ((), "0:1", "0:1"),
        ((), "GPU-aabb", "GPU-aabb2222-0"),
    ],
)
def test_cdi_is_asked_by_a_name_that_the_engine_lists(
    cards: tuple[Card, ...], wanted: str, name: str
) -> None:
    info = {"ServerVersion": "29.0", "DiscoveredDevices": LISTS}
    request = gpu.choose_request(info, wanted, cards)
    assert request == GpuRequest(driver="cdi", devices=(f"nvidia.com/gpu={name}",))


@pytest.mark.parametrize(
    ("cards", "wanted"), [((), "0"), ((), "GPU-ff"), (CARDS, "0"), ((), "0:7"), ((), "MIG-ff")]
)
def test_cdi_without_what_is_wanted_says_what_is_there(
    cards: tuple[Card, ...], wanted: str
) -> None:
    info = {"ServerVersion": "29.0", "DiscoveredDevices": LISTS}
    with pytest.raises(GpuError, match=r"it lists 0:1, 1, GPU-aabb2222…, MIG-c003-0…$") as caught:
        gpu.choose_request(info, wanted, cards)
    assert "cdi generate" in caught.value.remedy


def test_a_specification_that_is_not_listed_is_asked_by_numbers() -> None:
    info = {"ServerVersion": "26.1.5", "CDISpecDirs": ["/etc/cdi"]}
    for wanted, name in {"GPU-aabb": "1", "MIG-c003": "0:3", "1": "1"}.items():
        request = gpu.choose_request(info, wanted, CUT)
        assert request.devices == (f"nvidia.com/gpu={name}",)
    assert gpu.choose_request(info, "GPU-12").devices == ("nvidia.com/gpu=GPU-12",)


def test_the_hook_takes_what_was_named_in_full() -> None:
    for wanted, name in {"GPU-aabb": "GPU-aabb2222-0", "0:3": "0:3", "1": "1"}.items():
        assert gpu.choose_request({"ServerVersion": "24.0"}, wanted, CUT) == GpuRequest(
            driver="nvidia", devices=(name,)
        )


CDI = {"DiscoveredDevices": [{"Source": "cdi", "ID": "nvidia.com/gpu=0"}]}


@pytest.mark.parametrize(
    ("info", "driver"),
    [
        ({"ServerVersion": "20.10.24+dfsg1"}, "nvidia"),
        ({"ServerVersion": "28.2.2", **CDI}, "cdi"),
        ({"ServerVersion": "28.2.2", "CDISpecDirs": ["/etc/cdi"]}, "nvidia"),
        ({"ServerVersion": "26.1.5", "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"]}, "cdi"),
        ({"ServerVersion": "26.1.5", "CDISpecDirs": []}, "nvidia"),
        ({"ServerVersion": "24.0.7", "CDISpecDirs": ["/etc/cdi"]}, "nvidia"),
        ({"ServerVersion": "28.3", "DiscoveredDevices": [{"ID": "intel.com/gpu=0"}]}, "nvidia"),
        ({"ServerVersion": None, "DiscoveredDevices": None}, "nvidia"),
    ],
)
def test_the_request_fits_the_engine(info: dict[str, object], driver: str) -> None:
    request = gpu.choose_request(info, "0")
    assert request.driver == driver
    assert request.devices == (("nvidia.com/gpu=0",) if driver == "cdi" else ("0",))


def test_podman_is_asked_through_cdi_alone() -> None:
    info = {"ServerVersion": "5.4.2", "CDISpecDirs": None}
    assert gpu.choose_request(info, "0", podman=True).driver == "cdi"
