"""The loaded driver's version, from the kernel or from what a container sees of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.procfs import VERSION_PROBE, find_version, read_version
from tests.fakes.tree import lay

OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder)
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
"""
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (OPEN, "580.65.06"),
        (CLOSED, "550.54.15"),
        ("575.57\n", "575.57"),
        (f"{OPEN}\n575.57\n", "580.65.06"),
        ("", None),
        ("GCC version:  gcc version 12.2.0\n", None),
    ],
)
def test_the_driver_tells_its_version(text: str, version: str | None) -> None:
    assert find_version(text) == version


def test_what_is_read_here_and_what_a_probe_prints_is_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_version(tmp_path) is None
    own = "proc/driver/nvidia/version"
    assert read_version(lay(tmp_path, {"sys/module/nvidia/version": "575.57.08"})) == "575.57.08"
    assert read_version(lay(tmp_path, {own: "nothing that is known"})) == "575.57.08"
    lay(tmp_path, {own: OPEN})
    assert read_version(tmp_path) == "580.65.06"
    exec(VERSION_PROBE.replace("/proc/driver", f"{tmp_path}/proc/driver"), {})  # noqa: S102
    assert find_version(capsys.readouterr().out) == "580.65.06"
    # As a container without a driver does.
    exec(VERSION_PROBE.replace("/proc/driver", f"{tmp_path}/none"), {})  # noqa: S102
    assert find_version(capsys.readouterr().out) == read_version()
