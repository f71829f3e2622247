"""Seeing a GPU and choosing how to ask for it, all without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from suite.errors import GpuError, NoGpuError
from suite.host.engine import Card, GpuRequest, Slice
from suite.host.gpu import request as gpu
from suite.host.gpu import visible_devices
from suite.host.gpu.choice import (
    VISIBLE,
    find_choice,
    keep_visible,
    name_gpus,
    read_visible,
)
from tests.fakes.tree import lay


def test_nodes_count_and_the_drivers_list_and_wsl(tmp_path: Path) -> None:
    nodes = ("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm", "nvidia0")
    lay(tmp_path / "a", {f"dev/{node}": "" for node in nodes})
    assert visible_devices.machine_gpus(tmp_path / "a") == ("nvidia0", "nvidia2", "nvidia10")
    assert visible_devices.machine_gpus(tmp_path / "b") == ()
    lay(tmp_path / "b", {"dev/dxg": ""})
    assert visible_devices.machine_gpus(tmp_path / "b") == ("dxg",)
    lay(tmp_path / "b", {"proc/driver/nvidia/gpus/0000:01:00.0/information": ""})
    assert visible_devices.machine_gpus(tmp_path / "b") == ("0000:01:00.0",)


def test_a_machine_without_a_gpu_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(NoGpuError, match="/dev/nvidia") as caught:
        gpu.find_local_gpu("0", (), tmp_path)
    assert caught.value.exit_status == 4
    assert caught.value.remedy


def test_the_drivers_gpus_on_the_bus_are_counted(tmp_path: Path) -> None:
    devices = tmp_path / "sys/bus/pci/devices"
    for number in range(5):
        device = f"sys/bus/pci/devices/0000:0{number}:00.0"
        lay(tmp_path, {f"{device}/vendor": "0x10de", f"{device}/class": "0x030200"})
    for number, driver in enumerate(("nvidia", "nvidia", "vfio-pci")):
        lay(tmp_path, {f"sys/bus/pci/drivers/{driver}/bind": ""})
        (devices / f"0000:0{number}:00.0/driver").symlink_to(
            tmp_path / "sys/bus/pci/drivers" / driver
        )
    # A vGPU's host lists each of its slices there.
    (devices / "0000:04:00.0/physfn").symlink_to(devices / "0000:00:00.0")
    assert len(visible_devices.pci_gpus(tmp_path)) == 5
    # The fourth has no driver at all, as one that the driver could not start.
    assert visible_devices.count_on_bus(tmp_path, {}) == 3
    assert visible_devices.count_on_bus(tmp_path, {"SLURM_JOB_ID": "7"}) is None


def test_a_gpu_without_a_driver_is_no_machine_without_a_gpu(tmp_path: Path) -> None:
    for address, vendor, kind in (
        ("0000:01:00.0", "0x10de", "0x030200"),
        ("0000:01:00.1", "0x10de", "0x040300"),  # the sound on the same card
        ("0000:02:00.0", "0x1a03", "0x030000"),  # another maker's screen
    ):
        device = f"sys/bus/pci/devices/{address}"
        lay(tmp_path, {f"{device}/vendor": vendor, f"{device}/class": kind})
    assert visible_devices.pci_gpus(tmp_path) == ("0000:01:00.0",)
    with pytest.raises(GpuError, match=r"0000:01:00\.0.*no driver is loaded") as caught:
        gpu.find_local_gpu("0", (), tmp_path, {})
    assert not isinstance(caught.value, NoGpuError)
    # A container sees it on the bus, too: nothing is to be installed there.
    for given in ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, {"RUNPOD_POD_ID": "x"}):
        with pytest.raises(
            NoGpuError, match="was started without the GPU of its machine"
        ) as caught:
            gpu.find_local_gpu("0", (), tmp_path, given)
        assert "install" not in caught.value.remedy
        assert "nvidia.com/gpu: 1" in caught.value.remedy


@pytest.mark.parametrize(
    "files",
    [
        {"dev/nvhost-gpu": ""},
        {"etc/nv_tegra_release": "# R36 (release)"},
        {"proc/device-tree/compatible": "nvidia,p3768-0000+p3767-0005\0nvidia,tegra234"},
    ],
)
def test_a_jetson_is_told_as_one(files: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(NoGpuError, match=r"a Jetson.*have no CUDA") as caught:
        gpu.find_local_gpu(None, (), lay(tmp_path, files), {})
    assert "ARMS=cpu" in caught.value.remedy


CARDS = (
    Card(index=0, name="NVIDIA A", uuid="GPU-aaaa1111-0", pci="0000:81:00.0", mig=False),
    Card(index=1, name="NVIDIA B", uuid="GPU-aabb2222-0", pci="0000:c1:00.0", mig=False),
)
SLICES = (
    Slice(index=1, uuid="MIG-c001-0", name="NVIDIA A MIG 1g.10gb"),
    Slice(index=3, uuid="MIG-c003-0", name="NVIDIA A MIG 3g.40gb"),
)
CUT = (Card(index=0, name="NVIDIA A", uuid="GPU-aaaa1111-0", mig=True, slices=SLICES), CARDS[1])
UUID = "GPU-11111111-aaaa-4bbb-8ccc-000000000001"
WHOLE = (Card(index=0, uuid=UUID, mig=False),)


@pytest.mark.parametrize(
    ("cards", "wanted", "device", "uuid"),
    [
        (CARDS, "1", "1", None),
        (CARDS, "GPU-aabb2222-0", "GPU-aabb2222-0", None),
        (CARDS, "GPU-aabb", "GPU-aabb2222-0", None),
        (CUT, "0:3", "MIG-c003-0", None),
        (CUT, "MIG-c001", "MIG-c001-0", None),
        # CUDA counts otherwise beside a GPU that is cut into instances.
        (CUT, "1", "GPU-aabb2222-0", None),
        # What NVIDIA's library does not tell is left to CUDA.
        ((Card(index=0), Card(index=1)), "1", "1", None),
        ((Card(index=0),), "GPU-aabb2222-0", "GPU-aabb2222-0", None),
        ((Card(index=0, uuid="GPU-1"),), "MIG-c001-0", "MIG-c001-0", None),
        ((), "7", "7", None),
        # A whole UUID goes with the request, where it was named.
        (WHOLE, "GPU-1111", UUID, UUID),
        (WHOLE, "0", "0", None),
    ],
)
def test_a_plain_process_is_told_its_gpu(
    cards: tuple[Card, ...], wanted: str, device: str, uuid: str | None, tmp_path: Path
) -> None:
    found = gpu.find_local_gpu(wanted, cards, lay(tmp_path, {"dev/nvidia0": ""}))
    assert found == GpuRequest(driver="none", devices=(device,), uuid=uuid)


@pytest.mark.parametrize(
    ("cards", "wanted", "said", "remedy"),
    [
        (CARDS, "2", "no GPU 2 on this machine: it has 0: NVIDIA A", "nvidia-smi -L"),
        (CARDS, "GPU-ffff", "no GPU GPU-ffff", "nvidia-smi -L"),
        (CARDS, "GPU-aa", "several GPUs begin with GPU-aa", "nvidia-smi -L"),
        (CARDS, "0:1", "names no single MIG instance of this machine: there is none", "-L"),
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
    with pytest.raises(GpuError, match=said) as caught:
        gpu.find_local_gpu(wanted, cards, lay(tmp_path, {"dev/nvidia0": ""}))
    assert remedy in caught.value.remedy
    assert "aaaa1111-0" not in caught.value.what


@pytest.mark.parametrize(
    ("visible", "names", "device"),
    [
        (None, None, "0"),
        ("1", ("1",), "1"),
        ("1,0", ("1", "0"), "1"),
        (" 1 , 0", ("1", "0"), "1"),
        ("GPU-aabb2222-0", ("GPU-aabb2222-0",), "GPU-aabb2222-0"),
        ("GPU-aabb", ("GPU-aabb",), "GPU-aabb2222-0"),
        # CUDA reads no further than the first that is none.
        ("1,-1,0", ("1",), "1"),
        ("", (), None),
        ("-1", (), None),
        ("-1,0", (), None),
        ("NoDevFiles", (), None),
        ("none", (), None),
    ],
)
def test_where_no_gpu_is_named_the_callers_variable_names_it(
    visible: str | None, names: tuple[str, ...] | None, device: str | None, tmp_path: Path
) -> None:
    known = {} if visible is None else {VISIBLE: visible}
    assert read_visible(known) == names
    root = lay(tmp_path, {"dev/nvidia0": ""})
    # What is named goes before it, whatever it says.
    assert gpu.find_local_gpu("0", CARDS, root, known).devices == ("0",)
    if device is not None:
        assert gpu.find_local_gpu(None, CARDS, root, known).devices == (device,)
        return
    with pytest.raises(NoGpuError, match="hides every GPU of this machine") as caught:
        gpu.find_local_gpu(None, CARDS, root, known)
    assert "GPU=" in caught.value.remedy


def test_a_variable_that_names_what_is_not_there_is_told(tmp_path: Path) -> None:
    root = lay(tmp_path, {"dev/nvidia0": ""})
    with pytest.raises(
        GpuError, match=r"no GPU 4 .*; CUDA_VISIBLE_DEVICES=4 of this shell names it"
    ):
        gpu.find_local_gpu(None, CARDS, root, {VISIBLE: "4"})
    cut = gpu.find_local_gpu(None, CUT, root, {VISIBLE: "MIG-c003-0"})
    assert cut.devices == ("MIG-c003-0",)


@pytest.mark.parametrize(
    ("cards", "names", "kept"),
    [
        (CARDS, None, ["0", "1"]),
        (CARDS, ("1",), ["1"]),
        (CARDS, ("1", "0"), ["0", "1"]),
        (CARDS, ("GPU-aabb2222-0",), ["1"]),
        (CARDS, (), []),
        (CUT, ("0",), ["0:1", "0:3"]),
        (CUT, ("MIG-c003-0", "1"), ["0:3", "1"]),
        (CUT, ("MIG-c003-0", "MIG-c001-0"), ["0:3", "0:1"]),
        ((), ("3",), []),
    ],
)
def test_every_gpu_means_those_that_the_caller_may_see(
    cards: tuple[Card, ...], names: tuple[str, ...] | None, kept: list[str]
) -> None:
    assert list(name_gpus(keep_visible(cards, names))) == kept


def test_a_gpu_that_nothing_tells_of_is_not_left_out_in_silence() -> None:
    with pytest.raises(GpuError, match="nothing here tells which GPU GPU-aabb2222"):
        keep_visible((Card(index=0), Card(index=1)), ("GPU-aabb2222-0",))


def listing(*names: str) -> dict[str, Any]:
    """An engine that lists these of NVIDIA's devices."""
    devices = [{"Source": "cdi", "ID": f"nvidia.com/gpu={name}"} for name in names]
    return {"ServerVersion": "29.0", "DiscoveredDevices": devices}


LISTS = listing("0:1", "1", "all", "GPU-aabb2222-0", "MIG-c003-0")
UNLISTED = {"ServerVersion": "26.1.5", "CDISpecDirs": ["/etc/cdi"]}
OLD = {"ServerVersion": "24.0"}


@pytest.mark.parametrize(
    ("info", "cards", "wanted", "name"),
    [
        # CDI is asked by a name that the engine lists.
        (LISTS, CUT, "1", "nvidia.com/gpu=1"),
        (LISTS, CUT, "GPU-aabb", "nvidia.com/gpu=GPU-aabb2222-0"),
        (LISTS, CUT, "0:1", "nvidia.com/gpu=0:1"),
        # The specification has this one by its UUID alone.
        (LISTS, CUT, "0:3", "nvidia.com/gpu=MIG-c003-0"),
        (LISTS, CUT, "MIG-c001-0", "nvidia.com/gpu=0:1"),
        (LISTS, (), "0:1", "nvidia.com/gpu=0:1"),
        (LISTS, (), "GPU-aabb", "nvidia.com/gpu=GPU-aabb2222-0"),
        # A specification that is not listed is asked by numbers.
        (UNLISTED, CUT, "GPU-aabb", "nvidia.com/gpu=1"),
        (UNLISTED, CUT, "MIG-c003", "nvidia.com/gpu=0:3"),
        (UNLISTED, CUT, "1", "nvidia.com/gpu=1"),
        (UNLISTED, (), "GPU-12", "nvidia.com/gpu=GPU-12"),
        # The hook takes what was named in full.
        (OLD, CUT, "GPU-aabb", "GPU-aabb2222-0"),
        (OLD, CUT, "0:3", "0:3"),
        (OLD, CUT, "1", "1"),
    ],
)
def test_a_gpu_is_asked_for_by_the_name_that_the_engine_takes(
    info: dict[str, Any], cards: tuple[Card, ...], wanted: str, name: str
) -> None:
    driver = "cdi" if name.startswith("nvidia.com") else "nvidia"
    assert gpu.choose_request(info, find_choice(cards, wanted)) == GpuRequest(
        driver=driver, devices=(name,)
    )


@pytest.mark.parametrize(
    ("cards", "wanted"), [((), "0"), ((), "GPU-ff"), (CARDS, "0"), ((), "0:7"), ((), "MIG-ff")]
)
def test_cdi_without_what_is_wanted_says_what_is_there(
    cards: tuple[Card, ...], wanted: str
) -> None:
    with pytest.raises(GpuError, match=r"it lists 0:1, 1, GPU-aabb2222…, MIG-c003-0…$") as caught:
        gpu.choose_request(LISTS, find_choice(cards, wanted))
    assert "cdi generate" in caught.value.remedy


@pytest.mark.parametrize(
    ("info", "driver"),
    [
        ({"ServerVersion": "20.10.24+dfsg1"}, "nvidia"),
        ({**listing("0"), "ServerVersion": "28.2.2"}, "cdi"),
        ({"ServerVersion": "28.2.2", "CDISpecDirs": ["/etc/cdi"]}, "nvidia"),
        ({"ServerVersion": "26.1.5", "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"]}, "cdi"),
        ({"ServerVersion": "26.1.5", "CDISpecDirs": []}, "nvidia"),
        ({"ServerVersion": "24.0.7", "CDISpecDirs": ["/etc/cdi"]}, "nvidia"),
        ({"ServerVersion": "28.3", "DiscoveredDevices": [{"ID": "intel.com/gpu=0"}]}, "nvidia"),
        ({"ServerVersion": None, "DiscoveredDevices": None}, "nvidia"),
    ],
)
def test_the_request_fits_the_engine(info: dict[str, Any], driver: str) -> None:
    choice = find_choice((), "0")
    assert gpu.choose_request(info, choice).driver == driver
    # Podman is asked through CDI alone.
    assert (
        gpu.choose_request({**info, "ServerVersion": "5.4.2"}, choice, podman=True).driver == "cdi"
    )
