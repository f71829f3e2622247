"""What a machine shows of its GPU, from folders that stand for machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.host.gpu import visible_devices
from tests.fakes.scripted_python import script
from tests.fakes.tree import lay

DRIVER = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"


def test_a_machine_with_a_gpu_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = ("dev/nvidia0", "dev/nvidiactl", "dev/nvidia-caps/nvidia-cap1", "etc/cdi/nvidia.yaml")
    lay(tmp_path, {**dict.fromkeys(empty, ""), "proc/driver/nvidia/version": DRIVER})
    tools = {"nvidia-ctk": "1.17.4", "nvidia-container-runtime-hook": "?"}
    monkeypatch.setattr(visible_devices, "tool_version", tools.get)
    told = (
        "device nodes /dev/nvidia0, /dev/nvidiactl; driver 550.54.15; toolkit nvidia-ctk 1.17.4, "
        "nvidia-container-runtime-hook; not on PATH: nvidia-container-cli; CDI specification "
    )
    assert visible_devices.describe_machine(tmp_path) == f"{told}/etc/cdi/nvidia.yaml"
    # Where both have one, that of the other folder counts, and stands first.
    lay(tmp_path, {"var/run/cdi/nvidia.yaml": ""})
    both = "/var/run/cdi/nvidia.yaml, /etc/cdi/nvidia.yaml"
    assert visible_devices.describe_machine(tmp_path) == told + both


def test_a_machine_without_anything_says_where_it_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = visible_devices.describe_machine(tmp_path)
    for words in (
        "device nodes none",
        "/proc/driver/nvidia/version",
        "toolkit none",
        "CDI specification none in /var/run/cdi, /etc/cdi",
    ):
        assert words in said


@pytest.mark.processes
def test_a_programs_version_is_its_own_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_devices.tool_version("nvidia-ctk") is None
    for text, version in {
        "echo NVIDIA Container Toolkit CLI version 1.17.4": "1.17.4",
        "echo cli-version: 1.18.0-rc.1": "1.18.0-rc.1",
        "exit 1": "?",
    }.items():
        script(tmp_path / "nvidia-ctk", text)
        assert visible_devices.tool_version("nvidia-ctk") == version
