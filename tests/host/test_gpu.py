"""Seeing a GPU and choosing how to ask for it, all without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.errors import GpuError, NoGpuError
from suite.host import gpu
from suite.host.engine import GpuRequest


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
        gpu.find_local_gpu("0", tmp_path)
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
        gpu.find_local_gpu("0", tmp_path)
    assert not isinstance(caught.value, NoGpuError)


def test_a_local_gpu_is_asked_for_by_index_or_uuid(tmp_path: Path) -> None:
    make(tmp_path, "dev/nvidia0", "dev/nvidia1")
    information = tmp_path / "proc/driver/nvidia/gpus/0000:01:00.0/information"
    make(tmp_path, str(information.relative_to(tmp_path)))
    information.write_text("Model: \t\t A\nGPU UUID: \t GPU-1234\n")
    assert gpu.find_local_gpu("1", tmp_path) == GpuRequest(driver="none", devices=("1",))
    assert gpu.find_local_gpu("GPU-1234", tmp_path).devices == ("GPU-1234",)
    assert gpu.find_local_gpu("MIG-99", tmp_path).devices == ("MIG-99",)
    for wrong in ("2", "GPU-5678"):
        with pytest.raises(GpuError, match=wrong):
            gpu.find_local_gpu(wrong, tmp_path)


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
