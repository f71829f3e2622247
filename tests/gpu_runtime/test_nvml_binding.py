"""The sampler's real process, with NVIDIA's real Python binding, on the stand-in for the driver's library: it
needs a compiler, and nothing of CUDA.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from suite.clock import Span
from suite.host.engine import GpuRequest
from suite.host.gpu import nvml
from suite.host.telemetry.observer import Sampled
from suite.model import Scalar, Telemetry
from tests.fakes.tree import lay
from tests.gpu_runtime.build import DRIVER, compile_library
from tests.lacking import lack

pytestmark = [pytest.mark.processes, pytest.mark.simulated]

WORSE_S = 0.5


def watch(folder: Path, **plants: object) -> dict[str, Scalar]:
    """The facts of a GPU that gets worse while it is watched."""
    lines = ["devices 1", f"worse_s {WORSE_S}", *(f"{name} {v}" for name, v in plants.items())]
    lay(folder, {"plants.conf": "\n".join(lines)})
    begun = Sampled.begin(GpuRequest(driver="nvidia", devices=("0",)), (0,))
    assert isinstance(begun, Sampled)
    time.sleep(2 * WORSE_S)
    found = begun.end(Span())
    assert isinstance(found, Telemetry), found
    return found.facts


def test_the_real_binding_reads_a_gpus_health(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("gcc") is None:
        lack("NVIDIA's binding is not tried: gcc is not here (apt-get install gcc)")
    compile_library("nvml", tmp_path / DRIVER["nvml"], [])
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    names = [name.removeprefix("gpu.") for name in nvml.HEALTH]
    planted = {name: number for number, name in enumerate(names)}
    later = {f"{name}_later": number + 1 for name, number in planted.items()}
    facts = watch(tmp_path, **planted, **later, xids="31,79,31")
    for name, number in planted.items():
        is_state = name.startswith(("remapping", "retirement", "sram"))
        for told, count in (("", number), ("at_end.", number + 1)):
            assert facts[f"gpu.{told}{name}"] == (bool(count) if is_state else count)
    assert facts["gpu.xids"] == "31,79"
    silent = watch(tmp_path)
    assert {silent[f"gpu.{told}{name}"] for name in names for told in ("", "at_end.")} == {None}
    assert silent["gpu.xids"] == "none"
