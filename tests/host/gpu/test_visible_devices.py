"""The GPUs of a machine, by NVIDIA's library, the driver, nodes, and a container."""

from __future__ import annotations

import io
import json
import subprocess
from contextlib import redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path

import msgspec
import pytest

from suite.host.engine import Card, Slice
from suite.host.gpu import visible_devices
from tests.commands import run_python
from tests.fakes.nvml import HEALTHY, SLICE_UUIDS, UUIDS, FakeNvml
from tests.fakes.tree import lay

pytestmark = pytest.mark.simulated


def information(name: str, uuid: str) -> str:
    return f"Model: \t\t {name}\nIRQ:   \t\t 120\nGPU UUID: \t {uuid}\nBus Type: \t PCIe\n"


TWO = {
    "dev/nvidia0": "",
    "dev/nvidia1": "",
    # In no order of the file system's: by address, as nvidia-smi counts.
    "proc/driver/nvidia/gpus/0000:c1:00.0/information": information("NVIDIA B", UUIDS[1]),
    "proc/driver/nvidia/gpus/0000:81:00.0/information": information("NVIDIA A", UUIDS[0]),
}


def test_the_library_lists_names_and_addresses() -> None:
    found = visible_devices.list_gpus(FakeNvml(HEALTHY))
    assert [card.index for card in found] == [0, 1]
    assert [card.uuid for card in found] == list(UUIDS)
    assert [card.pci for card in found] == ["0000:81:00.0", "0000:c1:00.0"]
    assert [card.mig for card in found] == [False, False]


def test_mig_instances_keep_their_numbers() -> None:
    cut = replace(HEALTHY, mig=True, slices=(1, 3), as_bytes=True)
    first, second = visible_devices.list_gpus(FakeNvml(cut))
    assert first.mig is True
    assert [(one.index, one.uuid) for one in first.slices] == [
        (1, SLICE_UUIDS[1]),
        (3, SLICE_UUIDS[3]),
    ]
    assert "1g.10gb" in str(first.slices[0].name)
    assert second.slices == ()


def test_a_gpu_that_says_nothing_keeps_its_place() -> None:
    dumb = replace(HEALTHY, failing={"nvmlDeviceGetPciInfo": 15, "nvmlDeviceGetMigMode": 3})
    first, _ = visible_devices.list_gpus(FakeNvml(dumb))
    assert (first.pci, first.mig, first.uuid) == (None, None, UUIDS[0])
    lost = replace(HEALTHY, failing={"nvmlDeviceGetHandleByIndex": 15})
    assert visible_devices.list_gpus(FakeNvml(lost)) == (Card(index=0), Card(index=1))


def test_what_the_library_says_survives_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = visible_devices.list_gpus(FakeNvml(replace(HEALTHY, mig=True, slices=(0,))))
    assert cut[0].slices == (Slice(index=0, uuid=SLICE_UUIDS[0], name=cut[0].slices[0].name),)
    done = subprocess.CompletedProcess([], 0, json.dumps([asdict(card) for card in cut]))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert visible_devices.ask_library() == cut


def test_without_the_library_the_drivers_list_and_then_the_nodes_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visible_devices, "ask_library", lambda: None)
    assert visible_devices.machine_cards(tmp_path / "none") == ()
    found = visible_devices.machine_cards(lay(tmp_path / "a", TWO))
    assert [(card.index, card.name, card.pci) for card in found] == [
        (0, "NVIDIA A", "0000:81:00.0"),
        (1, "NVIDIA B", "0000:c1:00.0"),
    ]
    nodes = dict.fromkeys(("dev/nvidia0", "dev/nvidia2"), "")
    found = visible_devices.machine_cards(lay(tmp_path / "b", nodes))
    assert found == (Card(index=0), Card(index=1))
    # WSL has one node for all of its GPUs.
    assert visible_devices.machine_cards(lay(tmp_path / "c", {"dev/dxg": ""})) == ()


def test_a_uuid_that_the_driver_has_not_read_is_none(tmp_path: Path) -> None:
    name = "proc/driver/nvidia/gpus/0000:81:00.0/information"
    unread = information("NVIDIA A", "GPU-????????-????-????-????-????????????")
    found = visible_devices.read_probe(visible_devices.list_driver(lay(tmp_path, {name: unread})))
    assert (found[0].name, found[0].uuid) == ("NVIDIA A", None)


def test_the_container_that_reads_the_list_prints_what_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path, TWO)
    code = visible_devices.DRIVER_PROBE.replace("Path('/')", f"Path('{tmp_path}')")
    with redirect_stdout(io.StringIO()) as out:
        exec(code, {})  # noqa: S102 - as the container's Python does
    lines = ["a warning of somebody's", *out.getvalue().splitlines()]
    found = visible_devices.read_probe(lines)
    assert found == visible_devices.read_probe(visible_devices.list_driver(tmp_path))
    assert len(found) == 2


@pytest.mark.processes
def test_the_listing_process_answers_or_says_why_not() -> None:
    done = run_python("-m", "suite.host.gpu.visible_devices")
    if done.returncode:
        assert "NVIDIA's library" in done.stderr or "nvidia-ml-py" in done.stderr
        assert visible_devices.ask_library() is None
    else:
        assert msgspec.json.encode(visible_devices.ask_library()).decode() == done.stdout.strip()


def test_a_driver_that_hangs_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*words: object, **_: object) -> None:
        raise subprocess.TimeoutExpired("python", 1)

    monkeypatch.setattr(subprocess, "run", hang)
    assert visible_devices.ask_library() is None
